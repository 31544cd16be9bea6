"""Split-half internal consistency of repeated recordings, and of bootstrap draws of their stimuli."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Num

from bsjax.engine.batches import batched_map
from bsjax.engine.precision import at_full_precision
from bsjax.metrics.arrays import Counts, PerDraw, Present, Scalar, Splits, Trials, Values
from bsjax.metrics.correlation import pearson, spearman_brown, weighted_pearson
from bsjax.metrics.numerics import deviations, inverse_root, is_constant, masked_mean

FEWEST_STIMULI = 4
"""Least number of stimuli to correlate halves: of two, r is 1 or -1; of three, Fisher's z has no finite variance."""


def reliability_of_halves(r: Values) -> Values:
    """``spearman_brown`` for use in means and medians: a correlation of -1 is replaced by the next number above it.

    The correction of -1 is undefined. Omitting it would bias the mean or the median of the other values upwards.

    Example:
        >>> import jax.numpy as jnp
        >>> print(jnp.median(reliability_of_halves(jnp.array([-1.0, 0.0, 0.5]))))
        0.0
    """
    return spearman_brown(jnp.maximum(r, float(jnp.finfo(r.dtype).eps) - 1.0))


def spearman_brown_bias(r: Values, n: int | float | Num[Array, "..."], *, factor: float = 2.0) -> Values:
    r"""Bias of ``spearman_brown`` of a correlation over ``n`` stimuli, to first order in 1/n.

    With :math:`f(r) = k r / (1 + (k - 1) r)`, and for a correlation of normal responses
    :math:`\operatorname{var} \hat r \approx (1 - r^2)^2 / (n - 1)` and
    :math:`\operatorname{bias} \hat r \approx -r (1 - r^2) / (2 n)`, the bias is

    .. math:: \tfrac12 f''(r) \operatorname{var} \hat r + f'(r) \operatorname{bias} \hat r

    It is negative for positive r: the corrected reliability is too low, most of all where halves agree little.

    Args:
        r: the correlation of the halves in the limit of many stimuli.
        n: number of stimuli of each correlation.
        factor: as for ``spearman_brown``.

    Returns:
        The shape of ``r``; NaN where ``spearman_brown`` is NaN, and for fewer than two stimuli.

    Source: Hotelling 1953 on the moments of a correlation; the delta method.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{spearman_brown_bias(jnp.array(0.2), 30):.4f}")
        -0.0412
    """
    count = jnp.broadcast_to(jnp.asarray(n, r.dtype), r.shape)
    stretch = 1.0 + (factor - 1.0) * r
    undefined = (stretch <= 0) | (count < 2)
    stretch, count = jnp.where(undefined, 1.0, stretch), jnp.where(undefined, 2.0, count)
    slope, bend = factor / stretch**2, -2.0 * factor * (factor - 1.0) / stretch**3
    spread, shift = (1.0 - r**2) ** 2 / (count - 1.0), -r * (1.0 - r**2) / (2.0 * count)
    return jnp.where(undefined, jnp.nan, 0.5 * bend * spread + slope * shift)


def half_means(
    trials: Trials, present: Present, first: Bool[Array, "r n"]
) -> tuple[Float[Array, "n u"], Float[Array, "n u"]]:
    """Means over the two halves of the repetitions; NaN for a stimulus and unit without a trial in a half.

    Args:
        trials: single trials ``(repetitions, stimuli, units)``; values that are not present are ignored.
        present: True where a trial exists.
        first: True where a repetition of a stimulus belongs to the first half, False for the second.
    """
    one, two = (masked_mean(trials, present & half[:, :, None], 0)[0][0] for half in (first, ~first))
    return one, two


def pearson_of_halves(a: Float[Array, "n u"], b: Float[Array, "n u"]) -> Float[Array, " u"]:
    """Pearson correlation of two halves per unit, over the stimuli in both halves; NaN if these are too few."""
    mask = jnp.isfinite(a) & jnp.isfinite(b)
    return jnp.where(jnp.sum(mask, axis=0) < FEWEST_STIMULI, jnp.nan, pearson(a, b, axis=0, where=mask))


