"""Patterns of choices shared by two groups of observers: confusions, task accuracies, and drops in accuracy."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from bsjax.engine.precision import at_full_precision
from bsjax.metrics.arrays import Mask, Scalar
from bsjax.metrics.behaviour.thresholds import relative_similarity
from bsjax.metrics.correlation import pearson, spearman_brown
from bsjax.metrics.numerics import divide_or_nan

FirstHalves = Bool[Array, "splits observers"]
PerSplit = Float[Array, " splits"]
Codes = Int[Array, " n"]
PerTrial = Float[Array, " n"]
PerObserver = Float[Array, " observers"]
Took = Bool[Array, " observers"]


def grouped_sums(
    values: PerTrial, group: Codes, present: Mask, *, groups: int
) -> tuple[Float[Array, " groups"], Float[Array, " groups"]]:
    """Sum and number of the values in each group.

    Args:
        values: one per trial.
        group: the group of each trial, from 0.
        present: True where a trial counts.
        groups: number of groups.
    """
    weight = present.astype(values.dtype)
    values = jnp.where(present, values, jnp.zeros_like(values))
    total, count = (jax.ops.segment_sum(v, group, num_segments=groups) for v in (values, weight))
    return total, count


def grouped_mean(values: PerTrial, group: Codes, present: Mask, *, groups: int) -> Float[Array, " groups"]:
    """Mean of the values in each group; NaN for an empty group.

    Args:
        values, group, present, groups: as in ``grouped_sums``.

    Example:
        >>> import jax.numpy as jnp
        >>> right, mask = jnp.array([1.0, 0.0, 1.0]), jnp.ones(3, bool)
        >>> print(grouped_mean(right, jnp.array([0, 0, 2]), mask, groups=3))
        [0.5 nan 1. ]
    """
    total, count = grouped_sums(values, group, present, groups=groups)
    return divide_or_nan(total, count, count == 0)


def confusion_counts(truth: Codes, choice: Codes, weight: PerTrial, *, choices: int) -> Float[Array, "k k"]:
    """Confusion matrix ``(truths, choices)``: how often each category was chosen for each true category.

    Args:
        truth, choice: codes from 0 of the category shown and the category chosen.
        weight: weight of each trial; 1 to count it, 0 to omit it.
        choices: number of categories.

    Example:
        >>> import jax.numpy as jnp
        >>> print(confusion_counts(jnp.array([0, 0, 1]), jnp.array([0, 1, 1]), jnp.ones(3), choices=2))
        [[1. 1.]
         [0. 1.]]
    """
    return jax.ops.segment_sum(weight, truth * choices + choice, num_segments=choices**2).reshape(choices, choices)


@at_full_precision
def confusion_similarity(
    source_truth: Codes,
    source_choice: Codes,
    source_weight: PerTrial,
    target_truth: Int[Array, " m"],
    target_choice: Int[Array, " m"],
    target_weight: Float[Array, " m"],
    *,
    choices: int,
) -> Scalar:
    """Pearson correlation of two groups' confusions: the off-diagonal counts of their confusion matrices.

    Args:
        source_truth, source_choice, source_weight: trials of one group, as in ``confusion_counts``.
        target_truth, target_choice, target_weight: trials of the other group; their number may differ.
        choices: number of categories.

    Returns:
        A scalar in [-1, 1]; NaN where a group makes every error equally often, for instance no error at all.

    Source: Maniquet, Op de Beeck & Costantino 2024.

    Example:
        >>> import jax.numpy as jnp
        >>> truth, choice, once = jnp.array([0, 1, 2, 2]), jnp.array([1, 0, 1, 1]), jnp.ones(4)
        >>> print(confusion_similarity(truth, choice, once, truth, choice, once, choices=3).round(3))
        1.0
    """
    source = confusion_counts(source_truth, source_choice, source_weight, choices=choices)
    target = confusion_counts(target_truth, target_choice, target_weight, choices=choices)
    return _pearson_of_errors(source.reshape(-1), target.reshape(-1), choices)


def confusion_halves_correlation(
    observer: Codes, truth: Codes, choice: Codes, weight: PerTrial, first: FirstHalves, *, choices: int
) -> PerSplit:
    """Pearson correlation of the pooled confusions of two halves of the observers, for every split.

    Args:
        observer: index of the observer of each trial, from 0.
        truth, choice, weight: as in ``confusion_counts``.
        first: observers of the first half in each split; the others form the second half.
        choices: number of categories.

    Returns:
        One correlation per split, of half the data; NaN where a half makes every error equally often.
    """
    cell = (observer * choices + truth) * choices + choice
    observers = first.shape[1]
    counts = jax.ops.segment_sum(weight, cell, num_segments=observers * choices**2).reshape(observers, choices**2)
    one, two = _of_halves(counts, first)
    return _pearson_of_errors(one, two, choices)


def correlation_of_tasks(
    source: tuple[Array, ...], target: tuple[Array, ...], source_task_of: Int[Array, " tasks"], *, source_tasks: int
) -> tuple[Scalar, Float[Array, "2 tasks"]]:
    """``tasks_consistency``, and the accuracies per task of the source and of the target."""
    ours = grouped_mean(*source, groups=source_tasks)[source_task_of]
    theirs = grouped_mean(*target, groups=source_task_of.shape[0])
    defined = jnp.isfinite(ours) & jnp.isfinite(theirs)
    return jnp.where(jnp.all(defined), pearson(ours, theirs, where=defined), jnp.nan), jnp.stack([ours, theirs])


@at_full_precision
def tasks_consistency(
    source_right: PerTrial,
    source_task: Codes,
    source_present: Mask,
    target_right: Float[Array, " m"],
    target_task: Int[Array, " m"],
    target_present: Bool[Array, " m"],
    source_task_of: Int[Array, " tasks"],
    *,
    source_tasks: int,
) -> Scalar:
    """Pearson correlation of two groups' accuracies over tasks.

    Args:
        source_right, source_task, source_present: trials of one group: right (1) or wrong (0), the task, and whether
            the trial counts.
        target_right, target_task, target_present: trials of the other group, which defines the tasks compared.
        source_task_of: for each task of the target, the matching task of the source; one may match several.
        source_tasks: number of tasks of the source.

    Returns:
        A scalar in [-1, 1]; NaN where a task has no trial, or a group is equally accurate in all tasks.

    Source: Maniquet, Op de Beeck & Costantino 2024.

    Example:
        >>> import jax.numpy as jnp
        >>> right, task, mask = jnp.array([1.0, 1.0, 1.0, 0.0]), jnp.array([0, 0, 1, 1]), jnp.ones(4, bool)
        >>> print(tasks_consistency(right, task, mask, right, task, mask, jnp.arange(2), source_tasks=2).round(3))
        1.0
    """
    source, target = (source_right, source_task, source_present), (target_right, target_task, target_present)
    return correlation_of_tasks(source, target, source_task_of, source_tasks=source_tasks)[0]


def task_halves_correlation(
    observer: Codes, right: PerTrial, task: Codes, present: Mask, first: FirstHalves, *, tasks: int
) -> PerSplit:
    """Pearson correlation over tasks of the accuracies of two halves of the observers, for every split.

    Args:
        observer: index of the observer of each trial, from 0.
        right, task, present: as in ``tasks_consistency``.
        first: observers of the first half in each split; the others form the second half.
        tasks: number of tasks.

    Returns:
        One correlation per split, of half the data, over the tasks that both halves have done; NaN where a half is
        equally accurate in all of them.
    """
    observers = first.shape[1]
    total, count = grouped_sums(right, observer * tasks + task, present, groups=observers * tasks)
    shape = (observers, tasks)
    shown = _of_halves(count.reshape(shape), first)
    one, two = (
        divide_or_nan(sums, n, n == 0) for sums, n in zip(_of_halves(total.reshape(shape), first), shown, strict=True)
    )
    return pearson(one, two, axis=1, where=(shown[0] > 0) & (shown[1] > 0))


def condition_similarity(
    x: Float[Array, "observers conditions"], y: Float[Array, "observers conditions"], where: Bool[Array, "..."]
) -> PerObserver:
    """Pearson correlation over conditions of each observer's accuracies on two sides, where both are present."""
    return pearson(x, y, axis=1, where=where)


