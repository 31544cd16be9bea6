"""The linear system of a ridge regression in its eigenvectors: one decomposition serves every penalty."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from bsjax.metrics.centring import Centred
from bsjax.metrics.eigh import eigh
from bsjax.metrics.numerics import matmul_t

# An eigenvalue is zero when it is below this many rounding errors of the largest, for each root of their number.
_ROUNDING_ERRORS = 2.0


class PreparedRidgeCV(NamedTuple):
    """Centred data; the embedding is the features, or their Gram matrix where the stimuli are fewer."""

    centred: Centred
    embedding: Float[Array, "n d"]


class RidgeSystem(NamedTuple):
    """``matrix + alpha`` of some training stimuli, for all targets, with the eigenvectors of ``matrix``.

    In features, ``x`` are the centred features. In stimuli, ``constant`` is the constant unit vector, which has been
    made an eigenvector with the eigenvalue ``shift``. Rows that do not train are zero in ``x`` and ``constant``; the
    mean is that of the training stimuli's embedding. ``values`` are zero where they are rounding.
    """

    matrix: Float[Array, "d d"]
    values: Float[Array, " d"]
    vectors: Float[Array, "d d"]
    x: Float[Array, "n d"] | None
    constant: Float[Array, " n"]
    shift: Float[Array, ""]
    embedding_mean: Float[Array, "1 d"]


def in_features(x: Float[Array, "n p"]) -> bool:
    """Whether the system is one of features x features, and not of stimuli x stimuli."""
    # With one feature fewer than stimuli, residuals are all but zero: then their other form is the accurate one.
    n, p = x.shape
    return p < n - 1


def ridge_system(embedding: Float[Array, "n d"], train: Float[Array, " n"], by_features: bool) -> RidgeSystem:
    """The system of the stimuli that ``train`` marks with 1."""
    n = jnp.sum(train)
    embedding_mean = (train @ embedding)[None] / n
    if by_features:
        x = (embedding - embedding_mean) * train[:, None]
        constant, shift = jnp.zeros_like(train), jnp.ones_like(n)
        matrix = matmul_t(x, x)
    else:
        # Centring puts the constant vector in the null space, from which an eigensolver would pick any basis. A known
        # weight on it makes it an eigenvector of its own.
        centred = embedding - embedding_mean - embedding_mean.T + (embedding_mean @ train / n)[:, None]
        gram = centred * (train[:, None] * train[None])
        mean_square = jax.lax.stop_gradient(jnp.trace(gram) / n)
        constant, shift = train / jnp.sqrt(n), jnp.where(mean_square > 0, mean_square, jnp.ones_like(mean_square))
        x, matrix = None, gram + shift * constant[:, None] * constant[None, :]
    values, vectors = eigh(matrix)
    # What rounding makes of zero eigenvalues would pass for directions that a small penalty fits.
    rounding = _ROUNDING_ERRORS * len(values) ** 0.5 * float(jnp.finfo(values.dtype).eps) * values[-1]
    values = jnp.where(values > rounding, values, jnp.zeros_like(values))
    return RidgeSystem(matrix, values, vectors, x, constant, shift, embedding_mean)


def centred_targets(
    y: Float[Array, "n q"], train: Float[Array, " n"]
) -> tuple[Float[Array, "n q"], Float[Array, "1 q"]]:
    """Targets without the mean of the training stimuli, zero in rows that do not train, and that mean."""
    y_mean = (train @ y)[None] / jnp.sum(train)
    return (y - y_mean) * train[:, None], y_mean


def right_side(system: RidgeSystem, y: Float[Array, "n q"]) -> Float[Array, "d q"]:
    """What the weights of centred targets are solved from."""
    return y if system.x is None else matmul_t(system.x, y)


def along_axes(system: RidgeSystem, right: Float[Array, "d q"]) -> Float[Array, "d q"]:
    """A right side in the eigenvectors, zero along those of a zero eigenvalue.

    There no stimulus predicts another: stimuli that do not train, and features or stimuli that others make up. What
    rounding leaves of that would be divided by the penalty alone.
    """
    along = system.vectors.T @ right
    return jnp.where(system.values[:, None] > 0, along, jnp.zeros_like(along))


def solve(system: RidgeSystem, right: Float[Array, "d q"], alpha: Float[Array, " q"]) -> Float[Array, "d q"]:
    """Weights from a right side, at the penalty of each target.

    The derivative is that of the linear system, not of its eigenvectors, which have none where eigenvalues repeat.
    """

    def apply(weights: Float[Array, "d q"]) -> Float[Array, "d q"]:
        return system.matrix @ weights + alpha[None] * weights

    def solve_by_eigenvectors(_: Callable[..., Array], right: Float[Array, "d q"]) -> Float[Array, "d q"]:
        return system.vectors @ (along_axes(system, right) / (system.values[:, None] + alpha[None]))

    return jax.lax.custom_linear_solve(apply, right, solve_by_eigenvectors, symmetric=True)
