"""Jobs, each one model on one benchmark with options, as plain data; the jobs of a grid; and their outcomes."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from bsjax.benchmarks import benchmark_registry, benchmark_row
from bsjax.core.discovery import one_line
from bsjax.core.watching import is_watched, watcher
from bsjax.models import model_registry
from bsjax.scoring.resolution import BenchmarkLike, ModelLike, arguments_of, found_benchmarks, found_models

if TYPE_CHECKING:
    from bsjax.benchmarks import Benchmark
    from bsjax.labelled import Score
    from bsjax.labelled.resampling.draws import Factor, Resampling
    from bsjax.labelled.resampling.permutations import Permutations
    from bsjax.models import BrainModel
    from bsjax.scoring.job import Beside


@dataclass(frozen=True)
class Beside:
    """Requested analyses in addition to a score, as plain data.

    Attributes:
        resampling: bootstrap draws of stimuli, neuroids or subjects for which the score is recomputed; None for none.
        null: permutations of the stimuli for which the score is recomputed; None for none.
        baselines: identifiers of the baselines to score on the same benchmark.

    Example:
        >>> bool(Beside()), Beside.of("stimuli", baselines=["pixels"]).baselines
        (False, ('pixels',))
    """

    resampling: Resampling | None = None
    null: Permutations | None = None
    baselines: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        resampling: Resampling | Factor | Sequence[Factor] | None = None,
        null: Permutations | int | None = None,
        baselines: bool | str | Iterable[str] = False,
    ) -> Beside:
        """Build the request from the arguments of :func:`bsjax.score`.

        Raises:
            KeyError: a baseline is unknown.
            ValueError: the factor cannot be resampled, or the number of permutations is invalid.
        """
        if resampling is None and null is None and not baselines:
            return cls()
        from bsjax.labelled.resampling.draws import Resampling
        from bsjax.labelled.resampling.permutations import Permutations
        from bsjax.scoring.baselines import baseline_names

        return cls(Resampling.of(resampling), Permutations.of(null), tuple(baseline_names(baselines)))

    def __bool__(self) -> bool:
        return any(self.parts())

    def parts(self) -> list[str]:
        """A unique text for each requested analysis."""
        return [repr(part) for part in (self.resampling, self.null, self.baselines) if part]

    def to_plain(self) -> dict[str, Any]:
        """Convert to values that JSON can hold; ``from_plain`` reads them.

        Example:
            >>> asked = Beside.of(["stimuli", "neuroids"], null=99)
            >>> Beside.from_plain(asked.to_plain()) == asked
            True
        """
        return asdict(self)

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Beside:
        """Read the values from ``to_plain``, also after a round trip through JSON."""
        from bsjax.labelled.resampling.draws import Resampling
        from bsjax.labelled.resampling.permutations import Permutations

        drawn, null = plain["resampling"], plain["null"]
        return cls(drawn and Resampling(**drawn), null and Permutations(**null), tuple(plain["baselines"]))


@dataclass(frozen=True)
class Options:
    """How a job's model and benchmark are built, as name-value pairs sorted by name, and which analyses are added.

    Attributes:
        extraction: options for the extraction of the model's activations, those of
            :class:`~bsjax.activations.ExtractedActivations`.
        benchmark: arguments of the benchmark's factory.
        beside: analyses in addition to the score.
        isolated: whether the job runs in a separate process, with the packages that its plugins require.

    Example:
        >>> Options.of({"memory": "2GB"}, {"data": "V4_compact_models"}).benchmark
        (('data', 'V4_compact_models'),)
    """

    extraction: tuple[tuple[str, Any], ...] = ()
    benchmark: tuple[tuple[str, Any], ...] = ()
    beside: Beside = Beside()
    isolated: bool = False

    def __hash__(self) -> int:  # by names alone, because values may be unhashable
        names = (tuple(name for name, _ in part) for part in (self.extraction, self.benchmark))
        return hash((*names, self.beside))

    @classmethod
    def of(
        cls,
        extraction: Mapping[str, Any] | None = None,
        benchmark: Mapping[str, Any] | None = None,
        beside: Beside | None = None,
        isolated: bool = False,
    ) -> Options:
        """Build options from two dicts, the additional analyses, and whether the job runs isolated."""
        parts = [tuple(sorted((part or {}).items())) for part in (extraction, benchmark)]
        return cls(parts[0], parts[1], beside or Beside(), isolated)


@dataclass(frozen=True)
class Job:
    """One model on one benchmark, not yet built: plain, hashable and picklable, to run in any process.

    Attributes:
        model: an identifier; or a brain model, if it is not registered.
        benchmark: an identifier; or a benchmark, if it is not registered.
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
    def names(self) -> tuple[str, str]:
        """Identifiers of the model and the benchmark."""
        return self.model_identifier, self.benchmark_identifier

    @property
    def model_key(self) -> Hashable:
        """A key that distinguishes models within this process: the identifier, or the object's id."""
        return self.model if isinstance(self.model, str) else id(self.model)

    @property
    def benchmark_key(self) -> Hashable:
        """A key that distinguishes benchmarks within this process: the identifier, or the object's id."""
        return self.benchmark if isinstance(self.benchmark, str) else id(self.benchmark)

    @property
    def benchmark_identifier(self) -> str:
        """Name of the benchmark."""
        return self.benchmark if isinstance(self.benchmark, str) else self.benchmark.identifier


