"""Neural benchmarks that show the same stimuli, e.g. one for each subject, fitted to the same responses in one call."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from bsjax.benchmarks.experiment import timebins_from_assembly
from bsjax.engine.memory_limit import features_in_memory
from bsjax.labelled import Score
from bsjax.labelled.metric import as_metric

if TYPE_CHECKING:
    from bsjax.benchmarks.kinds.neural import NeuralBenchmark
    from bsjax.models import BrainModel


def scored_at_once(
    benchmarks: Sequence[NeuralBenchmark],
    candidate: BrainModel,
    within: Callable[[Sequence[int]], AbstractContextManager[object]],
) -> list[Score | Exception]:
    """The score of a model on each benchmark, or its error; benchmarks of the same stimuli are fitted at once.

    What depends on the model's responses alone, such as a factorisation, is computed once for all. Scores are those of
    single calls, up to rounding errors. If fitting at once fails, each benchmark is scored alone.

    Args:
        benchmarks: whose ``fitted_beside`` is equal.
        candidate: the model.
        within: context manager of what is done for some of the benchmarks, given by their numbers.
    """
    made: dict[int, Score | Exception] = {}
    alike: dict[Hashable, list[int]] = {}
    for number, benchmark in enumerate(benchmarks):
        with _keeping_error(made, number), within([number]):
            benchmark.ask(candidate)
            alike.setdefault(_shown(benchmark), []).append(number)
    for numbers in (part for same in alike.values() for part in _in_memory(same, benchmarks)):
        if len(numbers) > 1:
            with suppress(Exception):  # of the model or of any benchmark: each alone tells of which
                made |= _fitted(numbers, benchmarks, candidate, within)
        for number in numbers:
            if number not in made:
                with _keeping_error(made, number), within([number]):
                    made[number] = benchmarks[number](candidate)
    return [made[number] for number in range(len(benchmarks))]


@contextmanager
def _keeping_error(made: dict[int, Score | Exception], number: int) -> Iterator[None]:
    """Keeps an error as the result of one benchmark, so that it does not stop the others."""
    try:
        yield
    except Exception as error:
        made[number] = error


def _shown(benchmark: NeuralBenchmark) -> Hashable:
    """Equal for benchmarks that ask the same of a model, beside what ``fitted_beside`` tells."""
    times = timebins_from_assembly(benchmark.target, benchmark.time_bins)
    known = benchmark.made_from
    return known["region"], known["stimuli"], tuple(times), benchmark.stimuli.to_csv(), benchmark.target.dims


def _in_memory(numbers: Sequence[int], benchmarks: Sequence[NeuralBenchmark]) -> Iterator[list[int]]:
    """Parts of the benchmarks whose joined targets may be held in memory."""
    part: list[int] = []
    room = features_in_memory()
    for number in numbers:
        if part and sum(benchmarks[each].target.nbytes for each in (*part, number)) > room:
            yield part
            part = []
        part.append(number)
    yield part


def _fitted(
    numbers: Sequence[int],
    benchmarks: Sequence[NeuralBenchmark],
    candidate: BrainModel,
    within: Callable[[Sequence[int]], AbstractContextManager[object]],
) -> dict[int, Score | Exception]:
    """The scores, or the errors of their normalisation, of benchmarks that are fitted to the same responses."""
    start, first = datetime.now(UTC), benchmarks[numbers[0]]
    metric = as_metric(first.metric)
    with within(numbers):
        observed = first.observe(candidate, first.stimuli_for(candidate))
        scores = metric.of_targets(observed, [benchmarks[number].target for number in numbers])
    begun = datetime.now(UTC) - (datetime.now(UTC) - start) / len(numbers)
    made: dict[int, Score | Exception] = {}
    for number, score in zip(numbers, scores, strict=True):
        with _keeping_error(made, number), within([number]):
            ceiled = benchmarks[number].normalise(metric.recorded(score))
            made[number] = benchmarks[number].stamped(ceiled, candidate, start=begun)
    return made
