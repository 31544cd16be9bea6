"""Influences of elements on a statistic, by its derivatives: the infinitesimal jackknife."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from bsjax.engine.batches import batched_map
from bsjax.engine.precision import at_full_precision
from bsjax.metrics.numerics import nonzero, safe_sqrt
from bsjax.metrics.resampling.draws import groups_of_strata, label_codes

Statistic = Callable[[Float[Array, "draws n"]], Float[Array, "draws ..."]]


def influence(
    statistic: Statistic, weights: Float[Array, "draws n"], *, strata: Int[Array, " n"] | None = None
) -> Float[Array, "draws n *rest"]:
    r"""How much each element adds to a statistic: its derivative in the element's weight, centred.

    .. math:: U_i = \frac{\partial T}{\partial w_i} - \frac{\sum_j w_j\, \partial T / \partial w_j}{\sum_j w_j}

    A weight counts an element: as it is, each has 1, and a bootstrap draw has its counts, whose covariance is
    :math:`\delta_{ij} - 1/n`. So the variance of :math:`T` over bootstrap draws is :math:`\sum_i U_i^2` to first order,
    with no other factor. Draws of ``n`` elements vary less than samples of ``n`` from a population: for a mean,
    :math:`n / (n - 1)` times that is without bias. Within a draw an element counts as often as it is drawn, so that
    there :math:`\sum_i w_i U_i^2` is the variance (:func:`influence_error`).

    All draws take one gradient, that of the sum over draws, as a draw depends on its own weights alone.

    Args:
        statistic: a function of weights ``(draws, n)``, for each draw one value or an array of them, such as
            ``lambda w: cka_bootstraps(x, y, w)``. To weigh groups of elements, ``w[:, group]`` in it.
        weights: where the derivatives are taken: ones of shape ``(1, n)``, or the counts of draws as floats.
        strata: the stratum of each element, if elements are drawn within strata: centred within each of them.

    Returns:
        ``(draws, n, ...)`` in the dtype of ``weights``; NaN where the statistic is.

    Source: Jaeckel 1972; Efron 1982, "The Jackknife, the Bootstrap and Other Resampling Plans".

    Example:
        >>> x = jnp.array([1.0, 2.0, 6.0, 7.0])
        >>> print(influence(lambda w: w @ x / 4.0, jnp.ones((1, 4))))
        [[-0.75 -0.5   0.5   0.75]]
    """
    values, pullback = jax.vjp(statistic, weights)
    rest = values.shape[1:]
    # One gradient for each value of a draw.
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
    r"""The standard error of a statistic within each draw, :math:`\sqrt{\sum_i w_i U_i^2}`, to studentise it by.

    Args:
        influences: of :func:`influence`, at the same weights.
        weights: the counts of the draws, as floats.

    Returns:
        ``(draws, ...)``; 0, with a gradient of 0, where no element has an influence.

    Example:
        >>> x, w = jnp.array([1.0, 2.0, 6.0]), jnp.array([[1.0, 1.0, 1.0], [3.0, 0.0, 0.0]])
        >>> print(*(f"{error:.2f}" for error in influence_error(influence(lambda w: w @ x / 3.0, w), w)))
        1.25 0.00
    """
    expanded = weights.reshape(*weights.shape, *(1,) * (influences.ndim - 2))
    return safe_sqrt(jnp.sum(expanded * influences**2, axis=1))


@at_full_precision
def similarity_in_draws(
    x: Float[Array, "n p"],
    y: Float[Array, "n q"],
    counts: Int[Array, "draws n"],
    *,
    statistic: Callable[..., Callable[..., Array]],
) -> tuple[Float[Array, ""], Float[Array, " draws"], Float[Array, " n"]]:
    """A similarity of all stimuli, that of every draw of them, and what each of them adds, all of the same RDMs.

    Args:
        x, y: responses ``(stimuli, units)`` to the same stimuli in the same order.
        counts: how often each draw holds each stimulus.
        statistic: ``statistic(x, y)`` is a function of weights of the stimuli, e.g. ``rdm_statistic``.
    """
    of_weights, whole = statistic(x, y), jnp.ones((1, x.shape[0]), x.dtype)
    return of_weights(whole)[0], of_weights(counts), influence(of_weights, whole)[0]


@at_full_precision
def studentised_similarity_bootstraps(
    x: Float[Array, "n p"],
    y: Float[Array, "n q"],
    counts: Int[Array, "draws n"],
    *,
    bootstraps: Callable[..., Float[Array, " draws"]],
) -> tuple[Float[Array, " draws"], Float[Array, " draws"]]:
    """A similarity of every draw of the stimuli, and its standard error within each.

    Args:
        x, y: as of ``similarity_in_draws``.
        bootstraps: of responses and weights of the stimuli, e.g. ``cka_bootstraps``.
        counts: how often each draw holds each stimulus.

    Returns:
        Two of ``(draws,)``.
    """
    weights = counts.astype(x.dtype)

    def statistic(weights: Float[Array, "draws n"]) -> Float[Array, " draws"]:
        return bootstraps(x, y, weights)

    return statistic(weights), influence_error(influence(statistic, weights), weights)


def grouped_influence(
    influence: Float[np.ndarray, "n ..."], *, groups: Any | None = None, strata: Any | None = None
) -> tuple[Float[np.ndarray, "groups ..."], int]:
    r"""Influences of what is drawn anew, so that their squares sum to the variance, and its degrees of freedom.

    A group that is drawn as a whole adds what its elements add together. Within a stratum, of which as many are drawn
    as there are, only the difference from the mean of the stratum varies; :math:`\frac{n}{n - 1}` of the squares is its
    variance without bias.

    Args:
        influence: of each element, as of :func:`influence`.
        groups: a label for each element: elements of a label are drawn together. None draws single elements.
        strata: a label for each element: as many are drawn of each label as there are.

    Returns:
        The influences, by sorted label of the groups (single elements stay in their order), and the number of groups
        less one for each stratum. NaN where no stratum has two groups; a stratum of one group adds nothing.

    Raises:
        ValueError: as of :func:`bsjax.metrics.resampling.draws.bootstrap_counts`.

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


def effective_number(influence: Float[np.ndarray, " n"]) -> float:
    r"""How many equally large influences would vary as much: :math:`(\sum_i U_i^2)^2 / \sum_i U_i^4`.

    Example:
        >>> effective_number(np.array([2.0, -2.0, 2.0, -2.0])), effective_number(np.array([9.0, 0.0, 0.0]))
        (4.0, 1.0)
    """
    squares = np.asarray(influence, float) ** 2
    return float(np.sum(squares)) ** 2 / max(float(np.sum(squares**2)), float(np.finfo(float).tiny))


def left_out_influence(without: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    r"""Influences of elements from the values of a statistic without each of them: the jackknife.

    It has the second order that derivatives lack. Its variance is on average not too small, where that of derivatives
    is for U-statistics of few elements, or of elements few of which carry most of the variance.

    Example:
        >>> found = left_out_influence(np.array([4.0, 3.0, 2.0]))  # means of two of 1, 3 and 5, of variance 4
        >>> round(float(np.sum(grouped_influence(found)[0] ** 2)), 4)
        1.3333

    Source: Efron & Stein 1981, "The jackknife estimate of variance".
    """
    values = np.asarray(without, float)
    return (len(values) - 1) / len(values) * (values.mean() - values)
