"""A job: one model on one benchmark with its options, as plain data that is built where it runs."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bsjax.benchmarks import benchmark_registry
from bsjax.labelled.resampling.calibration import null_of
from bsjax.labelled.resampling.draws import in_draws
from bsjax.labelled.resampling.permutations import in_permutations
from bsjax.labelled.score import as_score
from bsjax.models import model_registry
from bsjax.scoring.baselines import scored_with_baselines
from bsjax.scoring.beside import Beside

if TYPE_CHECKING:
    from bsjax.benchmarks import Benchmark
    from bsjax.labelled import Score
    from bsjax.models import BrainModel


@dataclass(frozen=True)
class Options:
    """How a job's model and benchmark are built, by named values in the order of their names, and what is asked beside.

    Attributes:
        extraction: options for the extraction of the model's activations, those of
            :class:`~bsjax.activations.ExtractedActivations`.
        benchmark: arguments of the benchmark's factory.
        beside: what is computed beside the score.

    Example:
        >>> Options.of({"memory": "2GB"}, {"data": "V4_compact_models"}).benchmark
        (('data', 'V4_compact_models'),)
    """

    extraction: tuple[tuple[str, Any], ...] = ()
    benchmark: tuple[tuple[str, Any], ...] = ()
    beside: Beside = Beside()

    def __hash__(self) -> int:  # by the names alone, as a value may be a list
        names = (tuple(name for name, _ in part) for part in (self.extraction, self.benchmark))
        return hash((*names, self.beside))

    @classmethod
    def of(
        cls,
        extraction: Mapping[str, Any] | None = None,
        benchmark: Mapping[str, Any] | None = None,
        beside: Beside | None = None,
    ) -> Options:
        """The options of two dicts, and what is asked for beside the score."""
        parts = [tuple(sorted((part or {}).items())) for part in (extraction, benchmark)]
        return cls(parts[0], parts[1], beside or Beside())


@dataclass(frozen=True)
class Job:
    """One model on one benchmark, not yet built: plain, hashable, and picklable, to run in any process.

    Attributes:
        model: an identifier; or a brain model, for one that is not registered.
        benchmark: an identifier; or a benchmark, for one that is not registered.
        options: how they are built.

    Example:
        >>> job = Job("pixels", "Simulated.V1-ridge")
        >>> job == Job("pixels", "Simulated.V1-ridge"), job.model_identifier
        (True, 'pixels')
    """

    model: str | BrainModel
    benchmark: str | Benchmark
    options: Options = field(default_factory=Options)

    @property
    def model_identifier(self) -> str:
        """Name of the model."""
        return self.model if isinstance(self.model, str) else self.model.identifier

    @property
    def benchmark_identifier(self) -> str:
        """Name of the benchmark."""
        return self.benchmark if isinstance(self.benchmark, str) else self.benchmark.identifier


def built_model(job: Job, images: Any = None) -> Any:
    """The model of a job.

    Args:
        job: the job.
        images: called with the progress of each extraction, see :class:`~bsjax.activations.Progress`.

    Raises:
        KeyError: no such model is registered.
        ValueError: the model has no extraction that could have options.
    """
    model: Any = model_registry[job.model]() if isinstance(job.model, str) else job.model
    if images is not None:  # which nobody misses where there is nothing to extract
        with suppress(ValueError, AttributeError):
            model = model.with_options(progress=images)
    if not job.options.extraction:
        return model
    options = dict(job.options.extraction)
    if not hasattr(model, "with_options"):
        raise ValueError(
            f"model {model.identifier!r} is a {type(model).__name__}, whose extraction has no options; "
            f"leave out {', '.join(options)}"
        )
    return model.with_options(**options)


def built_benchmark(job: Job) -> Any:
    """The benchmark of a job.

    Raises:
        KeyError: no such benchmark is registered.
    """
    if not isinstance(job.benchmark, str):
        return job.benchmark
    return benchmark_registry[job.benchmark](**dict(job.options.benchmark))


def score_of(job: Job, benchmark: Any, model: Any) -> Score:
    """The score of a job's model on its benchmark, both of which are built, with all that is asked for beside it.

    Raises:
        ValueError: what the benchmark raises; or it cannot say what the score is by chance, which is asked for.

    Example:
        >>> job = Job("pixels", "Simulated.V1-cka")
        >>> float(score_of(job, built_benchmark(job), built_model(job))) < 1
        True
    """
    baselines = job.options.beside.baselines
    if not baselines:
        return _score_alone(job, model, benchmark)
    return scored_with_baselines(partial(_score_alone, job), model, benchmark, baselines)


def _score_alone(job: Job, model: Any, benchmark: Any) -> Score:
    asked = job.options.beside
    with in_draws(asked.resampling), in_permutations(asked.null):
        score = as_score(benchmark(model), f"the score of benchmark {job.benchmark_identifier!r}")
    if asked.null is not None and null_of(score) is None and np.isfinite(score.values).all():
        raise ValueError(
            f"benchmark {job.benchmark_identifier!r} does not say what its score is by chance: it has a call of "
            "its own, which takes no step of bsjax.benchmarks.BenchmarkBase. Leave null out"
        )
    return score
