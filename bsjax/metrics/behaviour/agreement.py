"""Trial-by-trial agreement of observers: accuracies, and correct and wrong answers on the same trials.

Arrays are ``(conditions, observers, trials)`` with any leading axes. A trial is right (1) or wrong (0), or has a
probability of being right. A mask marks the trials that an observer has answered; each pair of observers is compared
on the trials that both have answered. Matrix products over the trials compare all pairs at once. Trials may be
weighted, for example by how often a bootstrap draw contains their stimulus.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from bsjax.engine.precision import at_full_precision
from bsjax.metrics.numerics import divide_or_nan, masked_mean


class Agreement(NamedTuple):
    """Agreement of every pair of a source and a target observer: ``(..., sources, targets)``.

    All values are NaN for a pair without a common trial.

    Attributes:
        source_accuracy, target_accuracy: share of the common trials that each observer answers right.
        observed_consistency: share of the common trials on which both are right or both are wrong.
        error_consistency: Cohen's kappa, the observed consistency beyond that of independent observers of the same
            accuracies; also NaN where independent observers would agree on every trial.
        accuracy_distance: similarity of the accuracy of the source to that of the target.
        squared_difference: squared difference of the two accuracies.
    """

    source_accuracy: Float[Array, "*batch s t"]
    target_accuracy: Float[Array, "*batch s t"]
    observed_consistency: Float[Array, "*batch s t"]
    error_consistency: Float[Array, "*batch s t"]
    accuracy_distance: Float[Array, "*batch s t"]
    squared_difference: Float[Array, "*batch s t"]


@at_full_precision
def agreement(
    source: Float[Array, "*batch s n"],
    target: Float[Array, "*batch t n"],
    source_present: Bool[Array, "*batch s n"],
    target_present: Bool[Array, "*batch t n"],
    weights: Float[Array, "*batch n"] | None = None,
) -> Agreement:
    """Compares every observer of one group with every observer of another, trial by trial.

    Args:
        source, target: 1 where an observer is right and 0 where wrong, or the probability of being right. Values of
            trials that are not present are ignored.
        source_present, target_present: True where an observer has answered a trial.
        weights: non-negative weight of each trial; 1 if None. A whole number k is equivalent to k copies of the trial.

    Example:
        >>> import jax.numpy as jnp
        >>> right, mask = jnp.array([[1.0, 1.0, 0.0, 0.0]]), jnp.ones((1, 4), bool)
        >>> print(agreement(right, right, mask, mask).observed_consistency)
        [[1.]]
    """
    a, b = (
        jnp.where(mask, right, jnp.zeros_like(right))
        for right, mask in ((source, source_present), (target, target_present))
    )
    shown_a, shown_b = source_present.astype(source.dtype), target_present.astype(target.dtype)
    if weights is not None:  # one side suffices: every sum below is over products of both sides
        a, shown_a = a * weights[..., None, :], shown_a * weights[..., None, :]
    n = _over_trials(shown_a, shown_b)
    none = n == 0
    # Sums of zeros, ones and whole weights are exact: comparing with zero below finds observers who are always right.
    count = jnp.where(none, jnp.ones_like(n), n)
    p, q = _over_trials(a, shown_b) / count, _over_trials(shown_a, b) / count
    both_right = _over_trials(a, b) / count
    observed = 1.0 - p - q + 2.0 * both_right
    by_chance = p * (1.0 - q) + q * (1.0 - p)  # how often independent observers would disagree
    kappa = divide_or_nan(observed - 1.0 + by_chance, by_chance, none | (by_chance == 0))
    distance = 1.0 - jnp.abs(p - q) / jnp.maximum(q, 1.0 - q)
    each = (p, q, observed, kappa, distance, (p - q) ** 2)
    return Agreement(*(jnp.where(none, jnp.nan, value) for value in each))


@at_full_precision
def error_consistency(
    source: Float[Array, "*batch s n"],
    target: Float[Array, "*batch t n"],
    source_present: Bool[Array, "*batch s n"],
    target_present: Bool[Array, "*batch t n"],
    weights: Float[Array, "*batch n"] | None = None,
) -> Float[Array, "*batch s t"]:
    r"""Error consistency: Cohen's kappa of correct and wrong answers, for every pair of a source and a target.

    .. math:: \kappa = \frac{o - e}{1 - e}, \qquad e = p q + (1 - p)(1 - q)

    where ``o`` is the share of trials on which both are right or both wrong, and ``p`` and ``q`` are the accuracies.

    Args:
        source, target, source_present, target_present, weights: as in ``agreement``.

    Returns:
        In [-1, 1]: 1 for the same errors, 0 for independent ones. NaN for two observers who are both always right or
        both always wrong, and for a pair without a common trial.

    Source: Cohen 1960; Geirhos, Meding & Wichmann 2020.

    Example:
        >>> import jax.numpy as jnp
        >>> right, mask = jnp.array([[1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 1.0, 0.0]]), jnp.ones((2, 4), bool)
        >>> print(error_consistency(right, right, mask, mask))
        [[1. 0.]
         [0. 1.]]
    """
    return agreement(source, target, source_present, target_present, weights).error_consistency


@at_full_precision
def accuracy_distance(
    source: Float[Array, "*batch s n"],
    target: Float[Array, "*batch t n"],
    source_present: Bool[Array, "*batch s n"],
    target_present: Bool[Array, "*batch t n"],
    weights: Float[Array, "*batch n"] | None = None,
) -> Float[Array, "*batch s t"]:
    r"""Similarity of the accuracy ``p`` of a source to the accuracy ``q`` of a target, for every pair.

    .. math:: 1 - \frac{|p - q|}{\max(q, 1 - q)}

    Args:
        source, target, source_present, target_present, weights: as in ``agreement``.

    Returns:
        In [0, 1]: 1 for equal accuracies, 0 for the accuracy farthest from the target's. NaN without a common trial.

    Source: Brain-Score's ``accuracy_distance`` (Schrimpf et al. 2020).

    Example:
        >>> import jax.numpy as jnp
        >>> a, b, mask = jnp.array([[1.0, 1.0, 0.0, 0.0]]), jnp.array([[1.0, 1.0, 1.0, 1.0]]), jnp.ones((1, 4), bool)
        >>> print(accuracy_distance(a, b, mask, mask))
        [[0.5]]
    """
    return agreement(source, target, source_present, target_present, weights).accuracy_distance


@at_full_precision
def accuracy(
    right: Float[Array, "*batch n"], present: Bool[Array, "*batch n"], weights: Float[Array, "*batch n"] | None = None
) -> Float[Array, "*batch"]:
    """Share of the trials that are answered right; NaN without a trial.

    Args:
        right: 1 where a trial is right and 0 where wrong, or the probability of being right.
        present: True where a trial counts.
        weights: non-negative weight of each trial; 1 if None.

    Example:
        >>> import jax.numpy as jnp
        >>> print(accuracy(jnp.array([1.0, 0.0, 0.0, 1.0]), jnp.array([True, True, True, False])).round(3))
        0.333
    """
    return jnp.squeeze(masked_mean(right, present, -1, weights)[0], axis=-1)


@at_full_precision
def value_delta(
    source: Float[Array, "*shape"], target: Float[Array, "*shape"], *, scale: float = 1.0
) -> Float[Array, "*shape"]:
    r"""Similarity of two numbers, :math:`e^{-s |a - b|}`: 1 where they are equal, falling to 0; NaN where one is NaN.

    Args:
        source, target: numbers, in the same units.
        scale: rate :math:`s` of the decay, per unit; not negative.

    Returns:
        The shape of the inputs, in their dtype.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{value_delta(jnp.array(1.0), jnp.array(1.5)):.4f}")
        0.6065
    """
    difference = source - target
    undefined = jnp.isnan(difference)
    nearness = jnp.exp(-scale * jnp.abs(jnp.where(undefined, jnp.zeros_like(difference), difference)))
    return jnp.where(undefined, jnp.full_like(nearness, jnp.nan), nearness)


def _over_trials(a: Float[Array, "*batch s n"], b: Float[Array, "*batch t n"]) -> Float[Array, "*batch s t"]:
    return jnp.einsum("...sn,...tn->...st", a, b)
