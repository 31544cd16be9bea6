"""The benchmark protocol, and the base class whose call leads from the stimuli to a score with provenance."""

from __future__ import annotations

import math
import textwrap
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from bsjax.benchmarks.descriptions import Paradigm, normalisation_name
from bsjax.benchmarks.experiment import placed
from bsjax.engine.memory_limit import features_in_memory
from bsjax.labelled import Provenance, Score
from bsjax.labelled.layers import SharedTarget, scored_together
from bsjax.labelled.metric import as_metric, scored
from bsjax.labelled.normalise import Normalisation, normalisation_named
from bsjax.labelled.resampling.calibration import also_permuted
from bsjax.labelled.resampling.draws import Resampling, in_draws
from bsjax.labelled.resampling.plans import any_plan
from bsjax.labelled.score import as_score

if TYPE_CHECKING:
    from bsjax.models import BrainModel

_WIDTH = 80


class Benchmark(Protocol):
    """Anything that scores a brain model.

    Any object with these members is a benchmark. No base class or registration is needed.

    Attributes:
        identifier: unique name, e.g. ``"Cowley2026.V4-ridge"``.
        version: number that rises by one whenever a change to the benchmark changes its scores.
        parent: the benchmark or region under which this one is averaged, e.g. ``"V4"``.
        bibtex: the publication of the data, or ``""``.

    Example:
        >>> from bsjax import load_benchmark
        >>> benchmark = load_benchmark("Simulated.V1-ridge")
        >>> benchmark.identifier, benchmark.version, benchmark.parent
        ('Simulated.V1-ridge', 2, 'V1')
    """

    identifier: str
    version: int
    parent: str
    bibtex: str

    @property
    def ceiling(self) -> Score:
        """The best score that the noise in the data allows, computed on first access."""
        ...

    def __call__(self, candidate: BrainModel) -> Score:
        """Score ``candidate``; the result holds the raw score and the ceiling that normalises it."""
        ...


class Undefined(ValueError):
    """Raised by a step of a benchmark when a model has no score: the score is NaN, and its provenance gives the reason.

    Args:
        reason: the reason, for ``score.provenance["reason"]``.
        formula: the formula that the score would have had before normalisation.
        provenance: further entries for the score's provenance.

    Example:
        >>> Undefined("no unit responds", formula="r").score.provenance.reason
        'no unit responds'
    """

    def __init__(self, reason: str, formula: str = "", **provenance: Any) -> None:
        super().__init__(reason)
        self.score = Score(math.nan, formula=formula, provenance=Provenance.of({"reason": reason, **provenance}))


