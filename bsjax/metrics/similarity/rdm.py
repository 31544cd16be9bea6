"""Representational dissimilarity matrices and their comparison."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Shaped

from bsjax.engine.precision import at_full_precision
from bsjax.engine.primitives.row_pairs import pairs_of_matrix, pairs_of_rows
from bsjax.metrics.similarity.dissimilarities import Dissimilarity, dissimilarity_named, without_rounding
from bsjax.metrics.similarity.rdm_comparison import Comparison, compare_complete, compare_rdm_vectors

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
        Symmetric ``(stimuli, stimuli)``, 0 on the diagonal, by default values in [0, 2]. Rows and columns of a stimulus
        that has no dissimilarity, as one whose pattern is constant over units, are NaN.

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
    entries = measure.finish(measure.between(patterns, patterns))
    entries = jnp.where(jnp.eye(x.shape[0], dtype=bool), 0.0, entries)
    return jnp.where(lost[:, None] | lost[None, :], jnp.nan, entries)


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
    count = None if where is None else rdm_pairs(where[:, None] & where[None, :])
    (a, lost), (b, also_lost) = rdm_vectors(x, dissimilarity), rdm_vectors(y, dissimilarity)
    result = compare_complete(a, b, count, method)
    lost = lost | also_lost
    return jnp.where(jnp.any(lost if where is None else lost & where), jnp.nan, result)


@at_full_precision
def rdm_vectors(
    x: Float[Array, "n p"], dissimilarity: str | Dissimilarity = "correlation"
) -> tuple[Float[Array, " m"], Bool[Array, " n"]]:
    """``rdm_pairs(rdm(x))`` without forming the matrix where it is large, and which stimuli have no dissimilarity.

    Dissimilarities that differ by rounding alone are equal. The pairs of a stimulus that has none, as one whose pattern
    is constant, or has a NaN, are those of a pattern of zeros here.

    Raises:
        ValueError: more pairs than ranks of 32 bits tell apart.
    """
    if x.shape[0] > _MOST_STIMULI:
        raise ValueError(
            f"an RDM is compared for at most {_MOST_STIMULI:,} stimuli, whose pairs 32 bits can rank; there are "
            f"{x.shape[0]:,}"
        )
    measure = dissimilarity_named(dissimilarity)
    unit, none = measure.patterns(x, None)
    lost = none | jnp.any(jnp.isnan(unit), axis=1)
    unit = jnp.where(lost[:, None], jnp.zeros_like(unit), unit)
    size = measure.size(unit)

    def between(a: Float[Array, "r p"], b: Float[Array, "c p"]) -> Float[Array, "r c"]:
        return measure.finish(without_rounding(measure.between(a, b), size))

    return pairs_of_rows(unit, function=between), lost


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
