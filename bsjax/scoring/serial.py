"""Jobs that are run here, one after the other, in which none that fails loses the others."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bsjax.core.discovery import not_exiting, one_line
from bsjax.scoring.built import Kept, benchmark_of, model_of
from bsjax.scoring.isolation import isolated_score
from bsjax.scoring.job import Job, score_of
from bsjax.scoring.jobs import KEPT_BENCHMARKS

if TYPE_CHECKING:
    from bsjax.labelled import Score


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
        jobs: from :func:`~bsjax.scoring.jobs.jobs_of`.
        progress: called with each job before it is scored.
        images: called with the progress of each extraction, see :class:`~bsjax.activations.Progress`; not of those
            in other processes.
        isolated: run each in a process of its own, with what its plugins require; see :func:`bsjax.score`.

    Example:
        >>> from bsjax.scoring.jobs import jobs_of
        >>> [outcome.error for outcome in run(jobs_of("pixels", "Simulated.V1-ridge"))]
        [None]
    """
    models, benchmarks = Kept(1), Kept(KEPT_BENCHMARKS)
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


def _scored_here(job: Job, models: Kept, benchmarks: Kept, images: Callable[..., None] | None) -> Score:
    with not_exiting():
        model = model_of(job, models, images)
        return score_of(job, benchmark_of(job, benchmarks), model)
