"""Representational dissimilarity matrices (RDMs) and their comparison."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Shaped

from bsjax.engine.precision import at_full_precision
from bsjax.engine.primitives.ranks import ranks
from bsjax.engine.primitives.row_pairs import matrix_of_pairs, numbers_of_pairs, pairs_of_matrix, pairs_of_rows
from bsjax.engine.primitives.running_sums import running_sums
from bsjax.engine.programs.platforms import platform
from bsjax.metrics.arrays import Features, Mask, PerStimulus, Scalar, Targets
from bsjax.metrics.numerics import masked_mean
from bsjax.metrics.similarity.rdms.dissimilarities import Dissimilarity, Measure, dissimilarity_named
from bsjax.metrics.similarity.rdms.rdm_comparison import (
    Method,
    compare_complete,
    compare_rdm_vectors,
    comparison_named,
    scaled,
)

UnitMask = Bool[Array, " p"]
Responses = Float[Array, "s n p"]
SubjectUnits = Bool[Array, "s p"]

_MOST_STIMULI = 46_341  # twice the rank of a pair is below 2^31


@at_full_precision
def rdm(x: Features, *, where: UnitMask | None = None, dissimilarity: Measure = "correlation") -> Float[Array, "n n"]:
    """Representational dissimilarity matrix: by default 1 - Pearson correlation between the patterns of two stimuli.

    Args:
        x: responses ``(stimuli, units)``.
        where: True where a unit counts; all if None.
        dissimilarity: an entry of ``bsjax.metrics.similarity.rdms.dissimilarities.DISSIMILARITIES``.

    Returns:
        Symmetric ``(stimuli, stimuli)``, 0 on the diagonal, by default with values in [0, 2]. Entries that differ by no
        more than their rounding errors are made equal. Rows and columns of a stimulus without a defined dissimilarity,
        by default one whose pattern is constant over units, are NaN.

    Source: Kriegeskorte, Mur & Bandettini 2008.

    Example:
        >>> import jax.numpy as jnp
        >>> print(jnp.abs(rdm(jnp.array([[1.0, 2.0], [1.0, 2.0], [4.0, 3.0]])).round(3)))
        [[0. 0. 2.]
         [0. 0. 2.]
         [2. 2. 0.]]
    """
    measure = dissimilarity_named(dissimilarity)
    x = x if where is None else jnp.where(where[None], x, 0.0)
    patterns, lost = measure.patterns(x, where)
    none = lost[:, None] | lost[None, :]
    entries = _equal_as_one(measure.between(patterns, patterns), none, measure.errors(x, patterns))
    entries = jnp.where(jnp.eye(x.shape[0], dtype=bool), 0.0, measure.finish(entries))
    return jnp.where(none, jnp.nan, entries)


def _equal_as_one(entries: Float[Array, "n n"], none: Bool[Array, "n n"], errors: PerStimulus) -> Float[Array, "n n"]:
    """Makes entries equal that differ only by rounding errors."""
    left, right = numbers_of_pairs(len(errors))
    pairs = jax.lax.stop_gradient(jnp.where(none, jnp.nan, entries)[left, right])
    places = (2.0 * ranks(pairs, None, errors)).astype(jnp.int32)
    least = jnp.full(2 * len(pairs) + 1, jnp.inf, pairs.dtype).at[places].min(pairs)[places]
    same = jnp.zeros_like(entries).at[left, right].set(least).at[right, left].set(least)
    return entries + jax.lax.stop_gradient(jnp.where(none, 0.0, same - entries))


def compare_rdms(
    a: Float[Array, "n n"], b: Float[Array, "n n"], *, where: Mask | None = None, method: Method = "spearman"
) -> Scalar:
    """Similarity of two RDMs over the pairs of stimuli, by default their Spearman correlation.

    Args:
        a, b: symmetric RDMs of the same stimuli in the same order; the diagonal is ignored.
        where: True where a stimulus counts; all if None.
        method: the comparison, see ``compare_rdm_vectors``.

    Returns:
        A scalar in [-1, 1]; NaN where a dissimilarity that counts is NaN, and where all are equal (see
        ``compare_rdm_vectors``). Ranks are piecewise constant, so their gradient is zero.

    Source: Kriegeskorte, Mur & Bandettini 2008.

    Example:
        >>> import jax.numpy as jnp
        >>> a = jnp.array([[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.0, 0.0]])
        >>> print(f"{compare_rdms(a, a**3):.2f}")
        1.00
    """
    return compare_rdm_vectors(rdm_pairs(a), rdm_pairs(b), where=pairs_seen(where), method=method)


@at_full_precision
def rdm_similarity(
    x: Features,
    y: Targets,
    *,
    where: Mask | None = None,
    method: Method = "spearman",
    dissimilarity: Measure = "correlation",
) -> Scalar:
    """Representational similarity: ``compare_rdms(rdm(x), rdm(y))``.

    Args:
        x, y: responses ``(stimuli, units)`` to the same stimuli in the same order; units may differ in number.
        where: True where a stimulus counts; all if None.
        method: how the two RDMs are compared, see ``compare_rdm_vectors``.
        dissimilarity: as for ``rdm``.

    Source: Kriegeskorte, Mur & Bandettini 2008.

    Example:
        >>> import jax.numpy as jnp
        >>> x = jnp.array([[0.0, 1.0, 5.0], [1.0, 3.0, 2.0], [2.0, 0.0, 1.0], [5.0, 1.0, 0.0]])
        >>> print(f"{rdm_similarity(x, 3.0 * x + 1.0):.2f}")
        1.00
    """
    sides, lost = zip(*(rdm_to_compare(side, dissimilarity, method, where) for side in (x, y)), strict=True)
    result = compare_complete(sides[0][0], sides[1][0], pairs_seen(where), method, (sides[0][1], sides[1][1]))
    either = lost[0] | lost[1]
    return jnp.where(jnp.any(either if where is None else either & where), jnp.nan, result)


@at_full_precision
def rdm_similarity_and_influence(
    x: Features, y: Targets, *, method: Method = "spearman", dissimilarity: Measure = "correlation"
) -> tuple[Scalar, PerStimulus]:
    r"""``rdm_similarity`` and the influence of each stimulus on it, from the same RDMs.

    A comparison is an inner product of unit vectors, :math:`T = \sum_k a_k b_k`, over the pairs of stimuli. Its
    derivative with respect to the weight of a pair is :math:`a_k b_k - T (a_k^2 + b_k^2) / 2`. Ranks depend on the
    weights too: a centred rank is proportional to the total weight of smaller pairs minus that of larger pairs, so each
    pair also contributes through the ranks of all others. The influence of a stimulus is the sum over its pairs.

    Args:
        x, y, method, dissimilarity: as in ``rdm_similarity``; the comparison is one ``of_single_pairs``.

    Returns:
        The similarity, and the influences ``(stimuli,)``, see :func:`bsjax.metrics.resampling.influence.influence`; NaN
        where the similarity is NaN.

    Raises:
        ValueError: the comparison is not an inner product with one entry for each pair.

    Source: Jaeckel 1972 (the infinitesimal jackknife).

    Example:
        >>> x = jnp.array([[0.0, 1.0, 5.0], [1.0, 3.0, 2.0], [2.0, 0.0, 1.0], [5.0, 1.0, 0.0]])
        >>> value, influence = rdm_similarity_and_influence(x, 3.0 * x + 1.0)
        >>> print(f"{value:.2f}", jnp.abs(influence).round(3))
        1.00 [0. 0. 0. 0.]
    """
    comparison = comparison_named(method)
    if comparison.factor is None or not comparison.of_single_pairs:
        raise ValueError(f"the comparison of RDMs {method!r} has no derivative with respect to weights of stimuli")
    sides, lost = zip(*(rdm_to_compare(side, dissimilarity, method) for side in (x, y)), strict=True)
    scales = [scaled(pairs, None, comparison, errors) for pairs, errors in sides]
    a, b = (comparison.factor(scale, None) for scale in scales)
    value = jnp.clip(jnp.sum(a * b), -1.0, 1.0)
    # If lengths depend only on the number of pairs, every weight changes them equally.
    by_length = value if comparison.best == "length" else 0.0
    slopes = a * b - 0.5 * by_length * (a**2 + b**2)
    if comparison.ranked:
        slopes = slopes + _moved(scales[0], a, b - by_length * a) + _moved(scales[1], b, a - by_length * b)
    left, right = numbers_of_pairs(x.shape[0])
    of_stimuli = jnp.zeros(x.shape[0], x.dtype).at[left].add(slopes).at[right].add(slopes)
    undefined = jnp.any(lost[0] | lost[1])
    found = jnp.where(undefined | jnp.isnan(value), jnp.nan, of_stimuli - jnp.mean(of_stimuli))
    return jnp.where(undefined, jnp.nan, value), found


def _moved(ranked: Float[Array, " m"], unit: Float[Array, " m"], slopes: Float[Array, " m"]) -> Float[Array, " m"]:
    """Derivatives in each pair's weight through the ranks of all pairs; ``slopes`` are derivatives in ``unit``."""
    twice = (2.0 * ranked).astype(jnp.int32)
    # Length of the ranks on a scale from -m to m, relative to that of the vector.
    length = jnp.sqrt(jnp.sum((2.0 * ranked - (len(ranked) + 1.0)) ** 2) / jnp.sum(unit**2))
    at_ranks = jnp.zeros((2 * len(ranked) + 1, 1), unit.dtype).at[twice, 0].add(slopes)
    sums = running_sums(at_ranks)[:, 0]
    return (sums[-1] - sums[twice] - sums[twice - 1]) / length