class BenchmarkBase:
    """Base class of benchmarks. A call takes the following steps; a subclass overrides those that differ.

    0. ``ask(candidate)``: starts the task, if it is the same for all stimuli. The default does nothing.
    1. ``stimuli_for(candidate)``: places the stimuli on the model's screen. The default takes ``self.stimuli``,
       ``self.visual_degrees`` wide.
    2. ``observe(candidate, stimuli)``: collects the model's responses, recordings or behaviour. Every subclass needs
       its own.
    3. ``compare(observed)``: computes the score before normalisation. The default is
       ``bsjax.labelled.metric.scored(self.metric, observed, self.target)``, which repeats the comparison for each
       bootstrap resample inside :func:`bsjax.labelled.resampling.draws.in_draws`; a metric that is called without it
       is not resampled. The step is repeated for each permutation inside ``Permutations.within``.
    4. ``normalise(unceiled)``: puts the score on the scale of the ceiling with ``normalisation``.
    5. ``stamped(score, candidate)``: adds the provenance, including ``self.made_from``.

    A step may raise :class:`Undefined`. A subclass may instead define ``__call__(candidate) -> Score``, as in
    Brain-Score. Brain-Score's class of this name takes the same arguments, except the last.

    Args:
        identifier: unique name, e.g. ``"MajajHong2015.IT-pls"``.
        ceiling_func: function without arguments that returns the ceiling, such as a
            :class:`~bsjax.benchmarks.Ceiling`, whose result is cached on disk. It is called once, when the ceiling is
            first needed.
        version: number that rises by one whenever the benchmark's scores change.
        parent: the node under which the benchmark is averaged: a region, ``"behavior"``, or another benchmark.
        bibtex: publication of the data.
        normalisation: how the score is put on the scale of the ceiling: the name of a function of
            :mod:`bsjax.labelled.normalise`, such as ``"r_over_sqrt_ceiling"``, or a function
            ``(raw score, ceiling) -> Score``. ``""`` leaves the score as it is.

    Raises:
        ValueError: ``ceiling_func`` is missing, or the version is not a positive integer.
        KeyError: the normalisation is unknown; the message lists the known ones.

    Example:
        >>> from bsjax import StimulusSet, load_model
        >>> class Width(BenchmarkBase):
        ...     stimuli = StimulusSet({"stimulus_id": ["a"]})
        ...     def observe(self, candidate, stimuli):
        ...         return candidate.visual_degrees()
        ...     def compare(self, observed):
        ...         return Score(observed / 10)
        >>> benchmark = Width("Mine2026-width", ceiling_func=lambda: Score(1.0), normalisation="ceil_score")
        >>> benchmark(load_model("pixels"))
        Score(0.8000, r/c)
    """

    # Attributes that the steps read by default; a subclass may set them.
    stimuli: Any = None
    metric: Any = None
    target: Any = None
    visual_degrees: float | None = None
    region: Any = ""

    def __init__(
        self,
        identifier: str,
        ceiling_func: Callable[[], Score] | None = None,
        version: int = 1,
        parent: str | None = "",
        bibtex: str | None = "",
        *,
        normalisation: str | Normalisation = "",
    ) -> None:
        if not callable(ceiling_func):
            raise ValueError(
                f"benchmark {identifier!r} has no ceiling_func; give a function without arguments, "
                "e.g. bsjax.benchmarks.Ceiling(load_ceiling('internal_consistency'), load_single_trials)"
            )
        if isinstance(version, bool) or not isinstance(version, int) or version < 1:
            raise ValueError(f"benchmark {identifier!r}: version must be a whole number from 1, got {version!r}")
        self.identifier = identifier
        # Subclasses ported from Brain-Score may call the private name.
        self.ceiling_func = self._ceiling_func = ceiling_func
        self.version = version
        self.parent = parent or ""
        self.bibtex = bibtex or ""
        self.normalisation = normalisation_name(normalisation)
        self._normalise = normalisation
        if isinstance(normalisation, str) and normalisation:
            self._normalise = normalisation_named(normalisation)

    def __repr__(self) -> str:
        under = f", averaged under {self.parent}" if self.parent else ""
        return f"{type(self).__name__}({self.identifier!r}, version {self.version}{under})"

    @cached_property
    def ceiling(self) -> Score:
        """The noise ceiling: the score of a perfect model, given the noise in the data."""
        with in_draws(None):
            asked = f"benchmark {self.identifier!r}: have ceiling_func give a bsjax.Score; the ceiling"
            return as_score(self.ceiling_func(), asked)

    def compared_with(self) -> Sequence[Any]:
        """The measurements that its metric takes after as many assemblies of a model's responses; none by default."""
        return ()

    def seen_and_recorded(self) -> tuple[Hashable, str]:
        """A key of the stimuli that models see, and the region that is recorded, as far as known without loading data.

        By default the key is the identifier, which no other benchmark has.
        """
        return self.identifier, self.region or ""

    def _ceiling_in_draws(self) -> Score:
        """The ceiling, with its value in each draw while bootstrap resamples are drawn."""
        plan = Resampling.active()
        if plan is None:
            return self.ceiling
        if plan not in self._drawn_ceilings:
            self._drawn_ceilings[plan] = self.ceiling_func()
        return self._drawn_ceilings[plan]

    @cached_property
    def _drawn_ceilings(self) -> dict[Resampling, Score]:
        return {}

    def __call__(self, candidate: BrainModel) -> Score:
        """Score ``candidate``.

        Returns:
            The score on the scale of the ceiling. ``score.unceiled`` is the score before normalisation, ``score.raw``
            the values it was aggregated from, and ``score.provenance`` names the model, the benchmark, its version and
            the digest of the data. A model without a score gets NaN, and ``score.provenance["reason"]`` says why.

        Raises:
            FileNotFoundError, PermissionError, ConnectionError: the data or the stimuli are not available.
            ValueError: the model cannot do the task, or its responses cannot be compared with the data.
        """
        start = datetime.now(UTC)
        try:
            self.ask(candidate)
            observed = self.observe(candidate, self.stimuli_for(candidate))
            compared = self.compare(observed)
            if not isinstance(compared, Mapping):  # a mapping of scores is combined in normalise
                compared = as_score(compared, f"the score of benchmark {self.identifier!r}")
                self._warn_unless_drawn(compared)
            unceiled = also_permuted(compared, as_metric(self.compare).permuted_values, [observed])
        except Undefined as undefined:
            unceiled = undefined.score
        return self.stamped(self.normalise(unceiled), candidate, start=start)

    def _warn_unless_drawn(self, compared: Score) -> None:
        plan, known = Resampling.active(), compared.uncertainty
        if plan is not None and math.isfinite(np.sum(compared.value)) and (known is None or known.draws is None):
            warnings.warn(
                f"benchmark {self.identifier!r} was not resampled over {' and '.join(plan.factors)}, because its "
                "compare() computes the score itself. Set self.metric and self.target, and leave compare() out; or let "
                "it return bsjax.labelled.metric.scored(metric, observed, measured)",
                stacklevel=3,
            )

    def of_many(self, candidates: Sequence[BrainModel]) -> list[Score | Exception]:
        """Score several models; each gets the same score as on its own, or the error that it raised.

        If the benchmark compares with its metric alone, and the metric accepts many sources, the models' responses are
        compared together. On an accelerator, responses of equal shape share one call of a compiled program. The memory
        limit (:func:`bsjax.memory_limit`) bounds how many responses are held at a time.

        Example:
            >>> from bsjax import load_benchmark, load_model
            >>> benchmark, models = load_benchmark("Simulated.V1-cka"), [load_model("pixels"), load_model("gabor-v1")]
            >>> benchmark.of_many(models)[1] == benchmark(models[1])
            True
        """
        made: dict[int, Score | Exception] = {}
        observed: dict[int, Any] = {}
        for number, candidate in enumerate(candidates):
            start = datetime.now(UTC)
            try:
                if not self._compares_many:
                    made[number] = scored_by(self, candidate)
                    continue
                self.ask(candidate)
                observed[number] = self.observe(candidate, self.stimuli_for(candidate))
            except Undefined as undefined:
                made[number] = self.stamped(self.normalise(undefined.score), candidate, start=start)
            except Exception as error:  # one model's error must not stop the others
                made[number] = error
            if sum(one.nbytes for one in observed.values()) > features_in_memory():
                made |= self._compared(observed, candidates)
                observed = {}
        made |= self._compared(observed, candidates)
        return [made[number] for number in range(len(candidates))]

    @property
    def fitted_beside(self) -> Hashable:
        """A key that is equal for benchmarks that may be fitted to the same responses in one call; None for none.

        It loads no data, see :func:`bsjax.benchmarks.subjects.scored_at_once`.
        """
        return None

    @property
    def _compares_many(self) -> bool:
        own = type(self).compare is not BenchmarkBase.compare or type(self).__call__ is not BenchmarkBase.__call__
        return not own and as_metric(self.metric).takes_many and not any_plan()

    def _compared(self, observed: Mapping[int, Any], candidates: Sequence[BrainModel]) -> dict[int, Score | Exception]:
        if not observed:
            return {}
        start = datetime.now(UTC)
        names = {str(number): one for number, one in observed.items()}
        compared = scored_together(SharedTarget(self.metric, self.target, folds=False), names)
        begun = datetime.now(UTC) - (datetime.now(UTC) - start) / len(observed)
        made: dict[int, Score | Exception] = {}
        for number in observed:
            one = compared[str(number)]
            try:
                if isinstance(one, ValueError):
                    raise one
                made[number] = self.stamped(self.normalise(one.score), candidates[number], start=begun)
            except Exception as error:
                made[number] = error
        return made

    def ask(self, candidate: BrainModel) -> None:
        """Start the task, so that a model that cannot do it says so before any stimulus is loaded."""

    def stimuli_for(self, candidate: BrainModel) -> Any:
        """The stimuli as the model sees them: at their size in degrees, in its field of view."""
        return None if self.stimuli is None else placed(self.stimuli, candidate, self.visual_degrees)

    def observe(self, candidate: BrainModel, stimuli: Any) -> Any:
        """The model's responses to stimuli that are already on its screen."""
        raise NotImplementedError(
            f"{type(self).__name__} has no observe(candidate, stimuli), nor a __call__ of its own"
        )

    def compare(self, observed: Any) -> Any:
        """The score of a model's responses, before normalisation."""
        return scored(self.metric, observed, self.target)

    def normalise(self, unceiled: Any, ceiling: Score | None = None) -> Score:
        """The score on the scale of ``ceiling``, by default the benchmark's own."""
        if not callable(self._normalise):
            return unceiled
        return self._normalise(unceiled, self._ceiling_in_draws() if ceiling is None else ceiling)

    @cached_property
    def made_from(self) -> dict[str, Any]:
        """Provenance that all scores share: region or task, digest of the data, number of stimuli."""
        return {}

    def stamped(
        self,
        score: Score,
        candidate: BrainModel,
        *,
        start: datetime | None = None,
        layers: Mapping[str, list[str]] | None = None,
        **more: Any,
    ) -> Score:
        """``score`` with provenance: the model, this benchmark, its data, and ``more``.

        Args:
            score: the score. Entries already in its provenance stay.
            candidate: the model that was scored.
            start: when scoring began.
            layers: region -> recorded layers, if they differ from the layers that the model uses now.
            **more: further entries.
        """
        known = {name: value for name, value in self.made_from.items() if name not in score.provenance}
        made = replace(
            score.provenance.with_entries(**known, **more),
            model=candidate.identifier,
            model_digest=getattr(candidate, "digest", None),
            layers=(getattr(candidate, "layers_in_use", None) if layers is None else layers) or None,
            benchmark=self.identifier,
            benchmark_version=self.version,
            parent=self.parent or None,
            start=None if start is None else start.isoformat(timespec="seconds"),
            seconds=None if start is None else _seconds_since(start),
        )
        return replace(score, provenance=made)

    def paradigm(self) -> Paradigm:
        """The stimuli, recording, comparison and normalisation in words; loads no data."""
        about = (type(self).__doc__ or "").strip().partition("\n")[0]
        unknown = "not described"
        return Paradigm(unknown, unknown, about or unknown, unknown)

    def describe(self) -> str:
        """The benchmark in words: stimuli, recording, comparison and normalisation. Loads no data.

        Example:
            >>> from bsjax import load_benchmark
            >>> print(load_benchmark("Simulated.V1-ridge").describe())
            Simulated.V1-ridge, version 2, averaged under V1
            <BLANKLINE>
            shown       the stimuli of the recordings, at the size stated with the ...
            recorded    V1, in the time bins of the data
            compared    with simulated spike counts of 96 V1 neuroids, by ridge regression, ...
            normalised  r²/c: the signed squared correlation, divided by the ceiling; ...
        """
        under = f", averaged under {self.parent}" if self.parent else ""
        lines = [f"{self.identifier}, version {self.version}{under}", ""]
        for heading, words in self.paradigm()._asdict().items():
            lines += textwrap.wrap(f"{heading:<12}{words}", _WIDTH, subsequent_indent=" " * 12, break_on_hyphens=False)
        return "\n".join(lines)


def scored_by(benchmark: Any, candidate: BrainModel) -> Score:
    """The score of a model with its provenance, also from a benchmark with its own ``__call__`` that adds none."""
    start = datetime.now(UTC)
    score = as_score(benchmark(candidate), f"the score of benchmark {benchmark.identifier!r}")
    made = score.provenance
    if made.start is not None:
        return score
    if isinstance(benchmark, BenchmarkBase):
        return benchmark.stamped(score, candidate, start=start, layers=made.layers)
    known = {
        "model_digest": getattr(candidate, "digest", None),
        "benchmark_version": getattr(benchmark, "version", None),  # an object may lack what it is not asked for
        "parent": getattr(benchmark, "parent", None) or None,
    }
    lacking = {name: value for name, value in known.items() if value is not None and name not in made}
    when = {"start": start.isoformat(timespec="seconds"), "seconds": _seconds_since(start)}
    return replace(score, provenance=replace(made, **lacking, **when))


def _seconds_since(start: datetime) -> float:
    return round((datetime.now(UTC) - start).total_seconds(), 3)
