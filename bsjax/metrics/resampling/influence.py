"""Influences of elements on a statistic: the infinitesimal jackknife, and jackknife standard errors."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from bsjax.engine.batches import batched_map
from bsjax.engine.precision import at_full_precision
from bsjax.metrics.arrays import Counts, Features, PerDraw, PerStimulus, Scalar, Targets
from bsjax.metrics.numerics import nonzero, safe_sqrt
from bsjax.metrics.resampling.draws import groups_of_strata, label_codes

Statistic = Callable[[Float[Array, "draws n"]], Float[Array, "draws ..."]]


def influence(
    statistic: Statistic, weights: Float[Array, "draws n"], *, strata: Int[Array, " n"] | None = None
) -> Float[Array, "draws n *rest"]:
    r"""Influence of each element on a statistic: the centred derivative with respect to the element's weight.

    .. math:: U_i = \frac{\partial T}{\partial w_i} - \frac{\sum_j w_j\, \partial T / \partial w_j}{\sum_j w_j}

    Each element of the original sample has the weight 1. In a bootstrap draw, weights are counts, with covariance
    :math:`\delta_{ij} - 1/n`. To first order, the variance of :math:`T` over bootstrap draws is therefore
    :math:`\sum_i U_i^2`. Bootstrap draws of ``n`` elements vary less than samples of ``n`` from a population: for a
    mean, the unbiased variance is :math:`n / (n - 1)` times this sum. Within a draw, where elements count as often as
    drawn, the variance is :math:`\sum_i w_i U_i^2` (:func:`influence_error`).

    A draw depends only on its own weights, so a single gradient, of the sum over draws, serves all draws.

    Args:
        statistic: function of weights ``(draws, n)`` that returns a value or an array of values per draw, such as
            ``lambda w: cka_bootstraps(x, y, w)``. To weight groups of elements, use ``w[:, group]`` in it.
        weights: weights at which to differentiate: ones of shape ``(1, n)``, or the counts of draws as floats.
        strata: stratum of each element, if elements are drawn within strata; influences are then centred within strata.

    Returns:
        ``(draws, n, ...)`` in the dtype of ``weights``; NaN where the statistic is NaN.

    Source: Jaeckel 1972; Efron 1982, "The Jackknife, the Bootstrap and Other Resampling Plans".

    Example:
        >>> x = jnp.array([1.0, 2.0, 6.0, 7.0])
        >>> print(influence(lambda w: w @ x / 4.0, jnp.ones((1, 4))))
        [[-0.75 -0.5   0.5   0.75]]
    """
    values, pullback = jax.vjp(statistic, weights)
    rest = values.shape[1:]
    # One gradient for each value of the statistic.
    ones = jnp.eye(values[0].size, dtype=values.dtype).reshape(-1, *rest)
    gradients = batched_map(lambda one: pullback(jnp.broadcast_to(one[None], values.shape))[0], ones)
    weighted = weights[None] * gradients
    if strata is None:
        totals, sizes = (jnp.sum(each, axis=-1, keepdims=True) for each in (weighted, weights[None]))
    else:
        together = (strata[:, None] == strata[None, :]).astype(weights.dtype)
        totals, sizes = weighted @ together, (weights @ together)[None]
    centred = jnp.where(sizes == 0, 0.0, gradients - totals / nonzero(sizes))
    centred = jnp.moveaxis(centred, 0, -1).reshape(*weights.shape, *rest)
    return jnp.where(jnp.isnan(values)[:, None], jnp.nan, centred)


def influence_error(
    influences: Float[Array, "draws n *rest"], weights: Float[Array, "draws n"]
) -> Float[Array, "draws ..."]:
    r"""Standard error of a statistic within each draw, :math:`\sqrt{\sum_i w_i U_i^2}`, for studentised intervals.

    Args:
        influences: result of :func:`influence` at the same weights.
        weights: the counts of the draws, as floats.

    Returns:
        ``(draws, ...)``; 0, with a zero gradient, where all influences are zero.

    Source: Jaeckel 1972 (the infinitesimal jackknife).

    Example:
        >>> x, w = jnp.array([1.0, 2.0, 6.0]), jnp.array([[1.0, 1.0, 1.0], [3.0, 0.0, 0.0]])
        >>> print(*(f"{error:.2f}" for error in influence_error(influence(lambda w: w @ x / 3.0, w), w)))
        1.25 0.00
    """
    expanded = weights.reshape(*weights.shape, *(1,) * (influences.ndim - 2))
    return safe_sqrt(jnp.sum(expanded * influences**2, axis=1))


@at_full_precision
def similarity_in_draws(
    x: Features, y: Targets, counts: Counts, *, statistic: Callable[..., Callable[..., Array]]
) -> tuple[Scalar, PerDraw, PerStimulus]:
    """Similarity over all stimuli and in every draw, and the influence of each stimulus, from the same RDMs.

    Args:
        x, y: responses ``(stimuli, units)`` to the same stimuli in the same order.
        counts: how often each draw contains each stimulus.
        statistic: ``statistic(x, y)`` returns a function of the weights of the stimuli, e.g. ``rdm_statistic``.
    """
    of_weights, whole = statistic(x, y), jnp.ones((1, x.shape[0]), x.dtype)
    return of_weights(whole)[0], of_weights(counts), influence(of_weights, whole)[0]


@at_full_precision
def studentised_similarity_bootstraps(
    x: Features, y: Targets, counts: Counts, *, bootstraps: Callable[..., PerDraw]
) -> tuple[PerDraw, PerDraw]:
    """Similarity of every draw of the stimuli, with its standard error within the draw.

    Args:
        x, y: as in ``similarity_in_draws``.
        bootstraps: similarity as a function of responses and weights of the stimuli, e.g. ``cka_bootstraps``.
        counts: how often each draw contains each stimulus.

    Returns:
        Similarities ``(draws,)`` and standard errors ``(draws,)``.
    """
    weights = counts.astype(x.dtype)

    def statistic(weights: Float[Array, "draws n"]) -> PerDraw:
        return bootstraps(x, y, weights)

    return statistic(weights), influence_error(influence(statistic, weights), weights)


def grouped_influence(
    influence: Float[np.ndarray, "n ..."], *, groups: Any | None = None, strata: Any | None = None
) -> tuple[Float[np.ndarray, "groups ..."], int]:
    r"""Influences of groups, scaled so that their squares sum to the variance, and the degrees of freedom.

    The influence of a group is the sum over its elements. Within a stratum, whose size is the same in all draws, only
    deviations from the mean of the stratum contribute; the factor :math:`\frac{n}{n - 1}` on the squares makes the
    variance unbiased.

    Args:
        influence: influence of each element, from :func:`influence`.
        groups: a label per element. Elements with the same label are drawn together; None for single elements.
        strata: a label per element. Elements are drawn separately within each label.

    Returns:
        The influences, in the order of sorted group labels (single elements keep their order), and the degrees of
        freedom: the number of groups minus one, summed over strata. All NaN if no stratum has two groups; a stratum
        with one group contributes nothing.

    Raises:
        ValueError: as for :func:`bsjax.metrics.resampling.draws.bootstrap_counts`.

    Source: Davison & Hinkley 1997, "Bootstrap Methods and their Application" (groups, strata).

    Example:
        >>> found, dof = grouped_influence(np.array([-3.0, -1.0, 2.0, 2.0]), groups=["a", "a", "b", "c"])
        >>> found.round(2), dof, grouped_influence(np.array([-3.0, -1.0, 2.0, 2.0]), strata=[0, 0, 1, 1])[0].round(2)
        (array([-4.9 ,  2.45,  2.45]), 2, array([-1.41,  1.41,  0.  ,  0.  ]))
    """
    values = np.asarray(influence, float)
    group = label_codes(groups, len(values), "groups")
    found = np.zeros((group.max() + 1, *values.shape[1:]))
    np.add.at(found, group, values)
    dof = 0
    for those in groups_of_strata(group, label_codes(strata, len(values), "strata")):
        n = len(those)
        dof += n - 1
        found[those] = np.sqrt(n / max(n - 1, 1)) * (found[those] - found[those].mean(axis=0))
    return (found if dof else np.full_like(found, np.nan)), dof


def effective_number(influence: Float[np.ndarray, "n ..."]) -> Float[np.ndarray, "..."] | float:
    r"""Effective number of elements (the first axis) with an influence: :math:`(\sum_i U_i^2)^2 / \sum_i U_i^4`.

    Example:
        >>> effective_number(np.array([[2.0, 9.0], [-2.0, 0.0], [2.0, 0.0], [-2.0, 0.0]]))
        array([4., 1.])
    """
    squares = np.asarray(influence, float) ** 2
    return np.sum(squares, axis=0) ** 2 / np.maximum(np.sum(squares**2, axis=0), np.finfo(float).tiny)


def left_out_influence(without: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    r"""Jackknife influences, from the values of a statistic without each element.

    They include the second-order terms that derivatives lack. The jackknife variance is not too small on average. The
    variance from derivatives is too small for U-statistics of few elements, or where few elements carry most of the
    variance.

    Example:
        >>> found = left_out_influence(np.array([4.0, 3.0, 2.0]))  # means of two of 1, 3 and 5, of variance 4
        >>> round(float(np.sum(grouped_influence(found)[0] ** 2)), 4)
        1.3333

    Source: Efron & Stein 1981, "The jackknife estimate of variance".
    """
    values = np.asarray(without, float)
    return (len(values) - 1) / len(values) * (values.mean() - values)
