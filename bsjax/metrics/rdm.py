"""Representational dissimilarity matrices and their comparison."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from bsjax.metrics.correlation import spearman
from bsjax.metrics.numerics import is_constant


def rdm(x: Float[Array, "n p"]) -> Float[Array, "n n"]:
    """Representational dissimilarity matrix: 1 - Pearson correlation between the response patterns to two stimuli.

    Args:
        x: responses ``(stimuli, units)``.

    Returns:
        Symmetric ``(stimuli, stimuli)``, 0 on the diagonal, values in [0, 2]. Rows and columns of a stimulus whose
        pattern is constant over units are NaN.

    Source: Kriegeskorte, Mur & Bandettini 2008.

    Example:
        >>> import jax.numpy as jnp
        >>> print(jnp.abs(rdm(jnp.array([[1.0, 2.0], [1.0, 2.0], [4.0, 3.0]])).round(3)))
        [[0. 0. 2.]
         [0. 0. 2.]
         [2. 2. 0.]]
    """
    mean = jnp.mean(x, axis=1, keepdims=True)
    centred = x - mean
    squares = jnp.sum(centred**2, axis=1, keepdims=True)
    constant = is_constant(squares, mean, jnp.full_like(mean, x.shape[1]))
    unit = centred / jnp.sqrt(jnp.where(constant, jnp.ones_like(squares), squares))
    dissimilarity = 1.0 - jnp.clip(unit @ unit.T, -1.0, 1.0)
    dissimilarity = jnp.where(jnp.eye(x.shape[0], dtype=bool), 0.0, dissimilarity)
    return jnp.where(constant | constant.T, jnp.nan, dissimilarity)


def compare_rdms(
    a: Float[Array, "n n"], b: Float[Array, "n n"], *, where: Bool[Array, " n"] | None = None
) -> Float[Array, ""]:
    """Spearman correlation of two RDMs over the pairs of stimuli, ties averaged.

    Args:
        a, b: symmetric RDMs of the same stimuli in the same order; the diagonal is ignored.
        where: True where a stimulus counts; all if None.

    Returns:
        A scalar in [-1, 1]; NaN where a dissimilarity that counts is NaN or all are equal. Ranks are piecewise
        constant: the gradient is zero.

    Example:
        >>> import jax.numpy as jnp
        >>> a = jnp.array([[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.0, 0.0]])
        >>> print(f"{compare_rdms(a, a**3):.2f}")
        1.00
    """
    pairs = None if where is None else _pairs(where[:, None] & where[None, :])
    return spearman(_pairs(a), _pairs(b), where=pairs)


def rdm_similarity(
    x: Float[Array, "n p"], y: Float[Array, "n q"], *, where: Bool[Array, " n"] | None = None
) -> Float[Array, ""]:
    """Representational similarity: ``compare_rdms(rdm(x), rdm(y))``.

    Args:
        x, y: responses ``(stimuli, units)`` to the same stimuli in the same order; units may differ in number.
        where: True where a stimulus counts; all if None.

    Example:
        >>> import jax.numpy as jnp
        >>> x = jnp.array([[0.0, 1.0, 5.0], [1.0, 3.0, 2.0], [2.0, 0.0, 1.0], [5.0, 1.0, 0.0]])
        >>> print(f"{rdm_similarity(x, 3.0 * x + 1.0):.2f}")
        1.00
    """
    return compare_rdms(rdm(x), rdm(y), where=where)


def _pairs(matrix: Array) -> Array:
    """Every unordered pair of a symmetric matrix once, without a gather: XLA gathers slowly on CPU.

    Pair ``(i, i + d mod n)`` for ``d`` up to half of ``n``: rows of the matrix beside itself, each read one further on.
    """
    n = matrix.shape[0]
    beside = jnp.concatenate([matrix, matrix], axis=1).reshape(-1)
    shifted = jnp.concatenate([beside, jnp.zeros(n, matrix.dtype)]).reshape(n, 2 * n + 1)
    half = (n - 1) // 2
    pairs = shifted[:, 1 : half + 1].reshape(-1)
    if n % 2 == 0:  # the pairs exactly opposite, each once
        pairs = jnp.concatenate([pairs, shifted[: n // 2, n // 2]])
    return pairs
