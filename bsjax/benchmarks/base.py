"""The protocol of benchmarks, and the template that a benchmark's call follows: from stimuli to a stamped score."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from bsjax.benchmarks.descriptions import Paradigm, normalisation_name
from bsjax.benchmarks.experiment import placed
from bsjax.engine.memory_limit import features_in_memory
from bsjax.labelled import Provenance, Score
from bsjax.labelled.layers import SharedTarget, scored_together
from bsjax.labelled.metric import as_metric, scored
from bsjax.labelled.normalise import Normalisation, normalisation_named
from bsjax.labelled.resampling.calibration import also_permuted
from bsjax.labelled.resampling.draws import Resampling, active_plan, in_draws
from bsjax.labelled.resampling.permutations import active_permutations
from bsjax.labelled.score import as_score

if TYPE_CHECKING:
    from bsjax.models import BrainModel

_WIDTH = 100


class Benchmark(Protocol):
    """Anything that scores a brain model.

    Any object with these members is a benchmark; there is nothing to inherit from and nothing to register.

    Attributes:
        identifier: unique name, e.g. ``"Cowley2026.V4-ridge"``.
        version: raised by one whenever a change of the benchmark changes its scores.
        parent: the benchmark or region under which this one is averaged, e.g. ``"V4"``.
        bibtex: the publication of the data, ``""`` if there is none.

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
        """The best score that the noise in the data allows, computed when first asked for."""
        ...

    def __call__(self, candidate: BrainModel) -> Score:
        """Score ``candidate``; the result holds the raw score and the ceiling it was divided by."""
        ...


class Undefined(ValueError):
    """What a step of a benchmark raises for a model that has no score: it scores NaN, and its provenance says why.

    Args:
        reason: why, for ``score.provenance["reason"]``.
        formula: what the score would have been, before its normalisation.
        provenance: what else the score's provenance is to say.

    Example:
        >>> Undefined("no unit responds", formula="r").score.provenance.reason
        'no unit responds'
    """

    def __init__(self, reason: str, formula: str = "", **provenance: Any) -> None:
        super().__init__(reason)
        self.score = Score(math.nan, formula=formula, provenance=Provenance.of({"reason": reason, **provenance}))