@dataclass(frozen=True)
class Outcome:
    """The outcome of one model on one benchmark: a score or an error.

    Attributes:
        model: identifier.
        benchmark: identifier.
        score: the ceiled score; None if there is none, or if only the store has it.
        error: the exception, None if there was none.
        seconds: wall time, including loading and compilation.
        state: "scored", "found" (the store already had it) or "failed".
        key: of the score or failure in the store; None if nothing is stored.

    Example:
        >>> Outcome("pixels", "Doe2026.V4-pls", error=ValueError("no data"), state="failed").error_line
        'no data'
    """

    model: str
    benchmark: str
    score: Score | None = None
    error: Exception | None = None
    seconds: float = 0.0
    state: str = "scored"
    key: str | None = None

    @property
    def error_line(self) -> str:
        """The error in one line, with its location if it is in a plugin; ``""`` if there is none."""
        return "" if self.error is None else one_line(self.error)


def built_model(job: Job) -> Any:
    """Build the model of a job.

    Raises:
        KeyError: no such model is registered.
        ValueError: options are given, but the model extracts no activations.
    """
    model: Any = model_registry[job.model]() if isinstance(job.model, str) else job.model
    if is_watched():
        with suppress(ValueError, AttributeError):  # the model extracts no activations
            model = model.with_options(progress=watcher().images)
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
    """Build the benchmark of a job.

    Raises:
        KeyError: no such benchmark is registered.
    """
    if not isinstance(job.benchmark, str):
        return job.benchmark
    return benchmark_registry[job.benchmark](**dict(job.options.benchmark))


def score_of(job: Job, benchmark: Any, model: Any) -> Score:
    """Score a job's model on its benchmark, both already built, with the requested additional analyses.

    Raises:
        ValueError: raised by the benchmark; or a null distribution is requested that the benchmark cannot compute.

    Example:
        >>> job = Job("pixels", "Simulated.V1-cka")
        >>> float(score_of(job, built_benchmark(job), built_model(job))) < 1
        True
    """
    baselines = job.options.beside.baselines
    if not baselines:
        return _score_alone(job, model, benchmark)
    from bsjax.scoring.baselines import scored_with_baselines

    return scored_with_baselines(partial(_score_alone, job), model, benchmark, baselines)


