"""The leading eigenvector of many small symmetric matrices at once, by restarted Lanczos."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

_STEPS = 16
_MAX_RESTARTS = 40
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


@jax.custom_jvp
def leading_eigenvector(matrices: Float[Array, "folds m m"], start: Float[Array, "folds m"]) -> Leading:
    """Leading eigenpair of each symmetric positive semi-definite matrix.

    A cycle of Lanczos steps from the last Ritz vector, until the residual of every matrix is small. Should
    one not get there, all are solved by a full eigendecomposition instead: an answer is never half-converged.

    Differentiable with respect to ``matrices`` (in ``value`` and ``vector``; implicit differentiation of
    :math:`Av = \\lambda v`); a zero matrix has a zero gradient.

    Args:
        matrices: symmetric positive semi-definite, their eigenvalues within 1e-18 to 1e18 in float32.
        start: where to begin, of any length; need not be close.
    """
    m = matrices.shape[-1]
    # A little of something generic: a start orthogonal to the answer would converge elsewhere without a sign of it.
    generic = jnp.cos(jnp.arange(1, m + 1, dtype=matrices.dtype) * 1.6180339887)[None]
    vector = _normalise(_normalise(start) + 0.01 * _normalise(generic))

    def unfinished(state: tuple[Array, Leading, Bool[Array, " folds"]]) -> Bool[Array, ""]:
        cycle, _, converged = state
        return (cycle < _MAX_RESTARTS) & ~jnp.all(converged)

    def restart(
        state: tuple[Array, Leading, Bool[Array, " folds"]],
    ) -> tuple[Array, Leading, Bool[Array, " folds"]]:
        cycle, leading, _ = state
        leading, converged = _lanczos_cycle(matrices, leading.vector)
        return cycle + 1, leading, converged

    none = jnp.zeros(matrices.shape[:1], matrices.dtype)
    first = (jnp.asarray(0), Leading(none, vector, vector), jnp.zeros(matrices.shape[:1], bool))
    _, leading, converged = jax.lax.while_loop(unfinished, restart, first)
    return jax.lax.cond(jnp.all(converged), lambda: leading, lambda: _full(matrices))


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


def _lanczos_cycle(
    matrices: Float[Array, "folds m m"], start: Float[Array, "folds m"]
) -> tuple[Leading, Bool[Array, " folds"]]:
    folds, m, _ = matrices.shape
    steps = min(_STEPS, m)
    basis = jnp.zeros((folds, steps + 1, m), matrices.dtype).at[:, 0].set(start)
    projected = jnp.zeros((folds, steps + 1, steps), matrices.dtype)

    def step(i: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        basis, projected = state
        image = jnp.einsum("fij,fj->fi", matrices, basis[:, i])
        along = jnp.einsum("fkm,fm->fk", basis, image)
        image = image - jnp.einsum("fk,fkm->fm", along, basis)
        # Twice: after one pass enough of the old directions is left to stop the restarts at a wrong vector.
        image = image - jnp.einsum("fk,fkm->fm", jnp.einsum("fkm,fm->fk", basis, image), basis)
        length = jnp.sqrt(jnp.sum(image**2, axis=1, keepdims=True))
        image = image / jnp.where(length > 0, length, jnp.ones_like(length))
        # Column i of the projected matrix: what lies along the vectors so far, and the length of what is new.
        column = jnp.where(jnp.arange(steps + 1)[None] == i + 1, length, along)
        return basis.at[:, i + 1].set(image), projected.at[:, :, i].set(column)

    basis, projected = jax.lax.fori_loop(0, steps, step, (basis, projected))
    values, coordinates = jnp.linalg.eigh(projected[:, :steps], symmetrize_input=True)
    top, next_one = coordinates[:, :, -1], coordinates[:, :, max(steps - 2, 0)]
    value = values[:, -1]
    residual = jnp.abs(projected[:, steps, steps - 1] * top[:, -1])
    tolerance = jnp.finfo(matrices.dtype).eps ** _TOLERANCE_POWER * jnp.abs(value)
    ritz = jnp.einsum("fck,fkm->fcm", jnp.stack([top, next_one], axis=1), basis[:, :steps])
    return Leading(value, _normalise(ritz[:, 0]), ritz[:, 1]), residual <= tolerance


def _full(matrices: Float[Array, "folds m m"]) -> Leading:
    values, vectors = jnp.linalg.eigh(matrices)
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
