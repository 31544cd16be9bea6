"""CKA and RDM similarity of many bootstrap draws of the stimuli, from matrices that are formed once for all draws.

A draw with replacement holds copies of stimuli. The similarity of a stimulus with its copy is that with itself, which
an unbiased CKA and an RDM leave out for a reason: with copies taken for different stimuli, unrelated responses of many
units score near 1. So pairs (for CKA: quadruples) of the *same* stimulus are left out of a draw.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Real

from bsjax.engine.precision import at_full_precision
from bsjax.engine.primitives.row_pairs import numbers_of_pairs
from bsjax.engine.row_blocks import sum_over_row_blocks
from bsjax.metrics.resampling.weighted_rdms import compare_weighted_rdms
from bsjax.metrics.similarity.cka import SIDES, cka_ratio, standardised
from bsjax.metrics.similarity.dissimilarities import Dissimilarity
from bsjax.metrics.similarity.rdm import rdm_to_compare
from bsjax.metrics.similarity.rdm_comparison import comparison_named, scaled


@at_full_precision
def cka_bootstraps(
    x: Float[Array, "n p"],
    y: Float[Array, "n q"],
    counts: Real[Array, "draws n"],
    *,
    unbiased: bool = True,
    copies: bool = False,
) -> Float[Array, " draws"]:
    r"""CKA of every draw of the stimuli, given by how often it holds each of them.

    A draw is a weight :math:`w_i` per stimulus, and a sum over its pairs, e.g.
    :math:`\sum_{ij} w_i w_j K_{ij} L_{ij}`, is one entry of a product of matrices, so that all draws together cost
    little more than one. Unbiased, HSIC is the U-statistic of Song et al. over quadruples of different stimuli:

    .. math:: \sum_{i, j, q, r\ \text{different}} w_i w_j w_q w_r
        \bigl(K_{ij} L_{ij} + K_{ij} L_{qr} - 2 K_{ij} L_{iq}\bigr)

    which for weights of 0 and 1 is that of ``cka`` on the subset.

    Args:
        x, y: responses ``(stimuli, units)`` to the same stimuli in the same order.
        counts: how often each draw holds each stimulus, or any weights as floats, in which there are derivatives. What
            no draw holds may be anything.
        unbiased: which estimator of HSIC. The biased one has the pairs of a stimulus with itself, and has those of
            copies as well: it equals ``cka_biased(x[draw], y[draw])``.
        copies: let copies of a stimulus count as if they were different stimuli, which is ``cka(x[draw], y[draw])``:
            biased, and the more the more units there are.

    Returns:
        ``(draws,)`` in the dtype of ``x``. NaN where ``cka`` is, and for draws of fewer than 4 different stimuli.

    Source: Song et al. 2012; Kornblith et al. 2019.

    Example:
        >>> x = jnp.array([[0.0, 1.0], [1.0, 3.0], [2.0, 0.0], [5.0, 1.0], [3.0, 4.0]])
        >>> print(cka_bootstraps(x, 2.0 * x, jnp.array([[1, 1, 1, 1, 1], [2, 1, 0, 1, 1]])).round(3))
        [1. 1.]
    """
    held = jnp.any(counts > 0, axis=0)
    apart = unbiased and not copies
    sides = standardised(x, held, unbiased=apart), standardised(y, held, unbiased=apart)
    w = counts.T.astype(x.dtype)
    size = jnp.sum(w, axis=0)
    numbers = jnp.arange(1, x.shape[0] + 1, dtype=jnp.int32)[:, None]

    def of_rows(
        x_rows: Float[Array, "r p"], y_rows: Float[Array, "r q"], weights: Float[Array, "r draws"], own: Array
    ) -> _Sums:
        itself = own == numbers.T
        grams = [rows @ side.T for rows, side in zip((x_rows, y_rows), sides, strict=True)]
        diagonals = [jnp.sum(rows**2, axis=1, keepdims=True) for rows in (x_rows, y_rows)]
        grams = [jnp.where(itself, jnp.zeros_like(gram), gram) for gram in grams]
        return _of_different(grams, w, weights) if apart else _of_all(grams, diagonals, w, weights, unbiased)

    # Twice the matrices of one comparison: both Gram matrices together with their products.
    sums = sum_over_row_blocks(of_rows, *sides, w, numbers, beside=2)
    if apart:
        squares = jnp.sum(w**2, axis=0)
        hsic, terms = _hsic_of_different(sums, size, squares), size[None] ** 2 * sums.pairs_11
        few = jnp.sum(counts > 0, axis=1) < 4
    else:
        hsic, terms = _hsic_of_all(sums, size, unbiased), sums.pairs_11
        few = (size < 4) & unbiased
    return cka_ratio(hsic, terms, few)


def cka_biased_bootstraps(
    x: Float[Array, "n p"], y: Float[Array, "n q"], counts: Real[Array, "draws n"]
) -> Float[Array, " draws"]:
    """``cka_bootstraps`` with the biased estimator of HSIC."""
    return cka_bootstraps(x, y, counts, unbiased=False)


@at_full_precision
def rdm_bootstraps(
    x: Float[Array, "n p"],
    y: Float[Array, "n q"],
    counts: Real[Array, "draws n"],
    *,
    dissimilarity: str | Dissimilarity = "correlation",
    method: str = "spearman",
) -> Float[Array, " draws"]:
    """Similarity of the RDMs of every draw of the stimuli, by default their Spearman correlation.

    A pair of stimuli counts as often as a draw holds it, the product of their counts; a stimulus makes no pair with its
    copies. The pairs are put in order once for all draws, see ``compare_weighted_rdms``.

    Args:
        x, y: responses ``(stimuli, units)`` to the same stimuli in the same order.
        counts: how often each draw holds each stimulus, or any weights as floats, in which there are derivatives.
        dissimilarity: as for ``rdm``.
        method: ``"spearman"``, ``"rho-a"``, ``"corr"`` or ``"cosine"``, see ``compare_rdm_vectors``.

    Returns:
        ``(draws,)`` in the dtype of ``x``. NaN where the pattern of a stimulus that the draw holds is constant over
        units, and where all its dissimilarities are equal, save as in ``compare_rdm_vectors``. Ranks have no gradient
        in the responses: it is zero.

    Raises:
        ValueError: a comparison that takes no weights.

    Source: Nili et al. 2014; Schütt et al. 2023.

    Example:
        >>> from bsjax.metrics import compiled
        >>> x = jnp.array([[0.0, 1.0, 5.0], [1.0, 3.0, 2.0], [2.0, 0.0, 1.0], [5.0, 1.0, 0.0]])
        >>> print(compiled(rdm_bootstraps)(x, 3.0 * x + 1.0, jnp.array([[1, 1, 1, 1], [0, 2, 1, 1]])).round(3))
        [1. 1.]
    """
    left, right = numbers_of_pairs(x.shape[0])
    held = jnp.any(counts > 0, axis=0)
    sides = []
    for side in (x, y):
        (vector, errors), lost = rdm_to_compare(side, dissimilarity, method, held)
        if comparison_named(method).ranked:  # once for all draws: what ties keeps one rank
            vector = scaled(vector, None, method, errors)
        sides.append(jnp.where(lost[left] | lost[right], jnp.nan, vector)[None])
    return compare_weighted_rdms(sides[0], sides[1], counts, method=method)[:, 0, 0]


class _Sums(NamedTuple):
    """Sums over pairs and rows for (x, y), (x, x) and (y, y), each ``(3, draws)``; 1 to 3 is the power of a weight."""

    pairs_11: Float[Array, "3 draws"]
    pairs_12: Float[Array, "3 draws"]
    pairs_13: Float[Array, "3 draws"]
    pairs_22: Float[Array, "3 draws"]
    rows_1: Float[Array, "3 draws"]
    rows_2: Float[Array, "3 draws"]
    rows_mixed: Float[Array, "3 draws"]
    total_a: Float[Array, "3 draws"]
    total_b: Float[Array, "3 draws"]


def _of_different(grams: list[Array], w: Array, weights: Array) -> _Sums:
    """What a block of rows (weights ``weights``) of Gram matrices without their diagonals adds."""
    sums = [gram @ w for gram in grams]
    squared = [gram @ w**2 for gram in grams]
    found = []
    for i, j in SIDES:
        product = grams[i] * grams[j]
        once, twice = product @ w, product @ w**2
        a, b = sums[i], sums[j]
        found.append(
            (
                weights * once,
                weights**2 * once,
                weights**3 * once,
                weights**2 * twice,
                weights * a * b,
                weights**2 * a * b,
                weights * (squared[i] * b + a * squared[j]),
                weights * a,
                weights * b,
            )
        )
    return _summed(found)


def _of_all(grams: list[Array], diagonals: list[Array], w: Array, weights: Array, unbiased: bool) -> _Sums:
    """The same where copies count: a stimulus meets itself, once less if unbiased."""
    itself = weights - 1.0 if unbiased else weights
    sums = [gram @ w + itself * diagonal for gram, diagonal in zip(grams, diagonals, strict=True)]
    found = []
    for i, j in SIDES:
        once = (grams[i] * grams[j]) @ w + itself * diagonals[i] * diagonals[j]
        nothing = jnp.zeros_like(weights)
        found.append(
            (
                weights * once,
                *(nothing,) * 3,
                weights * sums[i] * sums[j],
                *(nothing,) * 2,
                weights * sums[i],
                weights * sums[j],
            )
        )
    return _summed(found)


def _summed(found: list[tuple[Array, ...]]) -> _Sums:
    return _Sums(*(jnp.stack([jnp.sum(one, axis=0) for one in field]) for field in zip(*found, strict=True)))


def _hsic_of_different(s: _Sums, size: Float[Array, " draws"], squares: Float[Array, " draws"]) -> Array:
    """The three sums of the U-statistic; what they all would be divided by cancels in CKA."""
    n, n2 = size[None], squares[None]
    same = (n**2 - n2) * s.pairs_11 - 4.0 * n * s.pairs_12 + 4.0 * s.pairs_13 + 2.0 * s.pairs_22
    apart = s.total_a * s.total_b - 4.0 * s.rows_2 + 2.0 * s.pairs_22
    sharing = n * s.rows_1 - s.rows_2 - s.rows_mixed - (n * s.pairs_12 - s.pairs_22 - 2.0 * s.pairs_13)
    return same + apart - 2.0 * sharing


def _hsic_of_all(s: _Sums, size: Float[Array, " draws"], unbiased: bool) -> Array:
    n = size[None]
    if not unbiased:
        return s.pairs_11 - 2.0 * s.rows_1 / n + s.total_a * s.total_b / n**2
    few = n < 4.0
    n = jnp.where(few, 4.0, n)
    return s.pairs_11 - 2.0 * s.rows_1 / (n - 2.0) + s.total_a * s.total_b / ((n - 1.0) * (n - 2.0))