@at_full_precision
def split_half_consistency(
    trials: Trials,
    present: Present,
    first: Splits,
    *,
    compare: Callable[[Float[Array, "n u"], Float[Array, "n u"]], Float[Array, "..."]] = pearson_of_halves,
) -> Float[Array, "splits ..."]:
    """Internal consistency: the similarity of two halves of the repetitions, with the Spearman-Brown correction.

    Computes ``spearman_brown(compare(mean of first half, mean of second half))`` for every split. On a CPU, only one
    split is in memory at a time.

    Args:
        trials: single trials ``(repetitions, stimuli, units)``; values that are not present are ignored.
        present: True where a trial exists. Stimuli may have different numbers of trials, or none.
        first: repetitions of each stimulus in the first half of each split; the others form the second half.
        compare: how two halves are compared; Pearson correlation per unit, or a representational similarity.

    Returns:
        ``(splits, units)``, or ``(splits,)`` where ``compare`` returns one number. NaN where the comparison is
        undefined: for a constant unit, or one with fewer than ``FEWEST_STIMULI`` stimuli. See
        ``reliability_of_halves`` for halves that correlate by -1.

    Source: Spearman 1910; Brown 1910.

    Example:
        >>> import jax.numpy as jnp
        >>> trials = jnp.stack([jnp.arange(5.0)[:, None]] * 4)
        >>> first = jnp.array([True, True, False, False])[None, :, None] & jnp.ones((1, 4, 5), bool)
        >>> print(split_half_consistency(trials, jnp.ones_like(trials, bool), first))
        [[1.]]
    """

    return batched_map(lambda half: reliability_of_halves(compare(*half_means(trials, present, half))), first)


@at_full_precision
def split_half_bootstraps(
    trials: Trials, present: Present, first: Splits, counts: Counts
) -> Float[Array, "draws splits u"]:
    """``split_half_consistency`` of every draw of the stimuli. On a CPU, only one split is in memory at a time.

    A split divides the repetitions of a stimulus in the same way in all draws, and in all copies of the stimulus.

    Args:
        trials, present, first: as in ``split_half_consistency``.
        counts: how often each draw contains each stimulus.

    Returns:
        Reliability ``(draws, splits, units)``; NaN where it is undefined, as in draws with too few different stimuli.

    Example:
        >>> trials = jnp.stack([jnp.arange(5.0)[:, None]] * 4)
        >>> first = jnp.array([True, True, False, False])[None, :, None] & jnp.ones((1, 4, 5), bool)
        >>> counts = jnp.array([[1, 1, 1, 1, 1], [1, 2, 0, 1, 1], [0, 2, 3, 0, 0]])
        >>> print(split_half_bootstraps(trials, jnp.ones_like(trials, bool), first, counts).ravel())
        [ 1.  1. nan]
    """

    def compare(a: Float[Array, "n u"], b: Float[Array, "n u"]) -> Float[Array, "draws u"]:
        mask = jnp.isfinite(a) & jnp.isfinite(b)
        few = (counts > 0).astype(a.dtype) @ mask.astype(a.dtype) < FEWEST_STIMULI
        return jnp.where(few, jnp.nan, weighted_pearson(a, b, counts.astype(a.dtype), where=mask))

    return jnp.swapaxes(split_half_consistency(trials, present, first, compare=compare), 0, 1)


