"""Representational dissimilarity matrices and their comparison."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Shaped

from bsjax.engine.precision import at_full_precision
from bsjax.engine.primitives.ranks import ranks
from bsjax.engine.primitives.row_pairs import numbers_of_pairs, pairs_of_matrix, pairs_of_rows
from bsjax.metrics.numerics import masked_mean
from bsjax.metrics.similarity.dissimilarities import Dissimilarity, dissimilarity_named
from bsjax.metrics.similarity.rdm_comparison import (
    Comparison,
    compare_complete,
    compare_rdm_vectors,
    comparison_named,
)

_MOST_STIMULI = 46_341  # twice the rank of a pair is below 2^31


@at_full_precision
def rdm(
    x: Float[Array, "n p"],
    *,
    where: Bool[Array, " p"] | None = None,
    dissimilarity: str | Dissimilarity = "correlation",
) -> Float[Array, "n n"]:
    """Representational dissimilarity matrix: by default 1 - Pearson correlation between the patterns of two stimuli.

    Args:
        x: responses ``(stimuli, units)``.
        where: True where a unit counts; all if None.
        dissimilarity: an entry of ``bsjax.metrics.similarity.dissimilarities.DISSIMILARITIES``.

    Returns:
        Symmetric ``(stimuli, stimuli)``, 0 on the diagonal, by default values in [0, 2]. Entries that differ by no more
        than the rounding of forming them are equal. Rows and columns of a stimulus that has no dissimilarity, as one
        whose pattern is constant over units, are NaN.

    Source: Kriegeskorte, Mur & Bandettini 2008.

    Example:
        >>> import jax.numpy as jnp
        >>> print(jnp.abs(rdm(jnp.array([[1.0, 2.0], [1.0, 2.0], [4.0, 3.0]])).round(3)))
        [[0. 0. 2.]
         [0. 0. 2.]
         [2. 2. 0.]]
    """
    measure = dissimilarity_named(dissimilarity)
    patterns, lost = measure.patterns(x, where)
    none = lost[:, None] | lost[None, :]
    entries = _equal_as_one(measure.between(patterns, patterns), none, measure.errors(x, where, patterns))
    entries = jnp.where(jnp.eye(x.shape[0], dtype=bool), 0.0, measure.finish(entries))
    return jnp.where(none, jnp.nan, entries)


def _equal_as_one(
    entries: Float[Array, "n n"], none: Bool[Array, "n n"], errors: Float[Array, " n"]
) -> Float[Array, "n n"]:
    """Entries that rounding alone tells apart as one number, whatever compares them later."""
    left, right = numbers_of_pairs(len(errors))
    pairs = jax.lax.stop_gradient(jnp.where(none, jnp.nan, entries)[left, right])
    places = (2.0 * ranks(pairs, None, errors)).astype(jnp.int32)
    least = jnp.full(2 * len(pairs) + 1, jnp.inf, pairs.dtype).at[places].min(pairs)[places]
    same = jnp.zeros_like(entries).at[left, right].set(least).at[right, left].set(least)
    return entries + jax.lax.stop_gradient(jnp.where(none, 0.0, same - entries))


def compare_rdms(
    a: Float[Array, "n n"],
    b: Float[Array, "n n"],
    *,
    where: Bool[Array, " n"] | None = None,
    method: str | Comparison = "spearman",
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


@at_full_precision
def rdm_similarity(
    x: Float[Array, "n p"],
    y: Float[Array, "n q"],
    *,
    where: Bool[Array, " n"] | None = None,
    method: str | Comparison = "spearman",
    dissimilarity: str | Dissimilarity = "correlation",
) -> Float[Array, ""]:
    """Representational similarity: ``compare_rdms(rdm(x), rdm(y))``.

    Args:
        x, y: responses ``(stimuli, units)`` to the same stimuli in the same order; units may differ in number.
        where: True where a stimulus counts; all if None.
        method: how the two RDMs are compared, see ``compare_rdm_vectors``.
        dissimilarity: as for ``rdm``.

    Example:
        >>> import jax.numpy as jnp
        >>> x = jnp.array([[0.0, 1.0, 5.0], [1.0, 3.0, 2.0], [2.0, 0.0, 1.0], [5.0, 1.0, 0.0]])
        >>> print(f"{rdm_similarity(x, 3.0 * x + 1.0):.2f}")
        1.00
    """
    pairs = None if where is None else rdm_pairs(where[:, None] & where[None, :])
    sides, lost = zip(*(rdm_to_compare(side, dissimilarity, method, where) for side in (x, y)), strict=True)
    result = compare_complete(sides[0][0], sides[1][0], pairs, method, (sides[0][1], sides[1][1]))
    either = lost[0] | lost[1]
    return jnp.where(jnp.any(either if where is None else either & where), jnp.nan, result)


@at_full_precision
def rdm_vectors(
    x: Float[Array, "n p"], dissimilarity: str | Dissimilarity = "correlation"
) -> tuple[Float[Array, " m"], Bool[Array, " n"]]:
    """``rdm_pairs(rdm(x))`` without forming the matrix where it is large, and which stimuli have no dissimilarity.

    The pairs of a stimulus that has none, as one whose pattern is constant, or has a NaN, are those of a pattern of
    zeros here, and pairs that rounding alone tells apart may differ.

    Raises:
        ValueError: more pairs than ranks of 32 bits tell apart.
    """
    (vector, _), lost = rdm_to_compare(x, dissimilarity, "corr")
    return vector, lost


def rdm_to_compare(
    x: Float[Array, "n p"],
    dissimilarity: str | Dissimilarity,
    method: str | Comparison,
    where: Bool[Array, " n"] | None = None,
) -> tuple[tuple[Float[Array, " m"], Float[Array, " n"]], Bool[Array, " n"]]:
    """The pairs of an RDM and the rounding errors of its stimuli, see ``ranks``, and which stimuli have none.

    For a comparison of ranks, they are in the order of the dissimilarities, which they may be the squares of. What is
    not in ``where`` may be anything.
    """
    if x.shape[0] > _MOST_STIMULI:
        raise ValueError(
            f"an RDM is compared for at most {_MOST_STIMULI:,} stimuli, whose pairs 32 bits can rank; there are "
            f"{x.shape[0]:,}"
        )
    measure = dissimilarity_named(dissimilarity)
    if where is not None:
        x = jnp.where(where[:, None], x, jax.lax.stop_gradient(masked_mean(x, where[:, None], 0)[0]))
    patterns, none = measure.patterns(x, None)
    lost = none | jnp.any(jnp.isnan(patterns), axis=1)
    patterns = jnp.where(lost[:, None], jnp.zeros_like(patterns), patterns)
    finish = (lambda entries: entries) if comparison_named(method).ranked else measure.finish

    def between(a: Float[Array, "r p"], b: Float[Array, "c p"]) -> Float[Array, "r c"]:
        return finish(measure.between(a, b))

    return (pairs_of_rows(patterns, function=between), measure.errors(x, None, patterns)), lost


def rdm_pairs(rdms: Shaped[Array, "*batch n n"]) -> Shaped[Array, "*batch m"]:
    """Every unordered pair of stimuli of symmetric matrices once, as a vector, in an order of its own.

    Args:
        rdms: ``(..., stimuli, stimuli)``, of any dtype.

    Returns:
        ``(..., stimuli * (stimuli - 1) / 2)``.

    Example:
        >>> import jax.numpy as jnp
        >>> print(rdm_pairs(jnp.array([[0, 1, 2], [1, 0, 3], [2, 3, 0]])))
        [1 3 2]
    """
    return jnp.vectorize(pairs_of_matrix, signature="(n,n)->(m)")(rdms)
