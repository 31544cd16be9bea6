"""Every model on every benchmark. A pair that fails does not lose the others."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bsjax.core.discovery import not_exiting, one_line
from bsjax.scoring import resolution as candidates

if TYPE_CHECKING:
    from bsjax.labelled import Score


@dataclass(frozen=True)
class Pair:
    """One model on one benchmark, not yet built."""

    model: str
    benchmark: str
    build_model: Callable[[], Any]
    build_benchmark: Callable[[], Any]


@dataclass(frozen=True)
class Outcome:
    """What came of one pair: a score, or the error instead of one.

    Attributes:
        model: identifier.
        benchmark: identifier.
        score: the ceiled score, ``None`` if the pair failed.
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
    models: candidates.ModelLike | Iterable[candidates.ModelLike],
    benchmarks: candidates.BenchmarkLike | Iterable[candidates.BenchmarkLike],
    extraction: Mapping[str, Any] | None = None,
    **benchmark_arguments: object,
) -> list[Pair]:
    """The pairs that globs, identifiers and objects stand for; no model and no data are loaded.

    Pairs come model by model. A benchmark that occurs in several pairs is built once and keeps its data and
    ceiling.

    Args:
        models: identifiers, globs, models.
        benchmarks: identifiers, globs, benchmarks.
        extraction: options for the extraction of activations, those of
            :class:`~bsjax.activations.ExtractedActivations`, e.g. ``{"memory": "2GB"}``.
        **benchmark_arguments: for the registered benchmarks that take them.

    Raises:
        KeyError: an unknown identifier.
        ValueError: an object that is neither, or an argument that no benchmark takes.

    Example:
        >>> [pair.benchmark for pair in plan("pixels", ["Simulated.V1-ridge", "Simulated.V1-p*"])]
        ['Simulated.V1-ridge', 'Simulated.V1-pls']
    """
    columns = [(name, _once(build)) for name, build in candidates.benchmarks(benchmarks, benchmark_arguments).items()]
    return [
        Pair(model, benchmark, build_model, build_benchmark)
        for model, build_model in candidates.models(models, extraction).items()
        for benchmark, build_benchmark in columns
    ]


def run(pairs: Iterable[Pair], progress: Callable[[Pair], None] | None = None) -> Iterator[Outcome]:
    """Score pairs one after the other, yielding each outcome when it is there.

    Args:
        pairs: from :func:`plan`.
        progress: called with each pair before it is scored.

    A model stays in memory as long as consecutive pairs use it.

    Example:
        >>> [outcome.error for outcome in run(plan("pixels", "Simulated.V1-ridge"))]
        [None]
    """
    built: tuple[Callable[[], Any], Any] | None = None
    for pair in pairs:
        if progress is not None:
            progress(pair)
        start = time.perf_counter()
        score, failure = None, None
        try:
            with not_exiting():
                if built is None or built[0] is not pair.build_model:
                    built = None  # frees the last model before the next one is built
                    built = (pair.build_model, pair.build_model())
                score = pair.build_benchmark()(built[1])
        except Exception as error:  # whatever one pair does, the others are still wanted
            failure = error
        yield Outcome(pair.model, pair.benchmark, score, failure, time.perf_counter() - start)


def _once(build: Callable[[], Any]) -> Callable[[], Any]:
    """``build`` with its result kept; a failure is not kept."""
    built: list[Any] = []

    def get() -> Any:
        if not built:
            built.append(build())
        return built[0]

    return get