@at_full_precision
def split_half_similarity_bootstraps(
    trials: Trials,
    present: Present,
    first: Splits,
    counts: Counts,
    units: Int[Array, "draws m"] | None = None,
    *,
    bootstraps: Callable[..., Float[Array, " _"]],
) -> Float[Array, "draws splits"]:
    """``split_half_bootstraps`` for similarities of whole responses, over the stimuli in both halves.

    Args:
        trials, present, first, counts: as in :func:`split_half_bootstraps`.
        units: indices of the units in each draw; all units if None. -1 pads a short draw with a unit of zeros.
        bootstraps: similarity of two sets of responses in every draw, e.g. ``cka_bootstraps``.

    Returns:
        Reliability ``(draws, splits)``; NaN where it is undefined.
    """

    def compare(a: Float[Array, "n u"], b: Float[Array, "n u"]) -> PerDraw:
        mask = jnp.all(jnp.isfinite(a) & jnp.isfinite(b), axis=1)
        a, b = (jnp.where(mask[:, None], side, 0.0) for side in (a, b))
        held = jnp.where(mask[None], counts, 0)
        few = jnp.sum(held > 0, axis=1) < FEWEST_STIMULI
        if units is None:
            return jnp.where(few, jnp.nan, bootstraps(a, b, held))

        def of_draw(draw: tuple[Int[Array, " n"], Int[Array, " m"]]) -> Scalar:
            return bootstraps(*(jnp.where(draw[1][None] < 0, 0.0, side[:, draw[1]]) for side in (a, b)), draw[0][None])[
                0
            ]

        return jnp.where(few, jnp.nan, batched_map(of_draw, (held, units)))

    return jnp.swapaxes(split_half_consistency(trials, present, first, compare=compare), 0, 1)


@at_full_precision
def complete_split_half_consistency(trials: Trials, first: Bool[Array, "splits r"]) -> Float[Array, "splits u"]:
    r"""``split_half_consistency`` of complete data, where a half has the same repetitions of all stimuli.

    The mean of a half is a weighted sum of repetitions. The correlation of two halves with weights :math:`v` and
    :math:`w` therefore follows from the covariance :math:`C` of a unit's repetitions, computed once for all splits:

    .. math:: r = \frac{v^T C w}{\sqrt{v^T C v \; w^T C w}}

    Args:
        trials: ``(repetitions, stimuli, units)``, without NaN.
        first: repetitions of the first half in each split; the others form the second half.

    Returns:
        ``(splits, units)``; NaN for a constant unit, where a half has no repetition, and for fewer than
        ``FEWEST_STIMULI`` stimuli.

    Source: Spearman 1910; Brown 1910.

    Example:
        >>> import jax.numpy as jnp
        >>> trials = jnp.stack([jnp.arange(5.0)[:, None]] * 4)
        >>> print(complete_split_half_consistency(trials, jnp.array([[True, True, False, False]])).round(3))
        [[1.]]
    """
    n = jnp.asarray(trials.shape[1], trials.dtype)
    centred, _, mean, *_ = deviations(trials, None, axis=1)
    # The barrier makes one transposed array; without it, each side of the product gets its own.
    centred = jax.lax.optimization_barrier(jnp.transpose(centred, (2, 1, 0)))
    covariance = jnp.swapaxes(centred, 1, 2) @ centred / n
    halves = jnp.stack([first, ~first]).astype(trials.dtype)
    sizes = jnp.sum(halves, axis=2, keepdims=True)
    halves = halves / jnp.where(sizes == 0, jnp.ones_like(sizes), sizes)
    weighted = jnp.einsum("hsr,urq->hsuq", halves, covariance)
    cross = jnp.einsum("suq,sq->su", weighted[0], halves[1])
    variances = jnp.einsum("hsuq,hsq->hsu", weighted, halves)
    means = jnp.einsum("hsr,ru->hsu", halves, mean[:, 0])
    constant = is_constant(n * variances, means, jnp.full_like(means, n)) | (sizes == 0)
    undefined = constant[0] | constant[1] | (n < FEWEST_STIMULI)
    scale = inverse_root(variances, jnp.broadcast_to(~undefined, variances.shape))
    return reliability_of_halves(jnp.where(undefined, jnp.nan, jnp.minimum(cross * scale[0] * scale[1], 1.0)))
