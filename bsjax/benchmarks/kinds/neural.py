"""Benchmarks that compare a model's responses in one region with measured ones."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bsjax.benchmarks import descriptions as wording
from bsjax.benchmarks.base import BenchmarkBase
from bsjax.benchmarks.ceilings import Ceiling
from bsjax.benchmarks.data_digest import data_digest
from bsjax.benchmarks.descriptions import Paradigm
from bsjax.benchmarks.experiment import (
    TimeBins,
    complete,
    needs_of_recordings,
    record,
    single_region,
    squeeze_time,
    stimuli_of,
    timebins_from_assembly,
)
from bsjax.benchmarks.lazy_loading import LazyLoad, loader
from bsjax.core.files import warn_once
from bsjax.data import NeuroidAssembly, StimulusSet, average_repetition
from bsjax.labelled import Score, metric_registry
from bsjax.labelled.align import STIMULUS
from bsjax.labelled.metric import as_metric
from bsjax.labelled.normalise import Normalisation
from bsjax.labelled.splits import WITHOUT_STRATA

if TYPE_CHECKING:
    from bsjax.models import BrainModel


class NeuralBenchmark(BenchmarkBase):
    """How well a model's responses in a region account for measured responses to the same stimuli.

    Scoring follows Brain-Score: record from the model in the assembly's region and time bins, show it the assembly's
    stimuli at their size in degrees, compare with the measured responses averaged over repetitions, and put the result
    on the scale of the ceiling. The arguments are those of Brain-Score's class of this name; those after ``bibtex`` are
    new. The assembly may contain repetitions.

    Args:
        identifier: unique name of the benchmark.
        assembly: responses, dims ``(presentation, neuroid)`` or with ``time_bin``, a ``LazyLoad``, or a function
            without arguments that loads them; loaded once, when a score first needs it. Coordinates ``stimulus_id``,
            ``neuroid_id``, ``region`` (one value) and optionally ``repetition``; repetitions are averaged for the
            comparison. ``assembly.stimulus_set`` holds the stimuli.
        similarity_metric: ``metric(source, target) -> Score``, e.g. ``load_metric("pls")``. With several time bins,
            source and target have the dimension ``time_bin``. CKA and RDMs get an error by influence functions unless
            another one is asked for.
        visual_degrees: width of the stimuli in degrees of visual angle. If ``None``, the ``degrees`` column of the
            stimulus set gives it; without that column the size is unknown, and each image fills the model's field of
            view.
        number_of_trials: number of presentations of each stimulus.
        ceiling_func: function without arguments that returns the ceiling, e.g. a :class:`~bsjax.benchmarks.Ceiling`;
            called once, when first needed.
        version: number that rises by one whenever the benchmark's scores change.
        parent: the node under which the benchmark is averaged, e.g. ``"V1"``.
        bibtex: publication of the data.
        normalisation: as for :class:`~bsjax.benchmarks.BenchmarkBase`; by default that of the metric
            (:attr:`bsjax.labelled.metric.Metric.normalisation`): r/√c for CKA and RDMs, r²/c for regressions. For a
            callable that states none it is r/√c if the ceiling compares halves of the trials by a
            ``consistency_metric``, else r²/c.
        region: the region of the data, checked when they are loaded; by default read from the data.
        time_bins: the time bins of the data, (start, end) in ms; checked likewise, and used for data without any.
        about: what was recorded, in a few words, for :meth:`describe`.

    Raises:
        ValueError: ``ceiling_func`` is missing.
        KeyError: the normalisation is unknown; the message lists the known ones.

    Example:
        >>> from bsjax import load_benchmark, load_model
        >>> score = load_benchmark("Simulated.V1-ridge")(load_model("pixels"))
        >>> score.formula, score.n_units == score.unceiled.n_units
        ('r²/c', True)
    """

    def __init__(
        self,
        identifier: str,
        assembly: NeuroidAssembly | Callable[[], NeuroidAssembly] | LazyLoad,
        similarity_metric: Callable[[NeuroidAssembly, NeuroidAssembly], Score],
        visual_degrees: float | None = None,
        number_of_trials: int = 1,
        ceiling_func: Callable[[], Score] | None = None,
        version: int = 1,
        parent: str = "",
        bibtex: str = "",
        *,
        normalisation: str | Normalisation | None = None,
        region: str | None = None,
        time_bins: TimeBins | None = None,
        about: str = "",
    ) -> None:
        metric = as_metric(similarity_metric)
        if normalisation is None:
            of_ceiling = as_metric(ceiling_func.method).normalisation if isinstance(ceiling_func, Ceiling) else ""
            normalisation = metric.normalisation or of_ceiling or "explained_variance"
        super().__init__(identifier, ceiling_func, version, parent, bibtex, normalisation=normalisation)
        self.metric = metric.with_interval()
        self.visual_degrees = visual_degrees
        self.number_of_trials = number_of_trials
        self.region = region
        self.time_bins = None if time_bins is None else list(time_bins)
        self.about = about
        self._load_assembly = loader(assembly)
        self._is_in_memory = not callable(assembly)

    @cached_property
    def _assembly(self) -> NeuroidAssembly:
        return self._load_assembly()

    @cached_property
    def target(self) -> NeuroidAssembly:
        """The measured responses averaged over repetitions, dims ``(presentation, neuroid[, time_bin])``."""
        assembly = self._assembly
        if "repetition" in assembly.coords:
            assembly = average_repetition(assembly)
        return squeeze_time(assembly)

    def compared_with(self) -> list[NeuroidAssembly]:
        """The target."""
        return [self.target]

    def seen_and_recorded(self) -> tuple[Hashable, str]:
        """The digest of the stimuli and the region, if the assembly was given and not a function that loads it."""
        if self._is_in_memory:
            with suppress(ValueError):  # incomplete data are an error of the score, which says so
                return data_digest(self.stimuli), self._region
        return super().seen_and_recorded()

    @property
    def fitted_beside(self) -> Hashable:
        """Equal for the same metric, which fits each neuroid alone, of the same region, at the same times and size."""
        if type(self) is not NeuralBenchmark or not as_metric(self.metric).fits_neuroids_alone:
            return None
        return self.region, repr(self.time_bins), self.visual_degrees, self.number_of_trials, repr(self.metric)

    @cached_property
    def stimuli(self) -> StimulusSet:
        """The stimuli with measured responses."""
        return stimuli_of(self.target, self.identifier)

    @cached_property
    def _region(self) -> str:
        return single_region(self.target, self.identifier, self.region)

    @cached_property
    def made_from(self) -> dict[str, Any]:
        """The region, the digests of all trials and of the stimuli, and the number of stimuli."""
        return {
            "region": self._region,
            "data": data_digest(self._assembly),
            "stimuli": data_digest(self.stimuli),
            "n_stimuli": int(self.target.sizes["presentation"]),
        }

    def ask(self, candidate: BrainModel) -> None:
        """Raise an error if the data lack something, before the model sees any stimulus."""
        metric = as_metric(self.metric)
        lost = [name for name in metric.split_coords if name not in (STIMULUS, *self._assembly.coords)]
        hint = f". Its metric splits by {', '.join(lost)}: {WITHOUT_STRATA}" if lost else ""
        complete(self._assembly, self.identifier, needs_of_recordings(self.time_bins, metric), hint=hint)

    def observe(self, candidate: BrainModel, stimuli: StimulusSet) -> NeuroidAssembly:
        """The model's responses in the region and the time bins of the data.

        Raises:
            ValueError: the model cannot record from the region, or the data have several regions, or other regions than
                declared.
        """
        time_bins = timebins_from_assembly(self.target, self.time_bins)
        return record(candidate, self._region, time_bins, stimuli, self.number_of_trials)

    def normalise(self, unceiled: Score, ceiling: Score | None = None) -> Score:
        """The score on the scale of the ceiling; warns once if the ceiling does not fit the metric."""
        score = super().normalise(unceiled, ceiling)
        by_unit = score.ceiling is not None and score.ceiling.raw is not None and "neuroid" in score.ceiling.raw.dims
        if by_unit and unceiled.n_units is None and unceiled.provenance.metric:
            metric = unceiled.provenance.metric
            warn_once(
                f"{self.identifier} compares whole populations by {metric}, but its ceiling is the reliability of "
                "single neuroids, so a score of 1 is not the best that the noise allows: "
                f"{self._fitting_ceiling(metric)}"
            )
        return score

    def _fitting_ceiling(self, metric: str) -> str:
        """Advice on a ceiling by the same comparison."""
        if as_metric(self.metric).of_halves is not None:
            given = f"load_metric({metric!r})" if metric in metric_registry else "the metric"
            return f"give Ceiling(load_ceiling('internal_consistency', consistency_metric={given}), trials)"
        return f"give a ceiling_func that compares halves of the trials by {metric}"

    def paradigm(self) -> Paradigm:
        """The stimuli, recording, comparison and normalisation in words; loads no data."""
        return Paradigm(
            wording.shown("the stimuli of the recordings", self.visual_degrees, self.number_of_trials),
            wording.recorded(self.region, self.time_bins),
            f"with {self.about or 'the recordings'}, by {wording.metric_words(self.metric)}",
            wording.normalised(self.ceiling_func, self.normalisation),
        )
