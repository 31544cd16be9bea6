"""The grid of models and benchmarks: its jobs, their run, in which none that fails loses the others, and ``score``."""

from __future__ import annotations

import time
import warnings
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bsjax.benchmarks import benchmark_row
from bsjax.core.discovery import not_exiting, one_line
from bsjax.scoring.isolation import isolated_score
from bsjax.scoring.job import Job, Options, built_benchmark, built_model
from bsjax.scoring.resolution import (
    BenchmarkLike,
    ModelLike,
    arguments_of,
    found_benchmarks,
    found_models,
    is_many,
)

if TYPE_CHECKING:
    from bsjax.labelled import Score

# Benchmarks that are kept with their trials and ceilings. The jobs of as many run together, model by model.
_KEPT_BENCHMARKS = 16


@dataclass(frozen=True)
class Outcome:
    """What came of one job: a score, or the error instead of one.

    Attributes:
        model: identifier.
        benchmark: identifier.
        score: the ceiled score, ``None`` if the job failed.
        error: what went wrong, ``None`` if nothing did.
        seconds: wall time, loading and compilation included.
    """

    model: str
    benchmark: str
    score: Score | None
    error: Exception | None
    seconds: float

    @property
    def error_line(self) -> str:
        """The error in one line, with its place if it is in a plugin; ``""`` if there is none."""
        return "" if self.error is None else one_line(self.error)


def plan(
    models: ModelLike | Iterable[ModelLike],
    benchmarks: BenchmarkLike | Iterable[BenchmarkLike],
    extraction: Mapping[str, Any] | None = None,
    *,
    isolated: bool = False,
    **benchmark_arguments: object,
) -> list[Job]:
    """The jobs that globs, identifiers and objects stand for; no model and no data are loaded.

    Benchmarks on the same data follow each other, so that a model's activations for their stimuli are computed once
    and found in the store by the others. Jobs come model by model, of as many benchmarks as :func:`run` keeps.

    Args:
        models: identifiers, globs, models.
        benchmarks: identifiers, globs, benchmarks.
        extraction: options for the extraction of activations, those of
            :class:`~bsjax.activations.ExtractedActivations`, e.g. ``{"memory": "2GB"}``.
        isolated: whether :func:`run` gets them so: then no plugin is imported here to see what arguments it takes.
        **benchmark_arguments: for the registered benchmarks that take them.

    Raises:
        KeyError: an unknown identifier.
        ValueError: an object that is neither, or an argument that no benchmark takes.

    Example:
        >>> [job.benchmark for job in plan("pixels", ["Simulated.V1-ridge", "Simulated.V1-p*"])]
        ['Simulated.V1-ridge', 'Simulated.V1-pls']
    """
    rows, columns = found_models(models), found_benchmarks(benchmarks)
    arguments = arguments_of(columns, benchmark_arguments, plugins=not isolated)
    return [
        Job(model, columns[name], Options.of(extraction, arguments[name]))
        for names in _together(columns)
        for model in rows.values()
        for name in names
    ]


def run(
    jobs: Iterable[Job],
    progress: Callable[[Job], None] | None = None,
    images: Callable[..., None] | None = None,
    *,
    isolated: bool = False,
) -> Iterator[Outcome]:
    """Score jobs one after the other, yielding each outcome when it is there.

    A model stays in memory as long as consecutive jobs use it; of the benchmarks those that were used last.

    Args:
        jobs: from :func:`plan`.
        progress: called with each job before it is scored.
        images: called with the progress of each extraction, see :class:`~bsjax.activations.Progress`; not of those
            in other processes.
        isolated: run each in a process of its own, with what its plugins require; see :func:`score`.

    Example:
        >>> [outcome.error for outcome in run(plan("pixels", "Simulated.V1-ridge"))]
        [None]
    """
    models, benchmarks = _Kept(1), _Kept(_KEPT_BENCHMARKS)
    for job in jobs:
        if progress is not None:
            progress(job)
        start = time.perf_counter()
        score, failure = None, None
        try:
            score = isolated_score(job) if isolated else _scored_here(job, models, benchmarks, images)
        except Exception as error:  # whatever one job does, the others are still wanted
            failure = error
        yield Outcome(job.model_identifier, job.benchmark_identifier, score, failure, time.perf_counter() - start)


