"""Permutation tests: null distributions of scores, with the stimuli of one side permuted."""

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from bsjax.engine.batches import batched_map, in_blocks
from bsjax.engine.precision import at_full_precision
from bsjax.engine.tolerances import SAME_SCORE, rounding
from bsjax.metrics.arrays import Draws, Features, PerDraw, Permutations, Scalar, Targets, Value
from bsjax.metrics.regression.crossvalidation import cross_validate
from bsjax.metrics.regression.folds import Folds
from bsjax.metrics.regression.mapping import Mapping
from bsjax.metrics.resampling.refits import in_few_columns
from bsjax.metrics.similarity.cka import SIDES, cka_ratio, of_sides, standardised, unbiased_hsic
from bsjax.metrics.similarity.rdms.dissimilarities import Measure
from bsjax.metrics.similarity.rdms.rdm import pairs_in_order, rdm_pairs, rdm_to_compare
from bsjax.metrics.similarity.rdms.rdm_comparison import Method, comparison_named, scaled

# Number of responses fitted together: those of several permutations share the computations on the features.
_AT_A_TIME = 1 << 22


@at_full_precision
def rdm_permutations(
    x: Features,
    y: Targets,
    permutations: Permutations,
    *,
    method: Method = "spearman",
    dissimilarity: Measure = "correlation",
) -> PerDraw:
    """``rdm_similarity(x, y[permutation])`` for every permutation of the stimuli.

    RDMs are computed, ranked and scaled once. Each permutation then reorders the rows and columns of one matrix and
    sums products of entries. Only Kendall's tau-a is recounted for each permutation.

    Args:
        x, y: responses ``(stimuli, units)`` to the same stimuli in the same order.
        permutations: orders of the stimuli of ``y`` (``bsjax.metrics.resampling.draws.permutations``).
        method: how the two RDMs are compared, see ``compare_rdm_vectors``.
        dissimilarity: as for ``rdm``.

    Returns:
        ``(draws,)`` in the dtype of ``x``; NaN where ``rdm_similarity(x, y)`` is NaN.

    Source: Kriegeskorte, Mur & Bandettini 2008 (randomised condition labels).

    Example:
        >>> from bsjax.metrics import compiled
        >>> x = jnp.array([[0.0, 1.0, 5.0], [1.0, 3.0, 2.0], [2.0, 0.0, 1.0], [5.0, 1.0, 0.0]])
        >>> found = compiled(rdm_permutations)(x, 3.0 * x + 1.0, jnp.array([[0, 1, 2, 3], [1, 0, 2, 3]]))
        >>> print(*(f"{one:.2f}" for one in found))
        1.00 0.43
    """
    comparison = comparison_named(method)
    (a, lost), (b, also_lost) = (rdm_to_compare(side, dissimilarity, comparison) for side in (x, y))
    a, b = (scaled(pairs, None, comparison, errors) for pairs, errors in (a, b))
    if comparison.factor is not None:
        a, b = comparison.factor(a, None), comparison.factor(b, None)
    undefined = jnp.any(lost | also_lost) | jnp.any(jnp.isnan(a)) | jnp.any(jnp.isnan(b))
    a, b = jnp.nan_to_num(a), jnp.nan_to_num(b)
    compare = None if comparison.factor is not None else comparison.compare

    def of_permuted(pairs: Float[Array, " m"]) -> Scalar:
        return jnp.sum(a * pairs) if compare is None else compare(a, pairs, None)

    found = _of_permuted_pairs(of_permuted, b, permutations)
    found = jnp.clip(found, -1.0, 1.0) if compare is None else found
    return jnp.where(undefined, jnp.nan, found)


