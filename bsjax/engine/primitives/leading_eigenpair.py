"""Leading eigenvalue and eigenvector of many small symmetric matrices at once."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from bsjax.engine.programs.fallbacks import with_fallback
from bsjax.engine.programs.platforms import primitive
from bsjax.engine.tolerances import EIGENPAIR_POWER, rounding

# Twelve Lanczos steps are mostly enough for a dominant component. A component within noise takes about 45 steps without
# restarts, and few more with restarts that keep five Ritz vectors; restarts from a single vector double the number.
_STEPS = 12
_KEPT = 5
_MAX_CYCLES = 60
# Up to this size, a power of the matrices takes less time than the steps and the decompositions that it saves.
_SMALL = 64
_SQUARES, _STEPS_OF_POWER, _KEPT_OF_POWER = 4, 6, 3


class Leading(NamedTuple):
    """Leading eigenvalues, unit eigenvectors, and starting vectors for the time after a deflation."""

    value: Float[Array, " folds"]
    vector: Float[Array, "folds m"]
    second: Float[Array, "folds m"]


@primitive
def leading_eigenpair(matrices: Float[Array, "folds m m"], start: Float[Array, "folds m"]) -> Leading:
    r"""Leading eigenpair of each symmetric positive semi-definite matrix, with a small residual.

    Matrices are squared until even eigenvalues close to the largest leave no residual above the tolerance: for an
    eigenvalue that is x times the largest, :math:`x^N (1 - x)` is at most :math:`1 / (e N)` after the power N. The
    number of steps does not depend on the eigenvalues.

    If a matrix does not converge, all are solved by a full eigendecomposition. The result is not differentiable.

    Args:
        matrices: symmetric positive semi-definite matrices, with eigenvalues within 1e-18 to 1e18 in float32.
        start: starting vectors of a length of about 1 (1e-18 to 1e18 in float32); they need not be close.

    Example:
        >>> found = leading_eigenpair(jnp.diag(jnp.array([1.0, 3.0, 2.0]))[None], jnp.ones((1, 3)))
        >>> print(f"{found.value[0]:.2f}", jnp.abs(found.vector).round(3))
        3.00 [[0. 1. 0.]]
    """
    m = matrices.shape[-1]
    tolerance = rounding(matrices, power=EIGENPAIR_POWER)
    squarings = np.log2(np.sqrt(m) / tolerance)

    def of_trace_1(powers: Float[Array, "folds m m"]) -> Float[Array, "folds m m"]:
        trace = jnp.trace(powers, axis1=1, axis2=2)[:, None, None]
        return powers / jnp.where(trace > 0, trace, 1.0)

    def eighth_power(_: Array, powers: Float[Array, "folds m m"]) -> Float[Array, "folds m m"]:
        for _square in range(3):  # after three, the trace is at least m^-7, within the range of float32
            powers = powers @ powers
        return of_trace_1(powers)

    powers = jax.lax.fori_loop(0, int(np.ceil(squarings / 3)), eighth_power, of_trace_1(matrices))
    # Each column is a multiple of the eigenvector; the longest has the largest diagonal entry.
    largest = jnp.argmax(jnp.diagonal(powers, axis1=1, axis2=2), axis=1)
    vector = jnp.take_along_axis(powers, largest[:, None, None], axis=2)[:, :, 0]
    vector = vector / _nonzero(_norm(vector))
    image = jnp.einsum("fij,fj->fi", matrices, vector)
    value = jnp.sum(image * vector, axis=1)
    missed = _norm(image - value[:, None] * vector)[:, 0]
    converged = jnp.all(missed <= tolerance * value)
    return with_fallback(~converged, lambda: Leading(value, vector, start), lambda: _full(matrices))


@leading_eigenpair.on("cpu")
def _by_restarted_lanczos(matrices: Float[Array, "folds m m"], start: Float[Array, "folds m"]) -> Leading:
    """Lanczos iteration with thick restarts, each from the leading Ritz vectors: fewer operations, in more steps.

    Source: Wu & Simon 2000 (thick restart).
    """
    folds, m, _ = matrices.shape
    given, (most, begun) = matrices, (_STEPS, _KEPT)
    if m <= _SMALL:  # the relative residual of a vector is at least as large in the power as in the matrix
        matrices, (most, begun) = _power(matrices), (_STEPS_OF_POWER, _KEPT_OF_POWER)
    steps = min(most, m)
    kept = np.arange(steps)[None, :, None] < begun
    eye = np.eye(steps, dtype=matrices.dtype)[None]
    # Adds a small generic vector: a start orthogonal to the solution would converge to a wrong vector unnoticed.
    generic = np.cos(np.arange(1, m + 1) * 1.6180339887)[None]
    generic = (0.01 * generic / np.linalg.norm(generic)).astype(matrices.dtype)

    def unfinished(state: tuple[Array, Array, _Krylov]) -> Bool[Array, ""]:
        cycle, converged, _ = state
        return (cycle < _MAX_CYCLES) & ~converged

    def cycle(state: tuple[Array, Array, _Krylov]) -> tuple[Array, Array, _Krylov]:
        count, _, krylov = state
        begin = jnp.where(count == 0, 0, min(begun, steps))
        basis, projected, new = jax.lax.fori_loop(begin, steps, partial(_lanczos_step, matrices), krylov)
        values, coordinates = jnp.linalg.eigh(projected, symmetrize_input=False)
        residual = _norm(new) * jnp.abs(coordinates[:, -1, :1])
        tolerance = rounding(matrices, power=EIGENPAIR_POWER) * jnp.abs(values[:, :1])
        # The leading Ritz vectors are kept: the next steps then converge as if none had been dropped.
        basis = jnp.where(kept, jnp.einsum("fsk,fsm->fkm", coordinates, basis), 0.0)
        projected = jnp.where(kept, eye * values[:, None], 0.0)
        return count + 1, jnp.all(residual <= tolerance), _Krylov(basis, projected, new)

    basis = jnp.zeros((folds, steps, m), matrices.dtype)
    krylov = _Krylov(basis, jnp.zeros((folds, steps, steps), matrices.dtype), start + generic)
    _, converged, krylov = jax.lax.while_loop(unfinished, cycle, (jnp.asarray(0), jnp.asarray(False), krylov))
    vector = krylov.basis[:, 0]
    value = jnp.sum(jnp.einsum("fij,fj->fi", given, vector) * vector, axis=1)
    found = Leading(value, vector, krylov.basis[:, min(1, steps - 1)])
    return with_fallback(~converged, lambda: found, lambda: _full(given))


def _power(matrices: Float[Array, "folds m m"]) -> Float[Array, "folds m m"]:
    """A power of small matrices, from a scale at which float32 holds the squares of its leading eigenvalue."""
    folds, m, _ = matrices.shape
    diagonal = jax.lax.slice_in_dim(matrices.reshape(folds, -1), 0, None, m + 1, axis=1)
    matrices = matrices * (m**0.5 / _nonzero(jnp.sum(diagonal, axis=1, keepdims=True)))[:, :, None]
    for _ in range(_SQUARES):
        matrices = matrices @ matrices
    return matrices


class _Krylov(NamedTuple):
    """Orthonormal rows, the negated projections of the matrices (lower triangle), and the next row, not normalised."""

    basis: Float[Array, "folds s m"]
    projected: Float[Array, "folds s s"]
    new: Float[Array, "folds m"]


def _lanczos_step(matrices: Float[Array, "folds m m"], i: Array, krylov: _Krylov) -> _Krylov:
    row = krylov.new / _nonzero(_norm(krylov.new))
    basis = jax.lax.dynamic_update_slice_in_dim(krylov.basis, row[:, None], i, axis=1)
    image = jnp.einsum("fij,fj->fi", matrices, row)
    along = jnp.einsum("fkm,fm->fk", basis, image)
    # Negated, so that `eigh` returns the largest eigenvalue first.
    projected = jax.lax.dynamic_update_slice_in_dim(krylov.projected, -along[:, None], i, axis=1)
    image = image - jnp.einsum("fk,fkm->fm", along, basis)
    # Orthogonalised twice: after one pass, enough of the old directions remains to converge to a wrong vector.
    image = image - jnp.einsum("fk,fkm->fm", jnp.einsum("fkm,fm->fk", basis, image), basis)
    return _Krylov(basis, projected, image)


def _norm(vectors: Float[Array, "folds m"]) -> Float[Array, "folds 1"]:
    return jnp.sqrt(jnp.sum(vectors**2, axis=1, keepdims=True))


def _full(matrices: Float[Array, "folds m m"]) -> Leading:
    values, vectors = jnp.linalg.eigh(matrices, symmetrize_input=False)
    return Leading(values[:, -1], vectors[:, :, -1], vectors[:, :, max(matrices.shape[-1] - 2, 0)])


def _nonzero(lengths: Float[Array, "folds 1"]) -> Float[Array, "folds 1"]:
    return jnp.where(lengths > 0, lengths, 1.0)
