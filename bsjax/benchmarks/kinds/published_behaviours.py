"""Benchmarks on published behaviour, each built from its row. Building one loads no data.

In addition to the fields of all benchmarks, a row has:

- ``task``: the model's task;
- ``answers``: how the model's answers are prepared: "most_probable" takes the most probable choice of each,
  "with_columns" adds the columns of the stimuli, "as_people_saw" the condition and truth of people's trials;
- ``steps``: the preparation of people's trials, see :mod:`bsjax.benchmarks.prepare.steps`; or ``truth``: the column of
  the stimuli that stands in for choices when there are no human data;
- ``metric_kwargs``: settings of the metric, which is one of ``load_metric``, or of ``_METRICS`` here;
- ``ceiling``: "own", the agreement of people with each other by the metric, with ``ceiling_kwargs`` if it takes any; or
  a known number, with ``ceiling_source`` and optionally ``ceiling_error``.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, cast

from bsjax.benchmarks.ceilings import Ceiling, constant_ceiling
from bsjax.benchmarks.kinds.behavioural import BehavioralBenchmark
from bsjax.benchmarks.kinds.engineering import EngineeringAccuracy, truths
from bsjax.benchmarks.lazy_loading import LazyLoad, content_of, loader
from bsjax.benchmarks.prepare.choices import as_people_saw, most_probable
from bsjax.benchmarks.prepare.steps import prepare
from bsjax.benchmarks.rows.row import BenchmarkRow
from bsjax.data import NeuroidAssembly, load_dataset, load_stimulus_set
from bsjax.data.types.merging import merge_stimulus_set
from bsjax.labelled import Score, load_metric
from bsjax.labelled.behaviour.accuracy import ShapeBias
from bsjax.labelled.behaviour.condition_accuracies import ConditionAccuracySimilarity
from bsjax.labelled.behaviour.search_asymmetry import AsymmetryDelta

# Metrics of single experiments, by the name in their rows.
_METRICS: dict[str, Callable[..., Any]] = {
    "condition_accuracy_similarity": ConditionAccuracySimilarity,
    "shape_bias": ShapeBias,
    "value_delta": AsymmetryDelta,
}

Kind = TypeVar("Kind", bound=BehavioralBenchmark)


def behavioural(row: BenchmarkRow, ceiling: str = "known") -> BehavioralBenchmark:
    """A comparison of a model's answers with people's trials, as the row states it.

    Args:
        row: the row of the benchmark.
        ceiling: ``"known"`` for the row's ceiling, or ``"computed"`` from people's trials where the row's is a number.

    Raises:
        ValueError: ``ceiling`` has another value, or there are no people to compute one from.

    Example:
        >>> from bsjax import load_benchmark
        >>> benchmark = load_benchmark("Baker2022inverted-accuracy_delta")
        >>> benchmark.metric.image_types, benchmark.visual_degrees, benchmark.parent
        (['w', 'f'], 8.8, 'Baker2022')
    """
    return behavioural_benchmark(row, ceiling=ceiling)


def engineering(row: BenchmarkRow) -> EngineeringAccuracy:
    """The proportion of stimuli that a model labels correctly; the ceiling is 1.

    Example:
        >>> from bsjax import load_benchmark
        >>> load_benchmark("Scialom2024_rgbEngineeringAccuracy").number_of_trials
        10
    """
    return EngineeringAccuracy(row, partial(load_stimulus_set, row.data[0]))


def behavioural_benchmark(
    row: BenchmarkRow,
    trials: LazyLoad | None = None,
    kind: Callable[..., Kind] = BehavioralBenchmark,
    *,
    metric: Any = None,
    ceiling: str = "known",
    **own: Any,
) -> Kind:
    """The benchmark of a row, with parts that an experiment overrides.

    Args:
        row: the row of the benchmark.
        trials: people's trials; by default the row's data after its steps.
        kind: the class to build.
        metric: the metric; by default the row's.
        ceiling: ``"known"`` for the row's ceiling, or ``"computed"`` from the trials.
        own: arguments of the class that override the row's.

    Raises:
        ValueError: ``ceiling`` has another value.
    """
    trials = _trials(row) if trials is None else trials
    if metric is None:
        build = _METRICS.get(row.metric, partial(load_metric, row.metric))
        metric = build(**row.settings.get("metric_kwargs", {}))
    stated: dict[str, Any] = {
        "ceiling_func": _ceiling(row, ceiling, metric, trials),
        "normalisation": row.normalisation,
        "about": row.about,
        **row.arguments(),
    }
    if row.fitting_stimuli:
        stated["fitting_stimuli"] = partial(load_stimulus_set, row.fitting_stimuli)
    if row.stimuli and "truth" not in row.settings:
        stated["stimuli"] = loader(partial(load_stimulus_set, row.stimuli))
    prepared = {
        "most_probable": most_probable,
        "with_columns": lambda answers: merge_stimulus_set(answers, stated["stimuli"]()),
        "as_people_saw": lambda answers: as_people_saw(answers, content_of(trials)),
    }
    stated["answers"] = prepared.get(row.settings.get("answers", ""))
    return kind(row.identifier, trials, row.settings["task"], metric, **{**stated, **own})


def _trials(row: BenchmarkRow) -> LazyLoad:
    if "truth" in row.settings:
        return LazyLoad(lambda: truths(load_stimulus_set(row.stimuli), row.settings["truth"]))
    return LazyLoad(lambda: prepare(cast(NeuroidAssembly, load_dataset(row.data[0])), row.settings.get("steps", ())))


def _ceiling(row: BenchmarkRow, which: str, metric: Any, trials: LazyLoad) -> Callable[[], Score]:
    if which not in ("known", "computed"):
        raise ValueError(
            f"benchmark {row.identifier!r}: ceiling must be 'known', the published number, or 'computed' from people's "
            f"trials, got {which!r}"
        )
    if which == "computed" and "truth" in row.settings:
        raise ValueError(f"benchmark {row.identifier!r} has no people to compute a ceiling from: leave out ceiling")
    if isinstance(row.ceiling, str) or which == "computed":
        settings = row.settings.get("ceiling_kwargs")
        return Ceiling(partial(metric.ceiling, **settings) if settings else metric.ceiling, trials)
    return constant_ceiling(row.ceiling, row.settings["ceiling_source"], row.settings.get("ceiling_error"))
