"""Representational dissimilarity matrices and their comparison."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Shaped

from bsjax.metrics.numerics import is_constant, masked_mean
from bsjax.metrics.rdm_comparison import ComparisonMethod, compare_rdm_vectors


def rdm(x: Float[Array, "n p"], *, where: Bool[Array, " p"] | None = None) -> Float[Array, "n n"]:
    """Representational dissimilarity matrix: 1 - Pearson correlation between the response patterns to two stimuli.

    Args:
        x: responses ``(stimuli, units)``.
        where: True where a unit counts; all if None.

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
    units = None if where is None else where[None, :]
    mean, count = masked_mean(x, units, axis=1)
    centred = x - mean
    if units is not None:
        centred = jnp.where(units, centred, jnp.zeros_like(centred))
    squares = jnp.sum(centred**2, axis=1, keepdims=True)
    constant = is_constant(squares, mean, count)
    unit = centred / jnp.sqrt(jnp.where(constant, jnp.ones_like(squares), squares))
    dissimilarity = 1.0 - jnp.clip(unit @ unit.T, -1.0, 1.0)
    dissimilarity = jnp.where(jnp.eye(x.shape[0], dtype=bool), 0.0, dissimilarity)
    return jnp.where(constant | constant.T, jnp.nan, dissimilarity)


def compare_rdms(
    a: Float[Array, "n n"],
    b: Float[Array, "n n"],
    *,
    where: Bool[Array, " n"] | None = None,
    method: ComparisonMethod = "spearman",
) -> Float[Array, ""]:
    """Similarity of two RDMs over the pairs of stimuli, by default their Spearman correlation.

    Args:
        a, b: symmetric RDMs of the same stimuli in the same order; the diagonal is ignored.
        where: True where a stimulus counts; all if None.
        method: the comparison, see ``compare_rdm_vectors``.

    Returns:
        A scalar in [-1, 1]; NaN where a dissimilarity that counts is NaN or all are equal. Ranks are piecewise
        constant: with them the gradient is zero.

    Example:
        >>> import jax.numpy as jnp
        >>> a = jnp.array([[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.0, 0.0]])
        >>> print(f"{compare_rdms(a, a**3):.2f}")
        1.00
    """
    pairs = None if where is None else rdm_pairs(where[:, None] & where[None, :])
    return compare_rdm_vectors(rdm_pairs(a), rdm_pairs(b), where=pairs, method=method)


def rdm_similarity(
    x: Float[Array, "n p"],
    y: Float[Array, "n q"],
    *,
    where: Bool[Array, " n"] | None = None,
    method: ComparisonMethod = "spearman",
) -> Float[Array, ""]:
    """Representational similarity: ``compare_rdms(rdm(x), rdm(y))``.

    Args:
        x, y: responses ``(stimuli, units)`` to the same stimuli in the same order; units may differ in number.
        where: True where a stimulus counts; all if None.
        method: how the two RDMs are compared, see ``compare_rdm_vectors``.

    Example:
        >>> import jax.numpy as jnp
        >>> x = jnp.array([[0.0, 1.0, 5.0], [1.0, 3.0, 2.0], [2.0, 0.0, 1.0], [5.0, 1.0, 0.0]])
        >>> print(f"{rdm_similarity(x, 3.0 * x + 1.0):.2f}")
        1.00
    """
    return compare_rdms(rdm(x), rdm(y), where=where, method=method)


def rdm_pairs(rdms: Shaped[Array, "*batch n n"]) -> Shaped[Array, "*batch m"]:
    """Every unordered pair of stimuli of symmetric matrices once, as a vector.

    The order is that of ``(i, i + d mod n)`` for ``d`` from 1 up to half of ``n``, not that of the upper triangle: rows
    of the matrix beside itself, each read one further on. No gather is needed, which XLA does slowly on CPU.

    Args:
        rdms: ``(..., stimuli, stimuli)``, of any dtype.

    Returns:
        ``(..., stimuli * (stimuli - 1) / 2)``.

    Example:
        >>> import jax.numpy as jnp
        >>> print(rdm_pairs(jnp.array([[0, 1, 2], [1, 0, 3], [2, 3, 0]])))
        [1 3 2]
    """
    return jnp.vectorize(_pairs, signature="(n,n)->(m)")(rdms)


def _pairs(matrix: Array) -> Array:
    n = matrix.shape[0]
    beside = jnp.concatenate([matrix, matrix], axis=1).reshape(-1)
    shifted = jnp.concatenate([beside, jnp.zeros(n, matrix.dtype)]).reshape(n, 2 * n + 1)
    half = (n - 1) // 2
    pairs = shifted[:, 1 : half + 1].reshape(-1)
    if n % 2 == 0:  # the pairs exactly opposite, each once
        pairs = jnp.concatenate([pairs, shifted[: n // 2, n // 2]])
    return pairs