def rdm_to_compare(
    x: Features, dissimilarity: Measure, method: Method, where: Mask | None = None, units: UnitMask | None = None
) -> tuple[tuple[Float[Array, " m"], PerStimulus], Mask]:
    """Pairs of an RDM, the rounding errors of its stimuli (see ``ranks``), and a mask of stimuli without a pattern.

    For a comparison of ranks, pairs may be a monotonic function of the dissimilarities, such as squared distances.
    Stimuli outside ``where`` are replaced by the mean of the others, and units outside ``units`` do not count.
    """
    if x.shape[0] > _MOST_STIMULI:
        raise ValueError(
            f"RDMs can be compared for at most {_MOST_STIMULI:,} stimuli, as ranks of pairs have 32 bits; there are "
            f"{x.shape[0]:,}"
        )
    measure = dissimilarity_named(dissimilarity)
    if where is not None:
        x = jnp.where(where[:, None], x, jax.lax.stop_gradient(masked_mean(x, where[:, None], 0)[0]))
    x = x if units is None else jnp.where(units[None], x, 0.0)
    patterns, lost = known_patterns(x, measure, units)
    finish = (lambda entries: entries) if comparison_named(method).ranked else measure.finish

    def between(a: Float[Array, "r p"], b: Float[Array, "c p"]) -> Float[Array, "r c"]:
        return finish(measure.between(a, b))

    return (pairs_of_rows(patterns, function=between), measure.errors(x, patterns)), lost