def _score_alone(job: Job, model: Any, benchmark: Any) -> Score:
    # Imported here, because a job whose score is stored needs none of it.
    import numpy as np

    from bsjax.benchmarks.base import BenchmarkBase, scored_by
    from bsjax.labelled.resampling.calibration import null_of
    from bsjax.labelled.resampling.draws import in_draws
    from bsjax.labelled.resampling.permutations import Permutations

    asked = job.options.beside
    with in_draws(asked.resampling), Permutations.within(asked.null):
        score = scored_by(benchmark, model)
    if asked.null is not None and null_of(score) is None and np.isfinite(score.values).all():
        raise ValueError(
            f"benchmark {job.benchmark_identifier!r} cannot permute its stimuli (null=): it defines its own __call__ "
            "instead of the steps of bsjax.benchmarks.BenchmarkBase. Leave null out"
        )
    drawn = score.uncertainty is not None and score.uncertainty.draws is not None
    own_call = type(benchmark).__call__ is not BenchmarkBase.__call__  # the steps of the base warn themselves
    if asked.resampling is not None and not drawn and own_call and np.isfinite(score.values).all():
        warnings.warn(
            f"the score of benchmark {job.benchmark_identifier!r} has no bootstrap draws (resampling=): it defines its "
            "own __call__ instead of the steps of bsjax.benchmarks.BenchmarkBase",
            stacklevel=2,
        )
    names = {"model": job.model_identifier, "benchmark": job.benchmark_identifier}
    lacking = {name: said for name, said in names.items() if not getattr(score.provenance, name)}
    return replace(score, provenance=score.provenance.with_entries(**lacking)) if lacking else score


# How many benchmarks stay loaded, with trials and ceilings. Jobs run model by model within groups of this size.
KEPT_BENCHMARKS = 16


def jobs_of(
    models: ModelLike | Iterable[ModelLike],
    benchmarks: BenchmarkLike | Iterable[BenchmarkLike],
    extraction: Mapping[str, Any] | None = None,
    *,
    isolated: bool = False,
    beside: Beside | None = None,
    **benchmark_arguments: object,
) -> list[Job]:
    """The jobs that identifiers, globs and objects stand for; no model and no data are loaded.

    Benchmarks on the same data follow each other, so that a model's activations for their stimuli are computed once
    and then read from the cache. Within a group of benchmarks that fit in memory together, jobs are ordered by model.

    Args:
        models: identifiers, globs, models.
        benchmarks: identifiers, globs, benchmarks.
        extraction: options for the extraction of activations, those of
            :class:`~bsjax.activations.ExtractedActivations`, e.g. ``{"memory": "2GB"}``.
        isolated: whether each job runs in a separate process. Plugins are then not imported here to check which
            arguments they take.
        beside: analyses in addition to each score; None for none.
        **benchmark_arguments: for the registered benchmarks that take them.

    Raises:
        KeyError: an identifier is unknown.
        ValueError: an object is neither a model nor a benchmark, or no benchmark takes an argument.

    Example:
        >>> [job.benchmark for job in jobs_of("pixels", ["Simulated.V1-ridge", "Simulated.V1-p*"])]
        ['Simulated.V1-ridge', 'Simulated.V1-pls']
    """
    rows, columns = found_models(models), found_benchmarks(benchmarks)
    arguments = arguments_of(columns, benchmark_arguments, plugins=not isolated)
    return [
        Job(model, columns[name], Options.of(extraction, arguments[name], beside, isolated))
        for names in _together(columns)
        for model in rows.values()
        for name in names
    ]


def _together(benchmarks: Mapping[str, BenchmarkLike]) -> list[list[str]]:
    """Group benchmarks that stay loaded together; those on the same data are adjacent."""
    on_same_data: dict[Hashable, list[str]] = {}
    for name, benchmark in benchmarks.items():
        on_same_data.setdefault(same_data(benchmark), []).append(name)
    groups: list[list[str]] = []
    for names in on_same_data.values():
        if groups and len(groups[-1]) + len(names) <= KEPT_BENCHMARKS:
            groups[-1] += names
        else:
            groups.append(list(names))
    return groups


def seen_and_recorded(benchmark: Benchmark) -> tuple[Hashable, str]:
    """A key of the stimuli of a benchmark that is an object, and the region that it records, "" if that is unknown."""
    from bsjax.benchmarks import BenchmarkBase

    if isinstance(benchmark, BenchmarkBase):
        return benchmark.seen_and_recorded()
    return benchmark.identifier, str(getattr(benchmark, "region", "") or "")


def same_data(benchmark: BenchmarkLike) -> Hashable:
    """A key that is equal for benchmarks that show the same stimuli, as far as known without loading data."""
    if not isinstance(benchmark, str):
        return seen_and_recorded(benchmark)[0]
    row = benchmark_row(benchmark)
    return (row.data, row.stimuli) if row.data else benchmark
