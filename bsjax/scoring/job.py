"""A job: one model on one benchmark with its options, as plain data that is built where it runs."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bsjax.benchmarks import benchmark_registry
from bsjax.models import model_registry

if TYPE_CHECKING:
    from bsjax.benchmarks import Benchmark
    from bsjax.models import BrainModel


@dataclass(frozen=True)
class Options:
    """How a job's model and benchmark are built: named values, in the order of their names.

    Attributes:
        extraction: options for the extraction of the model's activations, those of
            :class:`~bsjax.activations.ExtractedActivations`.
        benchmark: arguments of the benchmark's factory.

    Example:
        >>> Options.of({"memory": "2GB"}, {"data": "V4_compact_models"}).benchmark
        (('data', 'V4_compact_models'),)
    """

    extraction: tuple[tuple[str, Any], ...] = ()
    benchmark: tuple[tuple[str, Any], ...] = ()

    def __hash__(self) -> int:  # by the names alone, as a value may be a list
        return hash(tuple(tuple(name for name, _ in part) for part in (self.extraction, self.benchmark)))

    @classmethod
    def of(cls, extraction: Mapping[str, Any] | None = None, benchmark: Mapping[str, Any] | None = None) -> Options:
        """The options of two dicts."""
        return cls(tuple(sorted((extraction or {}).items())), tuple(sorted((benchmark or {}).items())))


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
