"""Comparison of a model's recordings in one region with measured ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

from bsjax.benchmarks import descriptions as wording
from bsjax.benchmarks.base import BenchmarkBase, Paradigm
from bsjax.benchmarks.data_digest import assembly_digest
from bsjax.benchmarks.experiment import TimeBins, on_screen, record, single_region, squeeze_time, timebins_from_assembly
from bsjax.benchmarks.lazy_loading import LazyLoad, loader
from bsjax.data import NeuroidAssembly, StimulusSet, average_repetition
from bsjax.labelled import Score
from bsjax.labelled.normalise import normalisation_named
from bsjax.labelled.padding import compare

if TYPE_CHECKING:
    from bsjax.models import BrainModel


class NeuralBenchmark(BenchmarkBase):
    """How well a model's responses in a region account for measured responses to the same stimuli.

    Scoring follows Brain-Score's call flow: record from the model in the assembly's region and time bins, show
    it the assembly's stimuli at their size in degrees, compare with the measured responses averaged over
    repetitions, and put the result on the scale of the ceiling. The arguments are those of Brain-Score's class of
    this name; those after ``bibtex`` are new, and the assembly may keep its repetitions.

    Args:
        identifier: unique name of the benchmark.
        assembly: responses, dims ``(presentation, neuroid)`` or with ``time_bin``, a ``LazyLoad``, or a
            function without arguments that loads them; it is called once, when a score first needs it. Coordinates
            ``stimulus_id``, ``neuroid_id``, ``region`` (one value) and optionally ``repetition``; repetitions are
            averaged for the comparison. ``assembly.stimulus_set`` holds the stimuli.
        similarity_metric: ``metric(source, target) -> Score``, e.g. ``load_metric("pls")``. Where there are several
            time bins, both have the dimension ``time_bin``.
        visual_degrees: width of the stimuli in degrees of visual angle. If ``None``, it is the ``degrees``
            column of the stimulus set; if there is none either, the size is unknown and each image fills the
            model's field.
        number_of_trials: how often the model sees each stimulus.
        ceiling_func: function without arguments that gives the ceiling, e.g. a :class:`~bsjax.benchmarks.Ceiling`;
            called once, on demand.
        version: raised by one whenever the benchmark's scores change.
        parent: what this benchmark is averaged under, e.g. ``"V1"``.
        bibtex: publication of the data.
        normalisation: how the raw score is put on the scale of the ceiling: the name of a function of
            :mod:`bsjax.labelled.normalise`, such as ``"r_over_sqrt_ceiling"``, or ``(raw score, ceiling) -> Score``.
        region: the region of the data, checked when they are there; without it, known only then.
        time_bins: the time bins of the data, (start, end) in ms; likewise, and used for data without any.
        about: what was recorded, in a few words, for :meth:`describe`.

    Raises:
        ValueError: there is no ``ceiling_func``.
        KeyError: no such normalisation; the message names those that there are.

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
        normalisation: str | Callable[[Score, Score], Score] = "explained_variance",
        region: str | None = None,
        time_bins: TimeBins | None = None,
        about: str = "",
    ) -> None:
        super().__init__(identifier, ceiling_func, version, parent, bibtex)
        self.metric = similarity_metric
        self.visual_degrees = visual_degrees
        self.number_of_trials = number_of_trials
        self.normalisation = wording.normalisation_name(normalisation)
        self.region = region
        self.time_bins = None if time_bins is None else list(time_bins)
        self.about = about
        self._load_assembly = loader(assembly)
        self._normalise = normalisation_named(normalisation) if isinstance(normalisation, str) else normalisation

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

    @cached_property
    def _digest(self) -> str:
        return assembly_digest(self._assembly)

    def __call__(self, candidate: BrainModel) -> Score:
        """Score ``candidate``.

        Returns:
            The ceiled score; ``score.unceiled`` is the raw one, ``score.raw`` its values per split and
            neuroid, and ``score.provenance`` names model, benchmark, version, region and the digest of the
            data.

        Raises:
            ValueError: the model cannot record from the region, the data have several regions or others than
                declared, or the metric cannot compare them.
        """
        start = datetime.now(UTC)
        target = self.target
        region = single_region(target, self.identifier, self.region)
        time_bins = timebins_from_assembly(target, self.time_bins)
        source = record(candidate, region, time_bins, self.stimuli_for(candidate), self.number_of_trials)
        return self.ceiled(compare(self.metric, source, target), candidate, start=start)

    def ceiled(
        self,
        unceiled: Score,
        candidate: BrainModel,
        *,
        start: datetime | None = None,
        layers: Mapping[str, list[str]] | None = None,
    ) -> Score:
        """What the metric gave for a model, put on the scale of the ceiling and labelled with what was compared.

        Args:
            unceiled: ``metric(recordings, target)``.
            candidate: the model.
            start: when scoring it began.
            layers: region -> the layers that were recorded, where they are not those that the model now reads.
        """
        return self.labelled(
            self._normalise(unceiled, self.ceiling),
            candidate,
            start=start,
            layers=layers,
            region=single_region(self.target, self.identifier, self.region),
            data=self._digest,
            n_stimuli=int(self.target.sizes["presentation"]),
        )

    def stimuli_for(self, candidate: BrainModel) -> StimulusSet:
        """The stimuli as the model is to see them: at their size in degrees, in its field of view.

        Raises:
            ValueError: the data have no stimulus set.
        """
        return on_screen(self.target, candidate, self.visual_degrees, self.identifier)

    def paradigm(self) -> Paradigm:
        """What is shown, recorded, compared and normalised; nothing is loaded for it."""
        return Paradigm(
            wording.shown("the stimuli of the recordings", self.visual_degrees, self.number_of_trials),
            wording.recorded(self.region, self.time_bins),
            f"with {self.about or 'the recordings'}, by {wording.metric_words(self.metric)}",
            wording.normalised(self.ceiling_func, self.normalisation),
        )