class BenchmarkBase:
    """A benchmark without its experiment. A call takes these steps, and a subclass has those that are its own.

    0. ``ask(candidate)``: what the model is to do, where it is the same for all stimuli; by default nothing is said.
    1. ``stimuli_for(candidate)``: the stimuli as the model is to see them; by default ``self.stimuli`` on its screen,
       ``self.visual_degrees`` wide.
    2. ``observe(candidate, stimuli)``: what the model answers, recordings or behaviour. Every subclass has its own.
    3. ``compare(observed)``: the score before its normalisation; by default ``self.metric(observed, self.target)``.
       Where draws are asked for (:func:`bsjax.labelled.resampling.draws.in_draws`), in each of them as well; where
       permutations are (:func:`bsjax.labelled.resampling.permutations.in_permutations`), after each of them.
    4. ``normalise(unceiled)``: the score on the scale of the ceiling, by ``normalisation``.
    5. ``stamped(score, candidate)``: the score with what it was made from in its provenance, ``self.made_from`` too.

    A step may raise :class:`Undefined`. A subclass may have a ``__call__(candidate) -> Score`` instead, as in
    Brain-Score, whose class of this name takes the same arguments but the last.

    Args:
        identifier: unique name, e.g. ``"MajajHong2015.IT-pls"``.
        ceiling_func: function without arguments that gives the ceiling: a :class:`~bsjax.benchmarks.Ceiling`, whose
            result is kept on disk, or any other. It is called once, when the ceiling is first needed.
        version: raised by one whenever the benchmark's scores change.
        parent: what the benchmark is averaged under: a region, ``"behavior"``, or another benchmark.
        bibtex: publication of the data.
        normalisation: how the score is put on the scale of the ceiling: the name of a function of
            :mod:`bsjax.labelled.normalise`, such as ``"r_over_sqrt_ceiling"``, or ``(raw score, ceiling) -> Score``;
            ``""`` leaves it as it is.

    Raises:
        ValueError: there is no ``ceiling_func``, or the version is no whole number from 1.
        KeyError: no such normalisation; the message names those that there are.

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

    # What a subclass may have; the steps say what for.
    stimuli: Any = None
    metric: Any = None
    target: Any = None
    visual_degrees: float | None = None

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
        # The second name is Brain-Score's, which subclasses that come from there may call.
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
        """The ceiling: what a perfect model would score, given the noise in the data."""
        with in_draws(None):
            asked = f"benchmark {self.identifier!r}: have ceiling_func give a bsjax.Score; the ceiling"
            return as_score(self.ceiling_func(), asked)

    def _ceiling_in_draws(self) -> Score:
        """The ceiling; where draws are asked for, with its values in them."""
        plan = active_plan()
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
            The score on the scale of the ceiling; ``score.unceiled`` is the one before, ``score.raw`` what it was
            aggregated from, and ``score.provenance`` names model, benchmark, version and the digest of the data. NaN,
            with ``score.provenance["reason"]``, for a model that has none.

        Raises:
            FileNotFoundError, PermissionError, ConnectionError: the data or the stimuli cannot be had.
            ValueError: the model cannot do what is asked of it, or its answers cannot be compared with the data.
        """
        start = datetime.now(UTC)
        try:
            self.ask(candidate)
            observed = self.observe(candidate, self.stimuli_for(candidate))
            compared = self.compare(observed)
            if not isinstance(compared, Mapping):  # of scores, which its normalisation puts together
                compared = as_score(compared, f"the score of benchmark {self.identifier!r}")
            unceiled = also_permuted(compared, as_metric(self.compare).nulls, [observed])
        except Undefined as undefined:
            unceiled = undefined.score
        return self.stamped(self.normalise(unceiled), candidate, start=start)

    def of_many(self, candidates: Sequence[BrainModel]) -> list[Score | Exception]:
        """The scores of several models, each as by itself, or the error instead of one.

        Where the benchmark compares by its metric alone, and the metric takes many sources, their answers are compared
        together: those of one shape that are on an accelerator in one call of one program. As many answers are held at
        a time as may be (:func:`bsjax.memory_limit`).

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
                    made[number] = self(candidate)
                    continue
                self.ask(candidate)
                observed[number] = self.observe(candidate, self.stimuli_for(candidate))
            except Undefined as undefined:
                made[number] = self.stamped(self.normalise(undefined.score), candidate, start=start)
            except Exception as error:  # whatever one model does, the others are still wanted
                made[number] = error
            if sum(one.nbytes for one in observed.values()) > features_in_memory():
                made |= self._compared(observed, candidates)
                observed = {}
        made |= self._compared(observed, candidates)
        return [made[number] for number in range(len(candidates))]

    @property
    def _compares_many(self) -> bool:
        own = type(self).compare is not BenchmarkBase.compare or type(self).__call__ is not BenchmarkBase.__call__
        return not own and as_metric(self.metric).takes_many and active_plan() is None and active_permutations() is None

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
        """The stimuli as the model is to see them: at their size in degrees, in its field of view."""
        return None if self.stimuli is None else placed(self.stimuli, candidate, self.visual_degrees)

    def observe(self, candidate: BrainModel, stimuli: Any) -> Any:
        """What the model answers to stimuli that are on its screen."""
        raise NotImplementedError(
            f"{type(self).__name__} has no observe(candidate, stimuli), nor a __call__ of its own"
        )

    def compare(self, observed: Any) -> Any:
        """The score, before its normalisation, of what a model has answered."""
        return scored(self.metric, observed, self.target)

    def normalise(self, unceiled: Any, ceiling: Score | None = None) -> Score:
        """The score on the scale of a ceiling, by default of the benchmark's."""
        if not callable(self._normalise):
            return unceiled
        return self._normalise(unceiled, self._ceiling_in_draws() if ceiling is None else ceiling)

    @cached_property
    def made_from(self) -> dict[str, Any]:
        """What every score is made from, beside the model: a region or a task, the digest of the data, their number."""
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
        """``score`` with what it was made from in its provenance: the model, this benchmark, its data, and ``more``.

        Args:
            score: what its own provenance says stays.
            candidate: the model that was scored.
            start: when scoring it began.
            layers: region -> the layers that were recorded, where they are not those that the model now reads.
            **more: what else is known.
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
            seconds=None if start is None else round((datetime.now(UTC) - start).total_seconds(), 3),
        )
        return replace(score, provenance=made)

    def paradigm(self) -> Paradigm:
        """What is shown, recorded, compared and normalised; nothing is loaded for it."""
        about = (type(self).__doc__ or "").strip().partition("\n")[0]
        unknown = "its author does not say"
        return Paradigm(unknown, unknown, about or unknown, unknown)

    def describe(self) -> str:
        """The benchmark in words: what is shown, recorded and compared, and how the score is normalised.

        Nothing is read or fetched for it.

        Example:
            >>> from bsjax import load_benchmark
            >>> print(load_benchmark("Simulated.V1-ridge").describe())
            Simulated.V1-ridge, version 2, averaged under V1
            <BLANKLINE>
            shown       the stimuli of the recordings, at the size that they state, ...
            recorded    V1, in the time bins of the data
            compared    with simulated spike counts of 96 V1 neuroids, by ridge regression, ...
            normalised  r²/c: the square of the correlation, with its sign, over the ceiling; ...
        """
        under = f", averaged under {self.parent}" if self.parent else ""
        lines = [f"{self.identifier}, version {self.version}{under}", ""]
        for heading, words in self.paradigm()._asdict().items():
            lines += textwrap.wrap(f"{heading:<12}{words}", _WIDTH, subsequent_indent=" " * 12, break_on_hyphens=False)
        return "\n".join(lines)
