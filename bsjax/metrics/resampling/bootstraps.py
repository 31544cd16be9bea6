"""Bootstraps of CKA and RDM similarity over stimuli, from matrices that are computed once for all draws.

A draw with replacement contains copies of stimuli. If copies counted as different stimuli, unrelated responses of many
units would score near 1, because the similarity of a stimulus with its copy is that with itself. Pairs (for CKA:
quadruples) with copies of the *same* stimulus are therefore omitted from a draw.
"""

from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Array, Float

from bsjax.engine.precision import at_full_precision
from bsjax.engine.primitives.row_pairs import numbers_of_pairs
from bsjax.engine.row_blocks import sum_over_row_blocks
from bsjax.metrics.arrays import Counts, Features, Mask, PerDraw, Targets
from bsjax.metrics.resampling.weighted_rdms import weighted_comparison
from bsjax.metrics.similarity.cka import SIDES, cka_ratio, of_sides, standardised
from bsjax.metrics.similarity.rdms.dissimilarities import Measure
from bsjax.metrics.similarity.rdms.rdm import rdm_pairs, rdm_to_compare
from bsjax.metrics.similarity.rdms.rdm_comparison import comparison_named, scaled


@at_full_precision
def cka_bootstraps(x: Features, y: Targets, counts: Counts, *, unbiased: bool = True) -> PerDraw:
    r"""CKA of every draw of the stimuli.

    A draw gives each stimulus a weight :math:`w_i`. Sums over pairs, such as
    :math:`\sum_{ij} w_i w_j K_{ij} L_{ij}`, are entries of a matrix product, so all draws together cost little more
    than a single one. The unbiased HSIC is the U-statistic of Song et al. over quadruples of different stimuli:

    .. math:: \sum_{i, j, q, r\ \text{different}} w_i w_j w_q w_r
        \bigl(K_{ij} L_{ij} + K_{ij} L_{qr} - 2 K_{ij} L_{iq}\bigr)

    For weights of 0 and 1, it equals that of ``cka`` on the subset.

    Args:
        x, y: responses ``(stimuli, units)`` to the same stimuli in the same order.
        counts: how often each draw contains each stimulus, or float weights, with respect to which the result is
            differentiable. Responses to stimuli in no draw are ignored.
        unbiased: which estimator of HSIC. The biased one includes pairs of a stimulus with itself and with its copies:
            it equals ``cka_biased(x[draw], y[draw])``.

    Returns:
        ``(draws,)`` in the dtype of ``x``. NaN where ``cka`` is NaN; if unbiased, also for draws of fewer than 4
        different stimuli.

    Source: Song et al. 2012; Kornblith et al. 2019.

    Example:
        >>> x = jnp.array([[0.0, 1.0], [1.0, 3.0], [2.0, 0.0], [5.0, 1.0], [3.0, 4.0]])
        >>> print(cka_bootstraps(x, 2.0 * x, jnp.array([[1, 1, 1, 1, 1], [2, 1, 0, 1, 1]])).round(3))
        [1. 1.]
    """
    held = jnp.any(counts > 0, axis=0)
    sides = standardised(x, held, unbiased=unbiased), standardised(y, held, unbiased=unbiased)
    w = counts.T.astype(x.dtype)
    size, squares = jnp.sum(w, axis=0, keepdims=True), jnp.sum(w**2, axis=0, keepdims=True)
    numbers = jnp.arange(1, x.shape[0] + 1, dtype=jnp.int32)[:, None]

    def of_rows(
        x_rows: Float[Array, "r p"], y_rows: Float[Array, "r q"], weights: Float[Array, "r draws"], own: Array
    ) -> tuple[Array, ...]:
        grams = [rows @ side.T for rows, side in zip((x_rows, y_rows), sides, strict=True)]
        if unbiased:
            grams = [jnp.where(own == numbers.T, 0.0, gram) for gram in grams]
        once, twice = ([gram @ power for gram in grams] for power in (w, w**2))
        hsic, terms = [], []
        for a, b in SIDES:
            products, both = grams[a] * grams[b], once[a] * once[b]
            pairs = products @ w
            if unbiased:
                mixed = twice[a] * once[b] + once[a] * twice[b] + weights * (products @ w**2)
                each = (size**2 - squares - 2 * size * weights) * pairs - 2 * (size + weights) * both + 2 * mixed
            else:
                each = pairs - 2 * both / size
            hsic.append(jnp.sum(weights * each, axis=0))
            terms.append(jnp.sum(weights * pairs, axis=0))
        totals = [jnp.sum(weights * each, axis=0) for each in once]
        return jnp.stack(hsic), jnp.stack(terms), jnp.stack(totals)

    # Twice the memory of one comparison: both Gram matrices and their products.
    hsic, terms, totals = sum_over_row_blocks(of_rows, *sides, w, numbers, beside=2)
    a, b = of_sides(totals)
    if unbiased:
        return cka_ratio(hsic + a * b, size**2 * terms, jnp.sum(counts > 0, axis=1) < 4)
    return cka_ratio(hsic + a * b / size**2, terms, False)


