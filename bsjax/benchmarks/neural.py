"""Comparison of a model's recordings in one region with measured ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bsjax.benchmarks.digest import assembly_digest
from bsjax.data import NeuroidAssembly, StimulusSet, average_repetition
from bsjax.labelled import Score
from bsjax.labelled.normalise import normalisation_named
from bsjax.models import place_on_screen

if TYPE_CHECKING:
    from bsjax.models import BrainModel


class NeuralBenchmark:
    """How well a model's responses in a region account for measured responses to the same stimuli.

    Scoring follows Brain-Score's call flow: record from the model in the assembly's region and time bin, show
    it the assembly's stimuli at their size in degrees, compare with the measured responses averaged over
    repetitions, and divide by the ceiling. The arguments are those of Brain-Score's class of this name, and
    two more: ``normalisation``, and the assembly may keep its repetitions.

    Args:
        identifier: unique name of the benchmark.
        assembly: responses, dims ``(presentation, neuroid)`` or with a ``time_bin`` of length one, or a
            function without arguments that loads them; it is called once, when a score or ceiling first needs
            it. Coordinates ``stimulus_id``, ``neuroid_id``, ``region`` (one value) and optionally
            ``repetition``; repetitions are averaged for the comparison. ``assembly.stimulus_set`` holds the
            stimuli.
        similarity_metric: ``metric(source, target) -> Score``, e.g. ``load_metric("pls")``.
        visual_degrees: width of the stimuli in degrees of visual angle. If ``None``, it is the ``degrees``
            column of the stimulus set; if there is none either, the size is unknown and each image fills the
            model's field.
        number_of_trials: how often the model sees each stimulus.
        ceiling_func: function without arguments that gives the ceiling, called once, on demand.
        version: raised by one whenever the benchmark's scores change.
        parent: what this benchmark is averaged under, e.g. ``"V1"``.
        bibtex: publication of the data.
        normalisation: how the raw score is put on the scale of the ceiling: the name of a function of
            :mod:`bsjax.labelled.normalise`, such as ``"r_over_sqrt_ceiling"``, or ``(raw score, ceiling) -> Score``.

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
        assembly: NeuroidAssembly | Callable[[], NeuroidAssembly],
        similarity_metric: Callable[[NeuroidAssembly, NeuroidAssembly], Score],
        visual_degrees: float | None = None,
        number_of_trials: int = 1,
        ceiling_func: Callable[[], Score] | None = None,
        version: int = 1,
        parent: str = "",
        bibtex: str = "",
        *,
        normalisation: str | Callable[[Score, Score], Score] = "explained_variance",
    ) -> None:
        if ceiling_func is None:
            raise ValueError(
                f"benchmark {identifier!r} has no ceiling_func; give a function without arguments, "
                "e.g. lambda: load_ceiling('internal_consistency')(single_trials)"
            )
        self.identifier = identifier
        self.version = version
        self.parent = parent
        self.bibtex = bibtex
        self._load_assembly = assembly if callable(assembly) else lambda: assembly
        self.metric = similarity_metric
        self._visual_degrees = visual_degrees
        self._number_of_trials = number_of_trials
        self._ceiling_func = ceiling_func
        self._normalise = normalisation_named(normalisation) if isinstance(normalisation, str) else normalisation

    @cached_property
    def ceiling(self) -> Score:
        """The ceiling: what a perfect model would score, given the noise in the data. Computed once."""
        return self._ceiling_func()

    @cached_property
    def _assembly(self) -> NeuroidAssembly:
        return self._load_assembly()

    @cached_property
    def target(self) -> NeuroidAssembly:
        """The measured responses averaged over repetitions, dims ``(presentation, neuroid)``."""
        assembly = self._assembly
        if "repetition" in assembly.coords:
            assembly = average_repetition(assembly)
        return squeeze_time(assembly, self.identifier)

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
            ValueError: the model cannot record from the region, or the data have several regions or time
                bins.
        """
        target = self.target
        region = single_region(target, self.identifier)
        candidate.start_recording(region, time_bins=[time_bin_of(target)])
        source = candidate.look_at(self.stimuli_for(candidate), number_of_trials=self._number_of_trials)
        if not isinstance(source, NeuroidAssembly):
            raise ValueError(
                f"model {candidate.identifier!r} was asked to record from {region} "
                f"and answered with a {type(source).__name__}"
            )
        return self.ceiled(self.metric(squeeze_time(source, candidate.identifier), target), candidate.identifier)

    def ceiled(self, unceiled: Score, model: str) -> Score:
        """What the metric gave for a model, put on the scale of the ceiling and labelled with what was compared.

        Args:
            unceiled: ``metric(recordings, target)``.
            model: identifier of the model.
        """
        score = self._normalise(unceiled, self.ceiling)
        provenance = {
            **score.provenance,
            "model": model,
            "benchmark": self.identifier,
            "benchmark_version": self.version,
            "region": single_region(self.target, self.identifier),
            "data": self._digest,
            "n_stimuli": int(self.target.sizes["presentation"]),
        }
        return dataclasses.replace(score, provenance=provenance)

    def stimuli_for(self, candidate: BrainModel) -> StimulusSet:
        """The stimuli as the model is to see them: at their size in degrees, in its field of view.

        Raises:
            ValueError: the data have no stimulus set.
        """
        stimuli = self.target.attrs.get("stimulus_set")
        if stimuli is None:
            raise ValueError(
                f"the data of {self.identifier!r} have no attrs['stimulus_set']: what is the model to see?"
            )
        if self._visual_degrees is None and "degrees" not in stimuli.columns:
            return stimuli
        return place_on_screen(
            stimuli,
            target_visual_degrees=candidate.visual_degrees(),
            source_visual_degrees=self._visual_degrees,
        )


def single_region(assembly: NeuroidAssembly, identifier: str) -> str:
    """The one region that the assembly's neuroids are in.

    Raises:
        ValueError: there is no coordinate ``region``, or it has several values.

    Example:
        >>> from bsjax.benchmarks.simulated import assembly
        >>> single_region(assembly(), "Simulated.V1")
        'V1'
    """
    if "region" not in assembly.coords:
        raise ValueError(
            f"the data of {identifier!r} have no 'region' coordinate; they have {', '.join(map(str, assembly.coords))}"
        )
    regions = np.unique(assembly["region"].values.astype(str))
    if len(regions) != 1:
        raise ValueError(
            f"{identifier!r} compares one region, its data hold {len(regions)}: {', '.join(regions)}; "
            "select one, e.g. assembly.sel(region='V4')"
        )
    return str(regions[0])


def squeeze_time(assembly: NeuroidAssembly, identifier: str) -> NeuroidAssembly:
    """Drop a ``time_bin`` dimension of length one, if there is one.

    Raises:
        ValueError: there are several time bins.

    Example:
        >>> from bsjax.benchmarks.simulated import assembly
        >>> squeeze_time(assembly(), "Simulated.V1").dims
        ('presentation', 'neuroid')
    """
    if "time_bin" not in assembly.dims:
        return assembly
    if assembly.sizes["time_bin"] != 1:
        raise ValueError(f"expected one time bin from {identifier!r}, got {assembly.sizes['time_bin']}")
    return assembly.squeeze("time_bin")


def time_bin_of(assembly: NeuroidAssembly) -> tuple[float, float]:
    """The assembly's time bin, (start, end) in ms after stimulus onset.

    Raises:
        ValueError: a coordinate ``time_bin_start`` or ``time_bin_end`` is missing.

    Example:
        >>> from bsjax.benchmarks.simulated import assembly
        >>> time_bin_of(assembly())
        (0.0, 100.0)
    """
    missing = [name for name in ("time_bin_start", "time_bin_end") if name not in assembly.coords]
    if missing:
        raise ValueError(
            f"the data have no {' and no '.join(repr(name) for name in missing)} coordinate, "
            f"in ms after stimulus onset; they have {', '.join(map(str, assembly.coords))}"
        )
    return float(assembly["time_bin_start"].item()), float(assembly["time_bin_end"].item())
