"""Benchmarks described in words: stimuli, recording, comparison and normalisation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from bsjax.benchmarks.ceilings import Ceiling, KnownCeiling
from bsjax.labelled import metric_registry
from bsjax.labelled.ceilings.consistency import SplitHalfReliability
from bsjax.labelled.metric import CeilingOf, as_metric, name_of

if TYPE_CHECKING:
    from bsjax.benchmarks.experiment import TimeBins
    from bsjax.benchmarks.rows.row import BenchmarkRow
    from bsjax.labelled import Score

_FORMULAS = {
    "explained_variance": "r²/c: the signed squared correlation, divided by the ceiling",
    "neuroid_wise_explained_variance": "r²/c of each neuroid with its own ceiling, averaged",
    "ceil_score": "the score divided by the ceiling",
    "r_over_sqrt_ceiling": "r/√c: the similarity divided by the square root of the ceiling",
    "chance_corrected": "(r-k)/(c-k): score and ceiling, both relative to chance",
    "each_split_over_sqrt_ceiling": "r/√c of each split, averaged: correlation divided by the root of the ceiling",
    "squared_ceil_score": "(r/c)²: the signed square of score divided by ceiling",
}

_TASKS = {
    "label": "the choice of a label for each image",
    "probabilities": "the probability of each choice, with a read-out fitted on other images",
    "odd_one_out": "the choice of the odd one out of three images",
    "passive": "passive viewing",
}


class Paradigm(NamedTuple):
    """What a benchmark does, in words; each field is a sentence without its heading.

    Attributes:
        shown: the stimuli that the model sees, their size and the number of trials.
        recorded: the region and time bins that are recorded, or the task.
        compared: the data that the responses are compared with, and the metric.
        normalised: the ceiling, and the formula that puts the score on its scale.

    Example:
        >>> paradigm = Paradigm("480 images of 8 degrees", "V1", "96 neuroids by ridge", "by internal consistency")
        >>> paradigm.recorded
        'V1'
    """

    shown: str
    recorded: str
    compared: str
    normalised: str


def shown(stimuli: str, visual_degrees: float | None, number_of_trials: int) -> str:
    """The stimuli, their size and the number of trials, in words.

    Example:
        >>> shown("the images of hvm-public", 8, 50)
        'the images of hvm-public, 8 degrees wide, 50 trials each (a deterministic model sees each once)'
    """
    size = (
        "at the size stated with the stimuli, or as large as the model's field of view"
        if visual_degrees is None
        else f"{visual_degrees:g} degrees wide"
    )
    trials = (
        "once each"
        if number_of_trials == 1
        else f"{number_of_trials} trials each (a deterministic model sees each once)"
    )
    return f"{stimuli}, {size}, {trials}"


def recorded(region: str | None, time_bins: TimeBins | None) -> str:
    """The recorded region and time bins, in words.

    Example:
        >>> recorded("IT", [(70, 170)]), recorded("IT", [(70, 80), (80, 90)])
        ('IT, 70 to 170 ms after stimulus onset', 'IT, 2 time bins from 70 to 90 ms after stimulus onset')
    """
    where = region or "the region of the data"
    if time_bins is None:
        return f"{where}, in the time bins of the data"
    first, last = min(start for start, _ in time_bins), max(end for _, end in time_bins)
    if not last > first:
        return f"{where}, without a time course"
    bins = "" if len(time_bins) == 1 else f"{len(time_bins)} time bins from "
    return f"{where}, {bins}{first:g} to {last:g} ms after stimulus onset"


def asked(task: str) -> str:
    """A task in words.

    Example:
        >>> asked("odd_one_out")
        'the choice of the odd one out of three images'
    """
    return _TASKS.get(task, task)


def metric_words(metric: Any) -> str:
    """A metric or ceiling in words.

    Example:
        >>> from bsjax import load_ceiling, load_metric
        >>> metric_words(load_metric("ridge"))
        'ridge regression, alpha 1, cross-validated (ridge)'
        >>> metric_words(load_ceiling("internal_consistency", consistency_metric=load_metric("cka")))
        'split-half reliability over repetitions, by cka (internal_consistency)'
    """
    made = as_metric(metric)
    if isinstance(made, CeilingOf):
        return f"agreement between human subjects, by {metric_words(made.metric)}"
    if isinstance(metric, partial):  # a ceiling that wraps a ceiling, such as with_error_over_stimuli
        metric = metric.args[0] if metric.args else metric.func
    made = as_metric(metric)
    if made.identifier in metric_registry:
        by = made.consistency_metric if isinstance(made, SplitHalfReliability) else None
        words = metric_registry.summary(made.identifier).removeprefix("ceiling: ")
        return f"{words}{f', by {name_of(by)}' if by else ''} ({made.identifier})"
    line = (metric.__doc__ or "").strip().partition("\n")[0].rstrip(".")
    return line[:1].lower() + line[1:] or name_of(metric)


def normalised(ceiling_func: Callable[[], Score], normalisation: str) -> str:
    """The ceiling and the normalisation, in words.

    Example:
        >>> from bsjax import load_ceiling
        >>> normalised(Ceiling(load_ceiling("internal_consistency"), list), "ceil_score")
        'the score divided by the ceiling; ceiling: split-half reliability over repetitions (internal_consistency)'
    """
    formula = _FORMULAS.get(normalisation, normalisation)
    if isinstance(ceiling_func, Ceiling):
        return f"{formula}; ceiling: {metric_words(ceiling_func.method)}"
    if isinstance(ceiling_func, KnownCeiling):
        return f"{formula}; ceiling: {ceiling_func.value:g}, {ceiling_func.source}"
    return formula


def normalisation_name(normalisation: str | Callable[..., Score]) -> str:
    """The name of a normalisation given by name or as a function, which may be a ``functools.partial``.

    Example:
        >>> from bsjax.labelled.normalise import ceil_score
        >>> normalisation_name("ceil_score"), normalisation_name(ceil_score)
        ('ceil_score', 'ceil_score')
    """
    if isinstance(normalisation, str):
        return normalisation
    if isinstance(normalisation, partial):
        normalisation = normalisation.func
    return getattr(normalisation, "__name__", type(normalisation).__name__)


def about_row(row: BenchmarkRow) -> Iterator[tuple[str, str]]:
    """Facts about the data that a row adds to the benchmark's own description, as (heading, text) pairs.

    Example:
        >>> from bsjax.benchmarks import benchmark_row
        >>> list(about_row(benchmark_row("MajajHong2015public.IT-pls")))
        [('measured', 'macaque, electrophysiology'), ('data', 'MajajHong2015.public (public)')]
    """
    if row.species and row.species != "none":
        yield "measured", f"{row.species}, {row.modality}"
    elif row.modality == "none":
        yield "measured", "nothing: no human or animal data"
    for name, access in row.access.items():
        yield "data", f"{name} ({'access not stated' if access == 'unknown' else access})"
    if row.plugin:
        yield "plugin", row.plugin