@at_full_precision
def rdm_bootstraps(
    x: Features, y: Targets, counts: Counts, *, dissimilarity: Measure = "correlation", method: str = "spearman"
) -> PerDraw:
    """Similarity of the RDMs of every draw of the stimuli, by default their Spearman correlation.

    The weight of a pair of stimuli is the product of their counts; copies of a stimulus form no pair. Pairs are sorted
    once for all draws, see ``compare_weighted_rdms``.

    Args:
        x, y: responses ``(stimuli, units)`` to the same stimuli in the same order.
        counts: how often each draw contains each stimulus, or float weights, with respect to which the result is
            differentiable.
        dissimilarity: as for ``rdm``.
        method: ``"spearman"``, ``"rho-a"``, ``"corr"`` or ``"cosine"``, see ``compare_rdm_vectors``.

    Returns:
        ``(draws,)`` in the dtype of ``x``. NaN where the pattern of a stimulus in the draw is constant over units, and
        where all dissimilarities are equal, with the exceptions of ``compare_rdm_vectors``. For ranks, the gradient
        with respect to the responses is zero.

    Raises:
        ValueError: the comparison does not support weights.

    Source: Nili et al. 2014; Schütt et al. 2023.

    Example:
        >>> from bsjax.metrics import compiled
        >>> x = jnp.array([[0.0, 1.0, 5.0], [1.0, 3.0, 2.0], [2.0, 0.0, 1.0], [5.0, 1.0, 0.0]])
        >>> print(compiled(rdm_bootstraps)(x, 3.0 * x + 1.0, jnp.array([[1, 1, 1, 1], [0, 2, 1, 1]])).round(3))
        [1. 1.]
    """
    held = jnp.any(counts > 0, axis=0)
    return rdm_statistic(x, y, held, dissimilarity=dissimilarity, method=method)(counts)


@at_full_precision
def rdm_statistic(
    x: Features,
    y: Targets,
    held: Mask | None = None,
    *,
    dissimilarity: Measure = "correlation",
    method: str = "spearman",
) -> Callable[[Counts], PerDraw]:
    """Returns ``rdm_bootstraps`` as a function of the counts, with RDMs computed and their pairs sorted once.

    Args:
        x, y, dissimilarity, method: as in ``rdm_bootstraps``.
        held: True for stimuli that are in any draw; all if None.
    """
    left, right = numbers_of_pairs(x.shape[0])
    sides = []
    for side in (x, y):
        (vector, errors), lost = rdm_to_compare(side, dissimilarity, method, held)
        if comparison_named(method).ranked:  # once for all draws; tied values keep a common rank
            vector = scaled(vector, None, method, errors)
        sides.append(jnp.where(lost[left] | lost[right], jnp.nan, vector)[None])
    compared = weighted_comparison(*sides, method=method)
    return at_full_precision(lambda weights: compared(weights)[:, 0, 0])


@at_full_precision
def given_rdm_statistic(
    rdm: Float[Array, "n n"], rdms: Targets, *, method: str = "spearman"
) -> Callable[[Counts], PerDraw]:
    """Returns the mean similarity of an RDM to those of several subjects as a function of the counts of stimuli.

    Args:
        rdm: dissimilarities, symmetric.
        rdms: those of the subjects side by side, the columns of the first subject first.
        method: as in ``rdm_bootstraps``.

    Returns:
        A function from counts or float weights to the means ``(draws,)`` over the subjects whose similarity is defined.

    Raises:
        ValueError: the comparison does not support weights.

    Example:
        >>> rdm = jnp.array([[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.0, 0.0]])
        >>> of_counts = given_rdm_statistic(rdm, jnp.concatenate([rdm, -rdm], axis=1), method="corr")
        >>> print(of_counts(jnp.ones((1, 3))))
        [0.]
    """
    n = rdm.shape[0]
    of_subjects = jnp.moveaxis(rdms.reshape(n, -1, n), 1, 0)
    compared = weighted_comparison(rdm_pairs(rdm)[None], rdm_pairs(of_subjects), method=method)
    return at_full_precision(lambda weights: jnp.nanmean(compared(weights)[:, 0], axis=-1))


@at_full_precision
def given_rdm_bootstraps(
    rdm: Float[Array, "n n"], rdms: Targets, counts: Counts, *, method: str = "spearman"
) -> PerDraw:
    """``given_rdm_statistic`` of the counts of draws.

    Args:
        rdm, rdms, method: as in ``given_rdm_statistic``.
        counts: how often each draw contains each stimulus.

    Example:
        >>> rdm = jnp.array([[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.0, 0.0]])
        >>> print(given_rdm_bootstraps(rdm, -rdm, jnp.array([[1, 1, 1], [2, 1, 0]])).round(3))
        [-1. nan]
    """
    return given_rdm_statistic(rdm, rdms, method=method)(counts)