@at_full_precision
def cka_permutations(x: Features, y: Targets, permutations: Permutations, *, unbiased: bool = True) -> PerDraw:
    """``cka(x, y[permutation])`` for every permutation of the stimuli.

    Both Gram matrices, and the sums of their rows, are computed once.

    Args:
        x, y: responses ``(stimuli, units)`` to the same stimuli in the same order.
        permutations: orders of the stimuli of ``y``.
        unbiased: which estimator of HSIC, see ``cka``.

    Returns:
        ``(draws,)`` in the dtype of ``x``; NaN where ``cka(x, y)`` is NaN.

    Source: Gretton et al. 2008 (permutations for HSIC).

    Example:
        >>> from bsjax.metrics import compiled
        >>> x = jnp.array([[0.0, 1.0], [1.0, 3.0], [2.0, 0.0], [5.0, 1.0], [3.0, 4.0]])
        >>> found = compiled(cka_permutations)(x, 2.0 * x, jnp.array([[0, 1, 2, 3, 4], [1, 0, 2, 3, 4]]))
        >>> print(*(f"{one:.2f}" for one in found))
        1.00 0.41
    """
    n = x.shape[0]
    grams = [side @ side.T for side in (standardised(each, None, unbiased=unbiased) for each in (x, y))]
    if unbiased:
        grams = [jnp.where(jnp.eye(n, dtype=bool), 0.0, gram) for gram in grams]
    pairs = [rdm_pairs(gram) for gram in grams]
    both = 2.0 * _of_permuted_pairs(lambda permuted: jnp.sum(pairs[0] * permuted), pairs[1], permutations)
    both = both + jnp.diagonal(grams[1])[permutations] @ jnp.diagonal(grams[0])
    alone = terms = jnp.stack([jnp.sum(grams[a] * grams[b]) for a, b in SIDES])
    if unbiased:
        rows = [jnp.sum(gram, axis=1) for gram in grams]
        alone = unbiased_hsic(terms, *of_sides(rows), n)
        both = unbiased_hsic(both, rows[0][None], rows[1][permutations], n)
    hsic = jnp.stack([both, *(jnp.full_like(both, own) for own in alone[1:])])
    return cka_ratio(hsic, terms[:, None], unbiased and n < 4)


def cross_validation_permutations(
    x: Features, y: Targets, folds: Folds, permutations: Permutations, *, mapping: Mapping
) -> Float[Array, "draws folds q"]:
    """``cross_validate(x, y[permutation], folds)`` for every permutation of the stimuli, with new fits.

    Rows of ``y`` are permuted as a whole, so targets keep their correlations. If a mapping fits each target
    independently, the targets of several permutations are fitted together and share the computations on the features.
    Other mappings are fitted for one permutation after the other on a CPU.

    Args:
        x: features ``(stimuli, features)``.
        y: targets ``(stimuli, targets)``, rows in the order of ``x``.
        folds: the held-out and test stimuli of each fold (``make_folds``).
        permutations: orders of the stimuli of ``y``.
        mapping: the regression, e.g. ``Ridge(alpha=1.0)``.

    Returns:
        Pearson r ``(draws, folds, targets)``, in the dtype of the inputs; NaN where ``cross_validate`` is NaN.

    Source: Ojala & Garriga 2010.

    Example:
        >>> import numpy as np
        >>> from bsjax.metrics import Ridge, compiled, make_folds
        >>> x = jnp.array([[1.0], [2.0], [3.0], [4.0], [5.0]])
        >>> folds = make_folds(5, [(np.arange(3), np.arange(3, 5))])
        >>> orders = jnp.array([[0, 1, 2, 3, 4], [0, 1, 2, 4, 3]])
        >>> kernel = compiled(cross_validation_permutations, mapping=Ridge(alpha=1e-3))
        >>> print(kernel(x, 2.0 * x, folds, orders).round(3).ravel())
        [ 1. -1.]
    """
    x = in_few_columns(x, mapping)
    n, q = y.shape
    most = _AT_A_TIME // (n * q) if mapping.traits.fits_targets_alone else 1

    def of_some(orders: Int[Array, "some n"]) -> Float[Array, "some folds q"]:
        targets = jnp.moveaxis(y[orders], 0, 1).reshape(n, -1)
        found = cross_validate(x, targets, folds, mapping=mapping)
        return jnp.moveaxis(found.reshape(found.shape[0], -1, q), 1, 0)

    return in_blocks(jax.checkpoint(of_some), permutations, most)


@at_full_precision
def similarity_permutations(
    x: Features, y: Targets, permutations: Permutations, *, similarity: Callable[..., Float[Array, "..."]]
) -> Draws:
    """``similarity(x, y[permutation])`` for every permutation of the stimuli, one after the other on a CPU.

    Args:
        x, y: responses ``(stimuli, units)`` to the same stimuli in the same order.
        permutations: orders of the stimuli of ``y``.
        similarity: function of two sets of responses; its result may have any shape.

    Source: Kriegeskorte, Mur & Bandettini 2008 (randomised condition labels).

    Example:
        >>> from bsjax.metrics import pearson
        >>> x = jnp.array([[1.0], [2.0], [3.0]])
        >>> print(similarity_permutations(x, x, jnp.array([[0, 1, 2], [2, 1, 0]]), similarity=pearson).round(3).ravel())
        [ 1. -1.]
    """
    return batched_map(jax.checkpoint(lambda order: similarity(x, y[order])), permutations)