def score(
    model: ModelLike | Iterable[ModelLike] | None = None,
    benchmark: BenchmarkLike | Iterable[BenchmarkLike] | None = None,
    extraction: Mapping[str, Any] | None = None,
    *,
    isolated: bool = False,
    model_identifier: str | None = None,
    benchmark_identifier: str | None = None,
    **benchmark_arguments: object,
) -> Score | dict[tuple[str, str], Score]:
    """Score a model on a benchmark.

    Args:
        model: an identifier (see :func:`bsjax.list_models`), a glob such as ``"*"``, a
            :class:`~bsjax.BrainModel`, or a list of these.
        benchmark: an identifier (see :func:`bsjax.list_benchmarks`), a glob, a benchmark, or a list of these.
        extraction: options for the extraction of the model's activations, those of
            :class:`~bsjax.activations.ExtractedActivations`: ``{"memory": "2GB", "batch_size": 32}``.
        isolated: score each pair in a process of its own, whose environment has what the ``requirements.txt`` of the
            plugins of its model and benchmark name; it is made by uv or pip, and kept. Models and benchmarks go by
            identifier.
        model_identifier, benchmark_identifier: the names that ``model`` and ``benchmark`` have in Brain-Score.
        **benchmark_arguments: for the registered benchmarks that take them, e.g. ``data=DIR``.

    Returns:
        The :class:`~bsjax.Score`. If either argument is a glob or a list: a dict from (model identifier,
        benchmark identifier) to scores. There, a pair that fails is left out with a warning that says why.

    Raises:
        KeyError: an unknown identifier; the message names the nearest ones.
        TypeError: no model or no benchmark is given, or one by both of its names.
        ValueError: something that is neither a model nor a benchmark, an argument that no benchmark takes, or
            data that cannot be compared. For globs and lists, only if no pair at all has a score.
        FileNotFoundError: the benchmark needs data that were not given or are not there.
        RuntimeError: code of the model or the benchmark called ``sys.exit``. If isolated: any error of the pair.

    Example:
        >>> import bsjax
        >>> score = bsjax.score("gabor-v1", "Simulated.V1-ridge")
        >>> 0 < float(score) < 1
        True
        >>> sorted(bsjax.score("pixels", ["Simulated.V1-cka", "Simulated.V1-rdm"]))
        [('pixels', 'Simulated.V1-cka'), ('pixels', 'Simulated.V1-rdm')]
    """
    models = _either("model", model, model_identifier)
    benchmarks = _either("benchmark", benchmark, benchmark_identifier)
    jobs = plan(models, benchmarks, extraction, isolated=isolated, **benchmark_arguments)
    if not (is_many(models) or is_many(benchmarks)):
        [job] = jobs
        if isolated:
            return isolated_score(job)
        with not_exiting():
            return built_benchmark(job)(built_model(job))
    outcomes = list(run(jobs, isolated=isolated))
    failed = [outcome for outcome in outcomes if outcome.error is not None]
    lines = [f"{outcome.model} on {outcome.benchmark}: {outcome.error_line}" for outcome in failed]
    if failed and len(failed) == len(outcomes):
        raise ValueError("no pair has a score:\n" + "\n".join(lines)) from failed[0].error
    for line in lines:
        warnings.warn(f"no score for {line}", stacklevel=2)
    return {(o.model, o.benchmark): o.score for o in outcomes if o.score is not None}


def _scored_here(job: Job, models: _Kept, benchmarks: _Kept, images: Callable[..., None] | None) -> Score:
    with not_exiting():
        model = models.get((job.model, replace(job.options, benchmark=())), lambda: built_model(job, images))
        benchmark = benchmarks.get((job.benchmark, replace(job.options, extraction=())), lambda: built_benchmark(job))
        return benchmark(model)


def _together(benchmarks: Mapping[str, BenchmarkLike]) -> list[list[str]]:
    """The benchmarks in groups that are kept at the same time; those on the same data are next to each other."""
    on_same_data: dict[Hashable, list[str]] = {}
    for name, benchmark in benchmarks.items():
        on_same_data.setdefault(_data_of(benchmark), []).append(name)
    groups: list[list[str]] = []
    for names in on_same_data.values():
        if groups and len(groups[-1]) + len(names) <= _KEPT_BENCHMARKS:
            groups[-1] += names
        else:
            groups.append(list(names))
    return groups


def _data_of(benchmark: BenchmarkLike) -> Hashable:
    """What two benchmarks have in common that show the same stimuli; itself, of one that is not registered."""
    if not isinstance(benchmark, str):
        return benchmark.identifier
    row = benchmark_row(benchmark)
    return (row.data, row.stimuli) if row.data else benchmark


def _either(what: str, given: Any, by_other_name: str | None) -> Any:
    if (given is None) == (by_other_name is None):
        raise TypeError(f"score takes {what}=, or {what}_identifier= as in Brain-Score: give one of the two")
    return by_other_name if given is None else given


class _Kept:
    """What was built last, by its key; a failure is not kept.

    Args:
        most: how many; the one that was used longest ago goes before another is built.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._built: OrderedDict[Hashable, Any] = OrderedDict()

    def get(self, key: Hashable, build: Callable[[], Any]) -> Any:
        if key not in self._built:
            while len(self._built) >= self._most:
                self._built.popitem(last=False)
            self._built[key] = build()
        self._built.move_to_end(key)
        return self._built[key]
