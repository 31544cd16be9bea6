"""Representational dissimilarity matrices and their comparison."""

from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Shaped

from bsjax.metrics.numerics import is_constant, masked_mean
from bsjax.metrics.rdm_comparison import ComparisonMethod, compare_rdm_vectors, compare_scaled, scaled
from bsjax.metrics.row_blocks import row_blocks


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
    unit, constant = _unit_patterns(x, where)
    dissimilarity = _correlation_distance(unit, unit)
    dissimilarity = jnp.where(jnp.eye(x.shape[0], dtype=bool), 0.0, dissimilarity)
    return jnp.where(constant[:, None] | constant[None, :], jnp.nan, dissimilarity)


def _unit_patterns(
    x: Float[Array, "n p"], where: Bool[Array, " p"] | None = None
) -> tuple[Float[Array, "n p"], Bool[Array, " n"]]:
    """Patterns without their mean and of unit length, and which of them are constant."""
    units = None if where is None else where[None, :]
    mean, count = masked_mean(x, units, axis=1)
    centred = x - mean
    if units is not None:
        centred = jnp.where(units, centred, jnp.zeros_like(centred))
    squares = jnp.sum(centred**2, axis=1, keepdims=True)
    constant = is_constant(squares, mean, count)
    return centred / jnp.sqrt(jnp.where(constant, jnp.ones_like(squares), squares)), constant[:, 0]


def _correlation_distance(a: Float[Array, "r p"], b: Float[Array, "c p"]) -> Float[Array, "r c"]:
    return 1.0 - jnp.clip(a @ b.T, -1.0, 1.0)


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
    count = None
    if where is not None:
        count = _by_blocks(x.shape[0], lambda rows, columns: where[rows, None] & where[None, columns])
    (a, lost), (b, also_lost) = rdm_vectors(x), rdm_vectors(y)
    result = compare_scaled(scaled(a, count, method), scaled(b, count, method), count, method)
    lost = lost | also_lost
    return jnp.where(jnp.any(lost if where is None else lost & where), jnp.nan, result)


def rdm_vectors(x: Float[Array, "n p"]) -> tuple[Float[Array, " m"], Bool[Array, " n"]]:
    """The dissimilarities of ``rdm(x)`` once each, without forming the matrix, and which stimuli have none.

    Twice as fast as the matrix and ``rdm_pairs`` of it, in half of the memory. The pairs are in the order of
    ``pairs_of_vectors``. Those of a stimulus whose pattern is constant, or has a NaN, are 1 here.
    """
    unit, constant = _unit_patterns(x)
    lost = constant | jnp.any(jnp.isnan(unit), axis=1)
    unit = jnp.where(lost[:, None], jnp.zeros_like(unit), unit)
    return _by_blocks(x.shape[0], lambda rows, columns: _correlation_distance(unit[rows], unit[columns])), lost


def pairs_of_vectors(n: int) -> tuple[Int[Array, " m"], Int[Array, " m"]]:
    """The two stimuli of each of the pairs of ``rdm_vectors``."""
    first = jnp.broadcast_to(jnp.arange(n, dtype=jnp.int32)[:, None], (n, n))
    return _by_blocks(n, lambda i, j: first[i, j]), _by_blocks(n, lambda i, j: first.T[i, j])


def _by_blocks(n: int, block: Callable[[slice, slice], Shaped[Array, "r c"]]) -> Shaped[Array, " m"]:
    """Every pair of ``n`` stimuli once, of a matrix of which ``block(rows, columns)`` computes a part."""
    parts = []
    for rows, columns in row_blocks(n):
        values = block(rows, columns)
        height = values.shape[0]
        parts += [_pairs(values[:, :height]), values[:, height:].reshape(-1)]
    return jnp.concatenate(parts)


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
