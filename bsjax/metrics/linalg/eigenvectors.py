"""The leading eigenvector of a symmetric matrix, with its derivative, and the power iteration of NIPALS."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from bsjax.engine.primitives.leading_eigenpair import Leading, leading_eigenpair
from bsjax.metrics.numerics import unit_length

# The stopping rule of scikit-learn's PLSRegression, which Brain-Score uses.
_NIPALS_TOLERANCE = 1e-6
_NIPALS_MAX_ITERATIONS = 500


@jax.custom_jvp
def leading_eigenvector(matrices: Float[Array, "folds m m"], start: Float[Array, "folds m"]) -> Leading:
    """Leading eigenpair of each symmetric positive semi-definite matrix.

    Differentiable with respect to ``matrices`` (in ``value`` and ``vector``; implicit differentiation of
    :math:`Av = \\lambda v`); a zero matrix has a zero gradient.

    Args:
        matrices, start: as for ``leading_eigenpair``.
    """
    return leading_eigenpair(matrices, start)


@leading_eigenvector.defjvp
def _leading_jvp(primals: tuple, tangents: tuple) -> tuple[Leading, Leading]:
    matrices, start = primals
    leading = leading_eigenvector(matrices, start)
    value, vector, _ = leading
    change = jnp.einsum("fij,fj->fi", tangents[0], vector)
    value_change = jnp.sum(change * vector, axis=1)
    # (value - A) is singular along the eigenvector only; the term added there does not affect the solution.
    eye = jnp.eye(matrices.shape[-1], dtype=matrices.dtype)[None]
    empty = (value <= 0)[:, None, None]
    along = vector[:, :, None] * vector[:, None, :]
    system = jnp.where(empty, eye, value[:, None, None] * (eye + along) - matrices)
    across = jnp.where(empty[:, 0], jnp.zeros_like(change), change - value_change[:, None] * vector)
    vector_change = jnp.linalg.solve(system, across[:, :, None])[:, :, 0]
    return leading, Leading(value_change, vector_change, jnp.zeros_like(vector))


def power_iteration(
    cross: Float[Array, "folds s p"], start: Float[Array, "folds s"]
) -> tuple[Float[Array, "folds p"], Float[Array, " folds"]]:
    """Right singular vectors by the power iteration of NIPALS, with scikit-learn's stopping rule.

    The iteration starts at ``start @ cross``. It stops for a fold when its weights change by less than 1e-6 in squared
    length, after 500 iterations at the latest, and immediately for a single target.

    Returns:
        Unit weights, and the length of ``cross`` times the last target weights.
    """
    single = cross.shape[1] == 1

    def unfinished(state: tuple[Array, Array, Array, Array]) -> Bool[Array, ""]:
        iteration, _, _, done = state
        return (iteration < _NIPALS_MAX_ITERATIONS) & ~jnp.all(done)

    def iterate(state: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        iteration, weights, length, done = state
        on_targets = unit_length(jnp.einsum("fsp,fp->fs", cross, weights))
        image = jnp.einsum("fsp,fs->fp", cross, on_targets)
        new = unit_length(image)
        change = jnp.sum((new - weights) ** 2, axis=1)
        keep = done[:, None]
        return (
            iteration + 1,
            jnp.where(keep, weights, new),
            jnp.where(done, length, jnp.linalg.norm(image, axis=1)),
            done | (change < _NIPALS_TOLERANCE),
        )

    image = jnp.einsum("fsp,fs->fp", cross, start)
    first = (jnp.asarray(1), unit_length(image), jnp.linalg.norm(image, axis=1), jnp.full(cross.shape[:1], single))
    _, weights, length, _ = jax.lax.while_loop(unfinished, iterate, first)
    return weights, length
