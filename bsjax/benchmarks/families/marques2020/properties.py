"""Comparison of the distributions of single-neuron properties in a model and in a recording."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from bsjax.benchmarks import descriptions as wording
from bsjax.benchmarks.base import BenchmarkBase, Undefined
from bsjax.benchmarks.data_digest import data_digest
from bsjax.benchmarks.descriptions import Paradigm
from bsjax.benchmarks.experiment import TimeBins, record, single_region
from bsjax.benchmarks.families.marques2020.stimuli import RENDERED, gratings
from bsjax.benchmarks.families.marques2020.v1_population import NothingToMeasure, population
from bsjax.benchmarks.lazy_loading import LazyLoad, loader
from bsjax.data import NeuroidAssembly, PropertyAssembly, StimulusSet, load_stimulus_set
from bsjax.labelled import Score
from bsjax.labelled.align import coordinate
from bsjax.labelled.metric import scored
from bsjax.labelled.tuning.distributions import BootstrapDistributionSimilarity, NeuronalPropertyCeiling
from bsjax.models import place_on_screen

if TYPE_CHECKING:
    from bsjax.models import BrainModel

Measure = Callable[[NeuroidAssembly, NDArray[np.float64]], PropertyAssembly]
"""Properties of neurons from their responses (presentation, neuroid) and spontaneous activity, in spikes per second."""

Show = Callable[[StimulusSet | str], NeuroidAssembly]
"""Shows a model stimuli at their size and returns its responses (presentation, neuroid)."""

_CEILING = "how alike draws from the recording are to the recording (property_ceiling)"


class PropertiesBenchmark(BenchmarkBase):
    """Similarity of the distributions of a single-neuron property, e.g. preferred orientation, in a model and in V1.

    The model's units are treated like neurons in an experiment. Units are selected whose receptive field lies where
    the stimuli are shown. Their responses are converted to firing rates
    (:func:`bsjax.benchmarks.families.marques2020.v1_population.population`). The property is measured in responsive
    units, and its distribution is compared with the recorded one. The arguments are those of Brain-Score's class of
    this name; those after ``bibtex`` are new.

    Args:
        identifier: unique name of the benchmark.
        assembly: the recorded properties, dims ``(neuroid, neuroid_property)``, with the bins of each property in the
            attribute ``<property>_bins`` and a coordinate ``region``; a ``LazyLoad``, or a function without arguments
            that loads it.
        neuronal_property: ``(responses, baseline) -> PropertyAssembly``, a function of
            :mod:`bsjax.labelled.tuning.experiments`. Its baseline is the response to a blank image, ``(neuroid,)``.
        similarity_metric: the metric, ``load_metric("ks_similarity", property_name=...)``.
        timebins: the time bin to record in, ``[(start, end)]`` in ms.
        ceiling_func: function without arguments that returns the ceiling, or a ``NeuronalPropertyCeiling``; by default
            the ceiling of ``similarity_metric``.
        version: number that rises by one whenever the benchmark's scores change.
        parent: the node under which this benchmark is averaged.
        bibtex: publication of the data.
        region: the region to record.
        stimulus_set: the stimuli: a stimulus set with columns ``position_y`` and ``position_x``, constant over all
            stimuli, or the name of a set; by default that of the assembly. The gratings of Marques et al. are rendered
            here, other sets are loaded.
        number_of_trials: number of presentations of each stimulus.
        unit: unit of the property, for plots.
        about: what was recorded, in a few words, for :meth:`describe`.

    Raises:
        ValueError: the metric has no such ceiling and ``ceiling_func`` is missing, or there are several time bins.

    Example:
        >>> from bsjax import load_metric
        >>> from bsjax.benchmarks.families.marques2020.histograms import recorded
        >>> benchmark = PropertiesBenchmark(
        ...     "Mine2026-orientation", assembly=lambda: recorded("DeValois1982a"), neuronal_property=print,
        ...     similarity_metric=load_metric("ks_similarity", property_name="preferred_orientation"),
        ...     timebins=[(70, 170)], stimulus_set="Marques2020_orientation")
        >>> benchmark.ceiling
        Score(0.9613 ± 0.0180 [0.9260, 0.9967], 1 - KS/max)
    """

    def __init__(
        self,
        identifier: str,
        assembly: PropertyAssembly | Callable[[], PropertyAssembly] | LazyLoad,
        neuronal_property: Measure,
        similarity_metric: BootstrapDistributionSimilarity,
        timebins: TimeBins,
        ceiling_func: Callable[[], Score] | NeuronalPropertyCeiling | None = None,
        version: int = 1,
        parent: str = "",
        bibtex: str = "",
        *,
        region: str = "V1",
        stimulus_set: StimulusSet | str | None = None,
        number_of_trials: int = 20,
        unit: str = "",
        about: str = "",
    ) -> None:
        of_recording = NeuronalPropertyCeiling(similarity_metric) if ceiling_func is None else ceiling_func
        if isinstance(of_recording, NeuronalPropertyCeiling):
            ceiling_of = of_recording
            of_recording = lambda: ceiling_of(self.target)  # noqa: E731
        super().__init__(identifier, of_recording, version, parent, bibtex, normalisation="ceil_score")
        if len(timebins) != 1:
            raise ValueError(f"benchmark {identifier!r}: properties are measured in one time bin, got {timebins!r}")
        self.neuronal_property = neuronal_property
        self.metric = similarity_metric
        self.time_bins = list(timebins)
        self.region = region
        self.number_of_trials = number_of_trials
        self.unit = unit
        self.about = about
        self._stimulus_set = stimulus_set
        self._load_assembly = loader(assembly)

    @cached_property
    def target(self) -> PropertyAssembly:
        """The recorded properties, dims ``(neuroid, neuroid_property)``."""
        assembly = self._load_assembly()
        # Data published by Brain-Score may use the former name of the dimension.
        former = "neuronal_property" in assembly.dims
        return assembly.rename(neuronal_property="neuroid_property") if former else assembly

    @cached_property
    def stimuli(self) -> StimulusSet | str:
        """The stimuli, or the name of gratings that are rendered at the size of the model's field of view."""
        stimuli = self._stimulus_set if self._stimulus_set is not None else self.target.attrs.get("stimulus_set")
        if stimuli is None:
            raise ValueError(
                f"benchmark {self.identifier!r} has no stimulus_set, and its data have no attrs['stimulus_set'] "
                "either: give the images or gratings to show"
            )
        if isinstance(stimuli, StimulusSet) and stimuli.identifier in RENDERED:
            return stimuli.identifier
        return stimuli

    @cached_property
    def _region(self) -> str:
        return single_region(cast("Any", self.target), self.identifier, self.region)

    @cached_property
    def made_from(self) -> dict[str, Any]:
        """The region, and the digest of the recorded properties."""
        return {"region": self._region, "data": data_digest(self.target)}

    def stimuli_for(self, candidate: BrainModel) -> StimulusSet:
        """The stimuli as the model sees them."""
        return rendered(self.stimuli, candidate.visual_degrees())

    def observe(self, candidate: BrainModel, stimuli: StimulusSet) -> PropertyAssembly:
        """All properties that this experiment measures, for the model's responsive units.

        Returns:
            Dims ``(neuroid, neuroid_property)``. The attribute ``units_of_model`` is the number of units in the model,
            ``units_in_field`` the number whose receptive field lies where the stimuli are.

        Raises:
            Undefined: there is no unit to measure: none has its receptive field where the stimuli are, none responds to
                them, or none has the property.
            ValueError: the model cannot record from the region.
        """
        show = shows(candidate, self._region, self.time_bins, self.number_of_trials)
        responses = record(candidate, self._region, self.time_bins, stimuli, self.number_of_trials)
        made = {"metric": self.metric.identifier}
        try:
            found = population(show, _position(responses, self.identifier), candidate.identifier)
        except NothingToMeasure as error:
            raise Undefined(str(error), "1 - KS/max", **made) from None
        measured = self.neuronal_property(found.rates(responses), found.baseline)
        counts = {"units_of_model": found.n_units, "units_in_field": len(found.units)}
        name = self.metric.property_name
        if not np.isfinite(measured.sel(neuroid_property=name).values).any():
            raise Undefined(
                f"none of the {measured.sizes['neuroid']} units of model {candidate.identifier!r} that respond has a "
                f"{name.replace('_', ' ')}",
                "1 - KS/max",
                **made,
                **counts,
            )
        return measured.assign_attrs(counts)

    def compare(self, observed: PropertyAssembly) -> Score:
        """The similarity of the two distributions; ``raw`` has all bootstrap samples.

        ``provenance["distribution"]`` has the two histograms, for :func:`bsjax.plots.plot_property_distributions`.
        """
        score = scored(self.metric, observed, self.target)
        counts = {name: observed.attrs[name] for name in ("units_of_model", "units_in_field")}
        distribution = self._distribution(observed)
        return replace(score, provenance=score.provenance.with_details(**counts, distribution=distribution))

    def _distribution(self, measured: PropertyAssembly) -> dict[str, Any]:
        name = self.metric.property_name
        edges = np.asarray(self.target.attrs[f"{name}_bins"], float).ravel()
        counted = {"property": name, "unit": self.unit, "bins": edges.tolist()}
        for whose, assembly in (("recorded", self.target), ("model", measured)):
            values = np.asarray(assembly.sel(neuroid_property=name).values, float)
            counts, _ = np.histogram(np.clip(values[~np.isnan(values)], edges[0], edges[-1]), edges)
            counted |= {whose: counts.tolist(), f"{whose}_undefined": int(np.isnan(values).sum())}
        return counted

    def paradigm(self) -> Paradigm:
        """The stimuli, recording, comparison and normalisation in words; loads no data."""
        given = self._stimulus_set
        stimuli = "those of the data" if given is None else given if isinstance(given, str) else str(given.identifier)
        what = self.metric.property_name.replace("_", " ")
        return Paradigm(
            shown=wording.shown(f"the images of {stimuli}", None, self.number_of_trials)
            + "; gratings at 21 x 21 positions to find receptive fields, others to scale firing rates, a blank",
            recorded=wording.recorded(self.region, self.time_bins)
            + "; units whose receptive field covers the stimuli, with responses in spikes per second",
            compared=f"the {what} of these units with that of {self.about or 'recorded neurons'}; "
            + wording.metric_words(self.metric),
            normalised=f"the score divided by the ceiling; ceiling: {_CEILING}",
        )


