"""The leading eigenvector of many small symmetric matrices at once, by restarted Lanczos."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from bsjax.engine.fallbacks import with_fallback

# Twelve steps are mostly enough for a component that stands out. One amid noise takes some 45 without a restart, and
# few more with restarts that keep five Ritz vectors, where restarts from a single one double them.
_STEPS = 12
_KEPT = 5
_MAX_CYCLES = 60
# Accepted residual, relative to the eigenvalue: this power of the rounding error (4e-10 in float64, 7e-5 in float32).
# What it leaves of error in a regression is some tenth of it.
_TOLERANCE_POWER = 0.6
# The power iteration of NIPALS as scikit-learn's PLSRegression, and with it Brain-Score, stops it.
_NIPALS_TOLERANCE = 1e-6
_NIPALS_MAX_ITERATIONS = 500


class Leading(NamedTuple):
    """Leading eigenvalues and unit eigenvectors, and the second Ritz vectors: where to start after a deflation."""

    value: Float[Array, " folds"]
    vector: Float[Array, "folds m"]
    second: Float[Array, "folds m"]


class _Krylov(NamedTuple):
    """Orthonormal rows, the matrices projected on them (lower triangle, sign changed), and the next row, unscaled."""

    basis: Float[Array, "folds s m"]
    projected: Float[Array, "folds s s"]
    new: Float[Array, "folds m"]


@jax.custom_jvp
def leading_eigenvector(matrices: Float[Array, "folds m m"], start: Float[Array, "folds m"]) -> Leading:
    """Leading eigenpair of each symmetric positive semi-definite matrix.

    Cycles of Lanczos steps that each begin with the leading Ritz vectors of the last (thick restart, Wu & Simon 2000),
    until the residual of every matrix is small. Should one not get there, all are solved by a full eigendecomposition
    instead: an answer is never half-converged.

    Differentiable with respect to ``matrices`` (in ``value`` and ``vector``; implicit differentiation of
    :math:`Av = \\lambda v`); a zero matrix has a zero gradient.

    Args:
        matrices: symmetric positive semi-definite, their eigenvalues within 1e-18 to 1e18 in float32.
        start: where to begin, of a length about 1 (1e-18 to 1e18 in float32); need not be close.
    """
    folds, m, _ = matrices.shape
    steps = min(_STEPS, m)
    kept = np.arange(steps)[None, :, None] < _KEPT
    eye = np.eye(steps, dtype=matrices.dtype)[None]
    # A little of something generic: a start orthogonal to the answer would converge elsewhere without a sign of it.
    generic = np.cos(np.arange(1, m + 1) * 1.6180339887)[None]
    generic = (0.01 * generic / np.linalg.norm(generic)).astype(matrices.dtype)

    def unfinished(state: tuple[Array, Array, _Krylov]) -> Bool[Array, ""]:
        cycle, converged, _ = state
        return (cycle < _MAX_CYCLES) & ~converged

    def cycle(state: tuple[Array, Array, _Krylov]) -> tuple[Array, Array, _Krylov]:
        count, _, krylov = state
        begin = jnp.where(count == 0, 0, min(_KEPT, steps))
        basis, projected, new = jax.lax.fori_loop(begin, steps, partial(_lanczos_step, matrices), krylov)
        values, coordinates = jnp.linalg.eigh(projected, symmetrize_input=False)
        residual = _norm(new) * jnp.abs(coordinates[:, -1, :1])
        tolerance = jnp.finfo(matrices.dtype).eps ** _TOLERANCE_POWER * jnp.abs(values[:, :1])
        # The leading Ritz vectors go on: with them the next steps converge as if no others had been left behind.
        basis = jnp.where(kept, jnp.einsum("fsk,fsm->fkm", coordinates, basis), 0.0)
        projected = jnp.where(kept, eye * values[:, None], 0.0)
        return count + 1, jnp.all(residual <= tolerance), _Krylov(basis, projected, new)

    basis = jnp.zeros((folds, steps, m), matrices.dtype)
    krylov = _Krylov(basis, jnp.zeros((folds, steps, steps), matrices.dtype), start + generic)
    _, converged, krylov = jax.lax.while_loop(unfinished, cycle, (jnp.asarray(0), jnp.asarray(False), krylov))
    found = Leading(-krylov.projected[:, 0, 0], krylov.basis[:, 0], krylov.basis[:, min(1, steps - 1)])
    return with_fallback(~converged, lambda: found, lambda: _full(matrices))


def _lanczos_step(matrices: Float[Array, "folds m m"], i: Array, krylov: _Krylov) -> _Krylov:
    length = _norm(krylov.new)
    row = krylov.new / jnp.where(length > 0, length, 1.0)
    basis = jax.lax.dynamic_update_slice_in_dim(krylov.basis, row[:, None], i, axis=1)
    image = jnp.einsum("fij,fj->fi", matrices, row)
    along = jnp.einsum("fkm,fm->fk", basis, image)
    # With the sign changed, `eigh` gives the largest eigenvalue first.
    projected = jax.lax.dynamic_update_slice_in_dim(krylov.projected, -along[:, None], i, axis=1)
    image = image - jnp.einsum("fk,fkm->fm", along, basis)
    # Twice: after one pass enough of the old directions is left to stop the restarts at a wrong vector.
    image = image - jnp.einsum("fk,fkm->fm", jnp.einsum("fkm,fm->fk", basis, image), basis)
    return _Krylov(basis, projected, image)


def _norm(vectors: Float[Array, "folds m"]) -> Float[Array, "folds 1"]:
    return jnp.sqrt(jnp.sum(vectors**2, axis=1, keepdims=True))


@leading_eigenvector.defjvp
def _leading_jvp(primals: tuple, tangents: tuple) -> tuple[Leading, Leading]:
    matrices, start = primals
    leading = leading_eigenvector(matrices, start)
    value, vector, _ = leading
    change = jnp.einsum("fij,fj->fi", tangents[0], vector)
    value_change = jnp.sum(change * vector, axis=1)
    # (value - A) is singular along the eigenvector alone; what is added there does not reach the solution.
    eye = jnp.eye(matrices.shape[-1], dtype=matrices.dtype)[None]
    empty = (value <= 0)[:, None, None]
    along = vector[:, :, None] * vector[:, None, :]
    system = jnp.where(empty, eye, value[:, None, None] * (eye + along) - matrices)
    across = jnp.where(empty[:, 0], jnp.zeros_like(change), change - value_change[:, None] * vector)
    vector_change = jnp.linalg.solve(system, across[:, :, None])[:, :, 0]
    return leading, Leading(value_change, vector_change, jnp.zeros_like(vector))


def _full(matrices: Float[Array, "folds m m"]) -> Leading:
    values, vectors = jnp.linalg.eigh(matrices, symmetrize_input=False)
    return Leading(values[:, -1], vectors[:, :, -1], vectors[:, :, max(matrices.shape[-1] - 2, 0)])


def _normalise(vectors: Float[Array, "folds m"]) -> Float[Array, "folds m"]:
    # Scaled by the largest entry first, so that squaring neither overflows nor underflows in float32.
    largest = jnp.max(jnp.abs(vectors), axis=1, keepdims=True)
    scaled = vectors / jnp.where(largest > 0, largest, jnp.ones_like(largest))
    norm = jnp.sqrt(jnp.sum(scaled**2, axis=1, keepdims=True))
    return scaled / jnp.where(norm > 0, norm, jnp.ones_like(norm))


def power_iteration(
    cross: Float[Array, "folds s p"], start: Float[Array, "folds s"]
) -> tuple[Float[Array, "folds p"], Float[Array, " folds"]]:
    """Right singular vectors by the power iteration of NIPALS, with scikit-learn's stopping rule.

    Starts at ``start @ cross`` and stops a fold when its weights move by less than 1e-6 in squared length, after 500
    iterations at the latest, or at once where there is a single target.

    Returns:
        Unit weights, and the length of ``cross`` times the last target weights.
    """
    single = cross.shape[1] == 1

    def unfinished(state: tuple[Array, Array, Array, Array]) -> Bool[Array, ""]:
        iteration, _, _, done = state
        return (iteration < _NIPALS_MAX_ITERATIONS) & ~jnp.all(done)

    def iterate(state: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        iteration, weights, length, done = state
        on_targets = _normalise(jnp.einsum("fsp,fp->fs", cross, weights))
        image = jnp.einsum("fsp,fs->fp", cross, on_targets)
        new = _normalise(image)
        change = jnp.sum((new - weights) ** 2, axis=1)
        keep = done[:, None]
        return (
            iteration + 1,
            jnp.where(keep, weights, new),
            jnp.where(done, length, jnp.linalg.norm(image, axis=1)),
            done | (change < _NIPALS_TOLERANCE),
        )

    image = jnp.einsum("fsp,fs->fp", cross, start)
    first = (
        jnp.asarray(1),
        _normalise(image),
        jnp.linalg.norm(image, axis=1),
        jnp.full(cross.shape[:1], single),
    )
    _, weights, length, _ = jax.lax.while_loop(unfinished, iterate, first)
    return weights, length
