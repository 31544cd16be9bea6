"""The linear system of a ridge regression in its eigenvectors: one decomposition serves every penalty."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from bsjax.metrics.centring import Centred
from bsjax.metrics.eigh import eigh
from bsjax.metrics.numerics import matmul_t


class PreparedRidgeCV(NamedTuple):
    """Centred data; the embedding is the features, or their Gram matrix where the stimuli are fewer."""

    centred: Centred
    embedding: Float[Array, "n d"]


class RidgeSystem(NamedTuple):
    """``(matrix + alpha) w = right`` for some training stimuli, with the eigenvectors of ``matrix``.

    In features, ``x`` are the centred features. In stimuli, ``constant`` is the constant unit vector, which has been
    made an eigenvector with the eigenvalue ``shift``. Rows that do not train are zero in ``x``, ``y`` and ``constant``;
    the means are those of the training stimuli's embedding and targets.
    """

    matrix: Float[Array, "d d"]
    right: Float[Array, "d q"]
    values: Float[Array, " d"]
    vectors: Float[Array, "d d"]
    x: Float[Array, "n d"] | None
    y: Float[Array, "n q"]
    constant: Float[Array, " n"]
    shift: Float[Array, ""]
    embedding_mean: Float[Array, "1 d"]
    y_mean: Float[Array, "1 q"]


def in_features(x: Float[Array, "n p"]) -> bool:
    """Whether the system is one of features x features, and not of stimuli x stimuli."""
    # With one feature fewer than stimuli, residuals are all but zero: then their other form is the accurate one.
    n, p = x.shape
    return p < n - 1


def some_rows(prepared: PreparedRidgeCV, rows: Int[Array, " m"]) -> PreparedRidgeCV:
    """The same of some stimuli; still centred over all of them."""
    x, y, x_mean, y_mean = prepared.centred
    embedding = prepared.embedding[rows]
    if not in_features(x):
        embedding = embedding[:, rows]
    return PreparedRidgeCV(Centred(x[rows], y[rows], x_mean, y_mean), embedding)


def ridge_system(prepared: PreparedRidgeCV, train: Float[Array, " n"], by_features: bool) -> RidgeSystem:
    """The system of the stimuli that ``train`` marks with 1."""
    embedding, n = prepared.embedding, jnp.sum(train)
    embedding_mean, y_mean = (train @ embedding)[None] / n, (train @ prepared.centred.y)[None] / n
    y = (prepared.centred.y - y_mean) * train[:, None]
    if by_features:
        x = (embedding - embedding_mean) * train[:, None]
        constant, shift = jnp.zeros_like(train), jnp.ones_like(n)
        matrix, right = matmul_t(x, x), matmul_t(x, y)
    else:
        # Centring puts the constant vector in the null space, from which an eigensolver would pick any basis. A known
        # weight on it makes it an eigenvector of its own.
        centred = embedding - embedding_mean - embedding_mean.T + (embedding_mean @ train / n)[:, None]
        gram = centred * (train[:, None] * train[None])
        mean_square = jax.lax.stop_gradient(jnp.trace(gram) / n)
        constant, shift = train / jnp.sqrt(n), jnp.where(mean_square > 0, mean_square, jnp.ones_like(mean_square))
        x, matrix, right = None, gram + shift * constant[:, None] * constant[None, :], y
    values, vectors = eigh(matrix)
    values = jnp.maximum(values, jnp.zeros_like(values))
    return RidgeSystem(matrix, right, values, vectors, x, y, constant, shift, embedding_mean, y_mean)


def solve(system: RidgeSystem, alpha: Float[Array, " q"]) -> Float[Array, "d q"]:
    """Weights at the penalty of each target. The derivative is that of the linear system, not of its eigenvectors,
    which have none where eigenvalues repeat."""

    def apply(weights: Float[Array, "d q"]) -> Float[Array, "d q"]:
        return system.matrix @ weights + alpha[None] * weights

    def solve_by_eigenvectors(_: Callable[..., Array], right: Float[Array, "d q"]) -> Float[Array, "d q"]:
        return system.vectors @ ((system.vectors.T @ right) / (system.values[:, None] + alpha[None]))

    return jax.lax.custom_linear_solve(apply, system.right, solve_by_eigenvectors, symmetric=True)