def shows(candidate: BrainModel, region: str, time_bins: TimeBins, number_of_trials: int = 1) -> Show:
    """A function that shows a model stimuli at their size and returns its responses (presentation, neuroid).

    It takes a stimulus set with a column ``degrees``, or the name of a set. The sets in
    :data:`bsjax.benchmarks.families.marques2020.stimuli.RENDERED` are rendered, others are loaded.

    Args:
        candidate: the model.
        region: the region to record.
        time_bins: (start, end) in ms.
        number_of_trials: number of presentations of each stimulus.

    Example:
        >>> from bsjax import load_model
        >>> shows(load_model("pixels"), "V1", [(70, 170)])("Marques2020_blank").shape
        (1, 3072)
    """
    field = candidate.visual_degrees()
    return lambda stimuli: record(candidate, region, time_bins, rendered(stimuli, field), number_of_trials)


def rendered(stimuli: StimulusSet | str, field: float) -> StimulusSet:
    """A stimulus set, given itself or by name, on a screen ``field`` degrees wide."""
    if isinstance(stimuli, str) and stimuli in RENDERED:
        return gratings(stimuli, field)
    return place_on_screen(load_stimulus_set(stimuli) if isinstance(stimuli, str) else stimuli, field)


def _position(responses: NeuroidAssembly, identifier: str) -> tuple[float, float]:
    """Centre of the stimuli: y and x in degrees."""
    y, x = (
        np.unique(coordinate(responses, name, "presentation", f"the stimuli of {identifier!r}, as the model saw them,"))
        for name in ("position_y", "position_x")
    )
    if len(y) != 1 or len(x) != 1:
        raise ValueError(f"the stimuli of {identifier!r} must have one position; theirs are y {y} and x {x}")
    return float(y[0]), float(x[0])
