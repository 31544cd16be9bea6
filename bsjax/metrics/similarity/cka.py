"""Centred kernel alignment of two sets of responses to the same stimuli (linear kernel)."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from bsjax.engine.gram import Gram
from bsjax.engine.precision import at_full_precision
from bsjax.engine.primitives.grams import row_sums_of_gram_products, sums_of_gram_products
from bsjax.engine.tolerances import CANCELLED, rounding
from bsjax.metrics.arrays import Features, Mask, PerStimulus, Scalar, Targets
from bsjax.metrics.numerics import around_most, deviations, divide_or_nan, safe_sqrt

# Pairs of responses that CKA takes the HSIC of: both, and each with itself.
SIDES = ((0, 1), (0, 0), (1, 1))

# Number of stimuli with the largest responses that are treated separately.
_BY_THEMSELVES = 4


@at_full_precision
def cka(x: Features, y: Targets, *, unbiased: bool = True, where: Mask | None = None) -> Scalar:
    r"""Linear CKA: the alignment of two similarity structures over the same stimuli.

    .. math:: \mathrm{CKA}(X, Y) = \frac{\mathrm{HSIC}(K, L)}{\sqrt{\mathrm{HSIC}(K, K)\,\mathrm{HSIC}(L, L)}},
        \quad K = X X^T,\ L = Y Y^T

    The unbiased HSIC is the estimator of Song et al., where :math:`\tilde K` is the Gram matrix with a zero diagonal:

    .. math:: \mathrm{HSIC} = \frac{1}{n(n-3)} \Bigl[\sum_{ij} \tilde K_{ij} \tilde L_{ij}
        + \frac{1^T \tilde K 1\, 1^T \tilde L 1}{(n-1)(n-2)} - \frac{2}{n-2} 1^T \tilde K \tilde L 1 \Bigr]

    It is 0 on average for unrelated responses, and may be negative. The biased HSIC is the sum of products of the
    centred Gram matrices; it is large for unrelated responses of many units to few stimuli. Both are computed from the
    feature cross-products or from the Gram matrices, whichever costs less.

    Args:
        x: responses ``(stimuli, units)``.
        y: responses ``(stimuli, units)`` to the same stimuli in the same order; units may differ in number.
        unbiased: which estimator of HSIC.
        where: True where a stimulus counts; all if None.

    Returns:
        A scalar in the dtype of the inputs, at most 1 if biased. NaN where the HSIC of a side with itself is not
        positive, as for constant responses. If unbiased, NaN also for fewer than 4 stimuli, and where only one stimulus
        differs from the others.

    Source: Kornblith et al. 2019; Song et al. 2012 (unbiased HSIC); Murphy et al. 2024.

    Example:
        >>> import jax.numpy as jnp
        >>> x = jnp.array([[0.0, 1.0], [1.0, 3.0], [2.0, 0.0], [5.0, 1.0], [3.0, 4.0]])
        >>> print(f"{cka(x, 2.0 * x[:, ::-1]):.3f}")
        1.000
    """
    sides = standardised(x, where, unbiased=unbiased), standardised(y, where, unbiased=unbiased)
    if not unbiased:
        products = jnp.stack(sums_of_gram_products(*sides))
        return cka_ratio(products, products, False)
    n = jnp.asarray(x.shape[0], x.dtype) if where is None else jnp.sum(where).astype(x.dtype)
    products, sums = _without_diagonals(sums_of_gram_products, *sides)
    return cka_ratio(unbiased_hsic(products, *of_sides(sums), n), products, n < 4)


@at_full_precision
def cka_and_influence(x: Features, y: Targets, *, unbiased: bool = True) -> tuple[Scalar, PerStimulus]:
    r"""``cka`` and the influence of each stimulus on it, from the same Gram matrices.

    With :math:`p_i = \sum_j \tilde K_{ij} \tilde L_{ij}`, :math:`a = \tilde K 1` and :math:`b = \tilde L 1`, the
    derivative of the unbiased HSIC with respect to the weight of stimulus :math:`i` is, up to a constant and a factor
    common to all stimuli,

    .. math:: (n - 2)^2 p_i - (n - 2) (\tilde K b + \tilde L a)_i - n\, a_i b_i + a_i\, 1^T b + b_i\, 1^T a

    For the biased HSIC it is :math:`p_i`, computed from the centred matrices with their diagonals.

    Args:
        x, y, unbiased: as in ``cka``.

    Returns:
        CKA, and the influences ``(stimuli,)``, see :func:`bsjax.metrics.resampling.influence.influence`; NaN where CKA
        is NaN.

    Source: Song et al. 2012 (HSIC as a U-statistic); Jaeckel 1972 (the infinitesimal jackknife).

    Example:
        >>> x = jnp.array([[0.0, 1.0], [1.0, 3.0], [2.0, 0.0], [5.0, 1.0], [3.0, 4.0]])
        >>> value, influence = cka_and_influence(x, 2.0 * x)
        >>> print(f"{value:.3f}", jnp.abs(influence).round(3))
        1.000 [0. 0. 0. 0. 0.]
    """
    sides, n = [standardised(side, None, unbiased=unbiased) for side in (x, y)], float(x.shape[0])
    if unbiased:
        rows, sums = _without_diagonals(row_sums_of_gram_products, *sides)
        a, b = of_sides(sums)
        hsic = unbiased_hsic(jnp.sum(rows, axis=1), a, b, n)
        mixed = jnp.stack([_times_gram(sides[i], sums[j]) + _times_gram(sides[j], sums[i]) for i, j in SIDES])
        totals = [jnp.sum(side, axis=1, keepdims=True) for side in (a, b)]
        each = (n - 2) * rows - mixed - (n * a * b - a * totals[1] - b * totals[0]) / max(n - 2, 1)
        slopes = 2 * each / max(n - 1, 1)
    else:
        rows = row_sums_of_gram_products(*sides)
        hsic, slopes = jnp.sum(rows, axis=1), 2 * rows
    value = cka_ratio(hsic, jnp.sum(rows, axis=1), unbiased and n < 4)
    undefined = jnp.isnan(value)
    both, of_x, of_y = jnp.where(undefined, 1.0, hsic)
    of_ratio = slopes[0] / jnp.sqrt(of_x * of_y) - 0.5 * value * (slopes[1] / of_x + slopes[2] / of_y)
    return value, jnp.where(undefined, jnp.nan, of_ratio - jnp.mean(of_ratio))


def _times_gram(side: Features, vector: PerStimulus) -> PerStimulus:
    """Product of the Gram matrix without its diagonal and a vector."""
    return side @ (vector @ side) - jnp.sum(side**2, axis=1) * vector


def cka_of_grams(one: Gram, other: Gram, *, unbiased: bool) -> float:
    """``cka`` from two Gram matrices after ``centre``, computed on the devices that hold them."""
    n, sides = one.rows[-1].stop, (one, other)
    products = hsic = jnp.asarray([sides[a].inner(sides[b]) for a, b in SIDES])
    if unbiased:
        hsic = centred_hsic(products, *of_sides([jnp.asarray(side.diagonal()) for side in sides]), n)
    return float(cka_ratio(hsic, products, unbiased and n < 4))


def of_sides(each: Sequence[Array] | Array) -> tuple[Array, Array]:
    """Arranges one array per side into arrays of the first and of the second side of each of the ``SIDES``."""
    return jnp.stack([each[a] for a, _ in SIDES]), jnp.stack([each[b] for _, b in SIDES])


def unbiased_hsic(
    products: Float[Array, "..."], of_a: Float[Array, "... n"], of_b: Float[Array, "... n"], n: Any
) -> Float[Array, "..."]:
    """The unbiased HSIC, times n (n - 3), from two Gram matrices without their diagonals.

    Args:
        products: sum of the products of their entries.
        of_a, of_b: sums of their rows.
        n: number of stimuli; with fewer than 4 the result is meaningless.
    """
    n = jnp.maximum(n, 4)
    totals = jnp.sum(of_a, axis=-1) * jnp.sum(of_b, axis=-1)
    return products - 2 * jnp.vecdot(of_a, of_b) / (n - 2) + totals / ((n - 1) * (n - 2))


def centred_hsic(
    products: Float[Array, "..."], of_a: Float[Array, "... n"], of_b: Float[Array, "... n"], n: Any
) -> Float[Array, "..."]:
    """``unbiased_hsic`` from centred Gram matrices, whose rows sum to zero, and their diagonals."""
    return unbiased_hsic(products - jnp.vecdot(of_a, of_b), of_a, of_b, n)


def u_centred(gram: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """A Gram matrix without its diagonal, given as zeros, such that its rows sum to zero (U-centred)."""
    n = len(gram)
    means = jnp.sum(gram, axis=1) / max(n - 2, 1)
    centred = gram - means[:, None] - means[None, :] + jnp.sum(means) / max(n - 1, 1)
    return jnp.where(jnp.eye(n, dtype=bool), 0.0, centred)


def _without_diagonals(
    gram_products: Callable[[Array, Array], Any], x: Features, y: Targets
) -> tuple[Float[Array, "3 ..."], Float[Array, "2 n"]]:
    """Sums of products of Gram matrices without diagonals, for the ``SIDES``, and the sums of their rows."""
    # `gram_products` sums products over all entries or by row. The few stimuli with the largest responses are treated
    # separately: their squares would hide the contributions of the others.
    squares = [jnp.sum(side**2, axis=1) for side in (x, y)]
    longest = jnp.maximum(*(of_side / (jnp.sum(of_side) + jnp.finfo(x.dtype).tiny) for of_side in squares))
    places = jax.lax.top_k(jax.lax.stop_gradient(longest), min(_BY_THEMSELVES, len(x)))[1]
    # Selected by masks: each scatter would be a loop of its own, which takes as long to compile as the sums.
    itself = places[:, None] == jnp.arange(len(x), dtype=places.dtype)[None, :]
    is_longest = jnp.any(itself, axis=0)
    rest = jnp.where(is_longest, 0.0, jnp.ones(len(x), x.dtype))

    def with_longest(of_others: PerStimulus, of_longest: Array) -> PerStimulus:
        return jnp.where(is_longest, jnp.sum(jnp.where(itself, of_longest[:, None], 0.0), axis=0), of_others)

    others = jax.lax.optimization_barrier([side * rest[:, None] for side in (x, y)])
    of_longest = [jnp.where(itself, 0.0, side[places] @ side.T) for side in (x, y)]
    # A pair of two such stimuli occurs in the rows of both; a pair with another stimulus in a single row.
    times = 1.0 + rest[None, :]
    sums, products = [], []
    for side, square, rows in zip((x, y), squares, of_longest, strict=True):
        among = side @ (rest @ side) - square
        sums.append(with_longest(among + jnp.sum(rows, axis=0), jnp.sum(rows, axis=1)))
    for product, (a, b) in zip(gram_products(*others), SIDES, strict=True):
        of_pairs, on_diagonal = of_longest[a] * of_longest[b], rest * squares[a] * squares[b]
        if product.ndim:
            of_others = product - on_diagonal + jnp.sum(of_pairs, axis=0)
            products.append(with_longest(of_others, jnp.sum(of_pairs, axis=1)))
        else:
            products.append(product - jnp.sum(on_diagonal) + jnp.sum(times * of_pairs))
    return jnp.stack(products), jnp.stack(sums)


@at_full_precision
def cka_biased(x: Features, y: Targets, *, where: Mask | None = None) -> Scalar:
    """``cka`` with the biased estimator of HSIC, as in older published scores.

    Args:
        x, y, where: as for ``cka``.

    Returns:
        A scalar from 0 to 1 in the dtype of the inputs; NaN where ``cka`` is NaN.

    Source: Kornblith et al. 2019.

    Example:
        >>> import jax.numpy as jnp, numpy as np
        >>> rng = np.random.default_rng(0)
        >>> x, y = (jnp.asarray(rng.normal(size=(20, 50))) for _ in range(2))
        >>> bool(cka_biased(x, y) > 0.5 > cka(x, y))
        True
    """
    return cka(x, y, unbiased=False, where=where)


def standardised(values: Features, where: Mask | None, *, unbiased: bool = False) -> Features:
    """Responses centred over the stimuli that count, and scaled to unit variance over all units.

    Stimuli that do not count, and constant units, are zero. The unbiased HSIC does not depend on the centre; for
    precision, a centre near most stimuli is used.
    """
    counts = None if where is None else where[:, None]
    centred = around_most(values, counts) if unbiased else deviations(values, counts, axis=0).values
    # Without scaling, fourth powers of large responses would overflow in float32.
    return centred / jnp.sqrt(jnp.mean(centred**2) + jnp.finfo(centred.dtype).tiny)


def cka_ratio(
    hsic: Float[Array, "3 ..."], terms: Float[Array, "3 ..."], bad: bool | Bool[Array, "..."]
) -> Float[Array, "..."]:
    """CKA from the HSIC of both sides and of each side with itself.

    Args:
        hsic: HSIC of the ``SIDES``.
        terms: size of the largest term in the sum of each HSIC.
        bad: True where the result is NaN in any case.

    Returns:
        CKA; also NaN where the HSIC of a side with itself is within the rounding error of its terms.
    """
    both, of_x, of_y = hsic
    least = rounding(hsic, CANCELLED) * terms
    undefined = ~((of_x > least[1]) & (of_y > least[2])) | bad
    return divide_or_nan(both, safe_sqrt(of_x) * safe_sqrt(of_y), undefined)