def permutation_p_value(value: Value, null: Draws, *, alternative: str = "greater") -> Value:
    r"""Permutation p value, :math:`(1 + b) / (1 + m)`, where b of m random permutations score as high or higher.

    The score itself counts as one of the permutations. Without the added 1, p values could be 0 and the test would
    reject too often.

    Args:
        value: the score.
        null: the scores of permutations; NaN is ignored.
        alternative: ``"greater"``, ``"less"``, or ``"two-sided"``, which is twice the smaller of the two p values.

    Returns:
        p values in the dtype of ``value``; NaN where ``value`` is NaN.

    Raises:
        ValueError: an unknown alternative.

    Source: Phipson & Smyth 2010, "Permutation p-values should never be zero".

    Example:
        >>> print(permutation_p_value(jnp.array(3.0), jnp.arange(4.0)))
        0.4
    """
    if alternative not in ("greater", "less", "two-sided"):
        raise ValueError(f"alternative is 'greater', 'less' or 'two-sided', got {alternative!r}")
    same = rounding(value, SAME_SCORE) * jnp.abs(value)[None]
    count = jnp.sum(~jnp.isnan(null), axis=0).astype(value.dtype)

    def share(reach: Array) -> Value:
        return (1.0 + jnp.sum(reach, axis=0).astype(value.dtype)) / (1.0 + count)

    greater, less = share(null >= value[None] - same), share(null <= value[None] + same)
    p = {"greater": greater, "less": less, "two-sided": jnp.minimum(1.0, 2.0 * jnp.minimum(greater, less))}[alternative]
    return jnp.where(jnp.isnan(value), jnp.nan, p)


def null_threshold(null: Draws, *, level: float = 0.05) -> Value:
    r"""Significance threshold: under the null hypothesis, a score exceeds it with a probability of at most ``level``.

    It is the :math:`\lceil (1 - \text{level}) (m + 1) \rceil`-th lowest score of ``m`` permutations. A score above it
    has a ``permutation_p_value`` of at most ``level``.

    Args:
        null: the scores of permutations; NaN is ignored.
        level: rate of false positives.

    Returns:
        Thresholds in the dtype of ``null``; NaN where too few permutations are defined.

    Raises:
        ValueError: there are too few permutations for the level.

    Source: Phipson & Smyth 2010.

    Example:
        >>> print(null_threshold(jnp.arange(19.0)))
        18.0
    """
    draws, fewest = null.shape[0], math.ceil(1.0 / level - 1e-9) - 1
    if draws < fewest:
        raise ValueError(f"a threshold at the level {level} takes at least {fewest} permutations, there are {draws}")
    count = jnp.sum(~jnp.isnan(null), axis=0)
    place = jnp.ceil((1.0 - level) * (count + 1).astype(null.dtype) - 1e-3).astype(count.dtype)
    ordered = jnp.sort(null, axis=0)  # NaN last
    found = jnp.take_along_axis(ordered, jnp.clip(place - 1, 0, draws - 1)[None], axis=0)[0]
    return jnp.where(place > count, jnp.nan, found)


def calibrated(value: Value, null: Draws, *, level: float = 0.05) -> Value:
    r"""Calibrates scores: 0 at or below the significance threshold, 1 stays 1.

    The calibrated score is :math:`\max(0, (s - \tau) / (1 - \tau))`, where :math:`\tau` is the ``null_threshold``.
    Under the null hypothesis, at most a share ``level`` of calibrated scores is above 0. To correct for
    the choice of the best of several layers, calibrate it by the best layer of each permutation.

    Args:
        value: scores with the maximum 1.
        null: the scores of permutations.
        level: rate of scores above 0 under the null hypothesis.

    Returns:
        The shape of ``value``; NaN where a value is NaN.

    Raises:
        ValueError: there are too few permutations for the level.

    Source: Westfall & Young 1993 (the maximum over tests).

    Example:
        >>> layers, null = jnp.array([0.6, 0.7]), jnp.linspace(0.0, 0.5, 99)[:, None] * jnp.array([[1.0, 0.5]])
        >>> print(calibrated(layers, null).round(3), f"{calibrated(layers.max(), null.max(axis=1)):.3f}")
        [0.231 0.605] 0.424
    """
    threshold = null_threshold(null, level=level)
    least = threshold >= 1.0  # the null distribution reaches 1: no score is above it
    scale = jnp.where(least, 1.0, 1.0 - threshold)
    return jnp.maximum(0.0, jnp.where(least, 0.0, value - threshold) / scale)


def _of_permuted_pairs(
    function: Callable[[Float[Array, " m"]], Scalar], pairs: Float[Array, " m"], permutations: Permutations
) -> PerDraw:
    """``function`` of the pairs of stimuli in every permutation of the stimuli."""
    permuted = pairs_in_order(pairs)
    return batched_map(jax.checkpoint(lambda order: function(permuted(order))), permutations)