def known_patterns(x: Features, measure: Dissimilarity, units: UnitMask | None = None) -> tuple[Array, Mask]:
    """Patterns of a dissimilarity, and a mask of stimuli whose pattern is undefined or NaN; these are zero."""
    patterns, none = measure.patterns(x, units)
    lost = none | jnp.any(jnp.isnan(patterns), axis=1)
    return jnp.where(lost[:, None], 0.0, patterns), lost


def rdm_pairs(rdms: Shaped[Array, "*batch n n"]) -> Shaped[Array, "*batch m"]:
    """The entries of symmetric matrices for every unordered pair of stimuli, as a vector, in an internal order.

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


def pairs_in_order(pairs: Shaped[Array, " m"]) -> Callable[[Int[Array, " n"]], Shaped[Array, " m"]]:
    """Returns a function from a permutation of the stimuli to the pairs of the permuted matrix."""
    matrix = matrix_of_pairs(pairs)
    n = len(matrix)
    left, right = numbers_of_pairs(n)
    matrix = matrix.reshape(-1)
    return lambda order: matrix[n * order[left] + order[right]]


@at_full_precision
def similarity_to_subjects(
    features: Float[Array, "n d"],
    responses: Responses,
    units: SubjectUnits | None = None,
    seen: Bool[Array, "s n"] | None = None,
    *,
    method: str = "spearman",
) -> Float[Array, " s"]:
    """Compares the RDM of a model (1 - Pearson correlation) with the RDM of each subject.

    Args:
        features: features of the model, ``(stimuli, units)``.
        responses: ``(subjects, stimuli, units)``; subjects with fewer units are padded.
        units: False where padded; all if None.
        seen: True where a subject has responses to a stimulus; all if None.
        method: see ``compare_rdm_vectors``.

    Returns:
        One similarity per subject, in the dtype of the inputs; NaN if the pattern of a stimulus that counts is
        constant.

    Example:
        >>> import jax.numpy as jnp
        >>> from bsjax.metrics import compiled
        >>> x = jnp.array([[0.0, 1.0, 5.0], [1.0, 3.0, 2.0], [2.0, 0.0, 1.0], [5.0, 1.0, 0.0]])
        >>> print(compiled(similarity_to_subjects)(x, jnp.stack([x, 2.0 * x])).round(3))
        [1. 1.]
    """
    theirs = rdm_pairs(rdms_of_subjects(responses, units))
    ours = jnp.broadcast_to(rdm_pairs(rdm(features)), theirs.shape)
    return compare_rdm_vectors(ours, theirs, method=method, where=pairs_seen(seen))


def pairs_seen(seen: Bool[Array, "*batch n"] | None) -> Bool[Array, "*batch m"] | None:
    """Mask of the pairs whose two stimuli were both seen; None if ``seen`` is None."""
    return None if seen is None else rdm_pairs(seen[..., :, None] & seen[..., None, :])


@at_full_precision
def rdms_of_subjects(
    responses: Responses, units: SubjectUnits | None = None, *, dissimilarity: Callable[..., Float[Array, "n n"]] = rdm
) -> Float[Array, "s n n"]:
    """The RDM of each subject's responses.

    Args:
        responses: ``(subjects, stimuli, units)``; subjects with fewer units are padded.
        units: False where padded; all if None.
        dissimilarity: function from responses ``(stimuli, units)`` and a mask of units, ``where=``, to an RDM.

    Example:
        >>> import jax.numpy as jnp
        >>> rdms_of_subjects(jnp.ones((2, 4, 3))).shape
        (2, 4, 4)
    """

    def of_one(subject: tuple[Features, UnitMask | None]) -> Float[Array, "n n"]:
        return dissimilarity(subject[0], where=subject[1])

    if platform() == "tpu":  # XLA takes several times as long to compile RDMs that are made together
        return jax.lax.map(of_one, (responses, units))
    return jax.vmap(of_one)((responses, units))
