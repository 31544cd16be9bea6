"""Bootstraps of accuracy, agreement and choice signatures, over stimuli and subjects."""

from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Real

from bsjax.engine.batches import batched_map
from bsjax.engine.precision import at_full_precision
from bsjax.metrics.arrays import Mask, PerDraw, PerStimulus, Scalar, Values
from bsjax.metrics.behaviour.agreement import accuracy
from bsjax.metrics.behaviour.choice_signatures import (
    Rates,
    Signature,
    consistency_of_rates,
    rates_of_probabilities,
    rates_of_trials,
)
from bsjax.metrics.numerics import masked_mean

Counts = Real[Array, "draws _"]
"""How often each draw contains each stimulus, or each subject."""


@at_full_precision
def accuracy_bootstraps(
    right: PerStimulus, present: Mask, counts: tuple[Counts, ...], codes: tuple[Int[Array, " n"], ...]
) -> PerDraw:
    """``accuracy`` of every draw of stimuli, subjects or both. On a CPU, only one draw is in memory at a time.

    Args:
        right, present: as in ``accuracy``.
        counts: for each resampled factor, such as stimuli and subjects, how often each draw contains each element. The
            weight of a trial is the product of its counts.
        codes: for each factor, the index of the element that each trial belongs to; -1 for none.

    Returns:
        ``(draws,)``; NaN for a draw without a trial that counts.

    Example:
        >>> right, mask = jnp.array([1.0, 0.0, 0.0]), jnp.ones(3, bool)
        >>> counts, codes = jnp.array([[1, 1], [2, 0]]), jnp.array([0, 0, 1])
        >>> print(accuracy_bootstraps(right, mask, (counts,), (codes,)).round(3))
        [0.333 0.5  ]
    """

    def of_draw(held: tuple[Real[Array, " _"], ...]) -> Scalar:
        weights = jnp.ones_like(right)
        for of_factor, code in zip(held, codes, strict=True):
            weights = weights * _weights(of_factor, code, right.dtype)
        return accuracy(right, present, weights)

    return batched_map(of_draw, counts)


@at_full_precision
def agreement_bootstraps(
    source: Float[Array, "c s n"],
    target: Float[Array, "c t n"],
    source_present: Bool[Array, "c s n"],
    target_present: Bool[Array, "c t n"],
    stimuli: Counts | None,
    shown: Int[Array, "c n"],
    subjects: Counts | None,
    who: Int[Array, " t"],
    *,
    compare: Callable[..., Float[Array, "c s t"]],
    pairs: bool = False,
) -> PerDraw:
    r"""Mean agreement in every draw of stimuli and subjects. On a CPU, only one draw is in memory at a time.

    The agreement of a pair of observers is the mean over the conditions in which it is defined. The agreement of a draw
    is the mean over targets, weighted by their counts. With ``pairs``, it is the mean over all pairs of different
    subjects, weighted by the products of their counts; copies of a subject are never paired with each other.

    Args:
        source, target, source_present, target_present: as in ``agreement``, with one axis of conditions.
        stimuli: how often each draw contains each stimulus; all once if None.
        shown: index of the stimulus of each trial, -1 for none.
        subjects: how often each draw contains each subject; all once if None.
        who: index of the subject of each target, -1 for none.
        compare: comparison of observers, e.g. ``error_consistency``.
        pairs: True if source and target are the same subjects, to be compared with each other; otherwise the source is
            a single model.

    Returns:
        ``(draws,)``; NaN for a draw in which no pair has a value.

    Example:
        >>> from bsjax.metrics import error_consistency
        >>> model, person = jnp.array([[[1.0, 1.0, 0.0, 0.0]]]), jnp.array([[[1.0, 1.0, 1.0, 0.0]]])
        >>> mask, shown, who = jnp.ones((1, 1, 4), bool), jnp.arange(4)[None], jnp.array([0])
        >>> counts = jnp.array([[1, 1, 1, 1], [2, 0, 0, 2]])
        >>> sides = model, person, mask, mask
        >>> print(agreement_bootstraps(*sides, counts, shown, None, who, compare=error_consistency).round(3))
        [0.5 1. ]
    """
    before = jnp.triu(jnp.ones((target.shape[1],) * 2, target.dtype), 1)

    def of_pairs(held: Real[Array, " _"] | None) -> Float[Array, "s t"]:
        weights = None if held is None else _weights(held, shown, source.dtype)
        each = compare(source, target, source_present, target_present, weights)
        return masked_mean(each, jnp.isfinite(each), 0)[0][0]

    # If only subjects are drawn, the agreements of pairs are the same in all draws.
    whole = of_pairs(None) if stimuli is None else None

    def of_draw(draw: tuple[Real[Array, " _"] | None, Real[Array, " _"] | None]) -> Scalar:
        held, subjects_held = draw
        each = of_pairs(held) if whole is None else whole
        weights = jnp.ones_like(target[0, :, 0])
        weights = weights if subjects_held is None else _weights(subjects_held, who, target.dtype)
        of_each_pair = weights[:, None] * weights[None] * before if pairs else weights[None]
        each = each if pairs else each[:1]  # rows after the model are padding
        return masked_mean(each.ravel(), jnp.isfinite(each.ravel()), 0, of_each_pair.ravel())[0][0]

    return batched_map(of_draw, (stimuli, subjects))