@at_full_precision
def delta_similarity(source: Scalar, target: PerObserver, present: Took, first: FirstHalves) -> PerSplit:
    """Similarity of the source's drop in accuracy to the mean drop of each of many halves of the observers.

    Args:
        source: the drop of the source.
        target: the drop of each observer.
        present: True for the observers whose drop is known.
        first: the observers of each half.

    Returns:
        ``relative_similarity`` to every half; 0 for a half whose mean drop is 0, however small the drop of the source.
        NaN where a half has no observer, where both drops are 0, or where the mean drop of every half is 0.

    Source: Baker & Elder 2022.
    """
    people = _mean_of(target, present, first)
    return _nearness_of_drops(jnp.broadcast_to(source, people.shape), people)


@at_full_precision
def delta_reliability(target: PerObserver, present: Took, first: FirstHalves) -> PerSplit:
    """Similarity of the mean drops in accuracy of two halves of the observers, for every split.

    Args:
        target, present: as in ``delta_similarity``.
        first: observers of the first half; the others form the second half, whose drop is the reference.

    Returns:
        ``relative_similarity`` of the first half to the second, with the Spearman-Brown correction.
    """
    one, two = _mean_of(target, present, first), _mean_of(target, present, ~first)
    return spearman_brown(_nearness_of_drops(one, two))


def _nearness_of_drops(one: PerSplit, two: PerSplit) -> PerSplit:
    """Relative similarity of drops; 0 where the reference ``two`` is 0 and ``one`` is not."""
    # The limit of a reference that goes to 0. With NaN instead, means would omit the poor splits only.
    far = (two == 0) & (jnp.abs(one) > 0) & jnp.any(jnp.abs(two) > 0)
    return jnp.where(far, 0.0, relative_similarity(jnp.where(two < 0, -one, one), jnp.abs(two)))


def _mean_of(target: PerObserver, present: Took, chosen: FirstHalves) -> PerSplit:
    weights = (chosen & present[None]).astype(target.dtype)
    count = jnp.sum(weights, axis=1)
    return divide_or_nan(weights @ jnp.where(present, target, 0.0), count, count == 0)


def _of_halves(
    counts: Float[Array, "observers cells"], first: FirstHalves
) -> tuple[Float[Array, "splits cells"], Float[Array, "splits cells"]]:
    return first.astype(counts.dtype) @ counts, (~first).astype(counts.dtype) @ counts


def _pearson_of_errors(
    one: Float[Array, "*batch cells"], two: Float[Array, "*batch cells"], choices: int
) -> Float[Array, "*batch"]:
    wrong = ~jnp.eye(choices, dtype=bool).reshape((1,) * (one.ndim - 1) + (-1,))
    return pearson(one, two, axis=-1, where=wrong)