@at_full_precision
def signature_bootstraps(
    truth: Int[Array, " n"],
    trials: tuple[Int[Array, " t"], Int[Array, " t"], Int[Array, " t"], Int[Array, " t"]],
    halves: Float[Array, "sides halves t"],
    images: Counts | None,
    subjects: Counts | None,
    who: Int[Array, " t"] | None,
    probabilities: Float[Array, "n c"] | None = None,
    *,
    kind: Signature,
    n_objects: int,
    complete: bool = False,
) -> Float[Array, "draws halves"]:
    """``choice_consistency`` or ``choice_reliability`` of every draw of images and subjects.

    All draws use the same halves of the trials. On a CPU, only one draw is in memory at a time.

    Args:
        truth: the object of each image.
        trials: ``stimulus``, ``choice``, ``sample`` and ``distractor`` of ``rates_of_trials``.
        halves: weight of each trial in the half that a model is compared with, or in each of two halves.
        images: how often each draw contains each image, in the order of ``truth``; all once if None.
        subjects: how often each draw contains each subject; all once if None.
        who: index of the subject of each trial, if subjects are drawn; -1 for none.
        probabilities: choice probabilities of a model, see ``choice_consistency``. If None, the two halves are compared
            with each other.
        kind: which signature.
        n_objects: number of objects.
        complete: True to make a draw NaN if the second side defines a cell that the first does not.

    Returns:
        ``(draws, halves)``; NaN where a draw leaves too few cells to correlate.

    Example:
        >>> truth, probabilities = jnp.array([0, 0, 1]), jnp.array([[0.8, 0.2], [0.6, 0.4], [0.1, 0.9]])
        >>> image, chosen = jnp.array([0, 0, 0, 1, 1, 1, 2, 2, 2]), jnp.array([0, 0, 1, 0, 1, 1, 1, 1, 0])
        >>> trials = image, chosen, truth[image], 1 - truth[image]
        >>> halves, counts = jnp.ones((1, 1, 9)), jnp.array([[1, 1, 1], [2, 1, 1], [3, 0, 0]])
        >>> given = truth, trials, halves, counts, None, None, probabilities
        >>> draws = signature_bootstraps(*given, kind=Signature(), n_objects=2)
        >>> print(jnp.isfinite(draws[:, 0]))
        [ True  True False]
    """

    def of_sides(held: Real[Array, " _"] | None) -> list[Rates]:
        counted = halves if held is None or who is None else halves * _weights(held, who, halves.dtype)[None, None]
        return [rates_of_trials(truth, trials, side, n_objects=n_objects) for side in counted]

    def of_draw(draw: tuple[Real[Array, " _"] | None, Real[Array, " _"] | None]) -> Float[Array, " halves"]:
        held, subjects_held = draw
        sides = whole if subjects_held is None else of_sides(subjects_held)
        image_weights = None if held is None else held.astype(halves.dtype)
        found = consistency_of_rates(sides[0] if model is None else model, sides[-1], truth, image_weights, kind=kind)
        return jnp.where(jnp.any(found.lost > 0), jnp.nan, found.r) if complete else found.r

    model = None if probabilities is None else rates_of_probabilities(probabilities, truth)
    whole = of_sides(None) if subjects is None else []
    return batched_map(of_draw, (images, subjects))


def _weights(counts: Real[Array, " _"], codes: Int[Array, "*shape"], dtype: jnp.dtype) -> Values:
    """The count of the element with each code; 0 for the code -1."""
    found = counts.astype(dtype)[jnp.maximum(codes, 0)]
    return jnp.where(codes < 0, jnp.zeros_like(found), found)
