"""Layers as regions, in the building blocks of plugins' models: a region map, and alignment to time bins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from bsjax.compat.assemblies import NeuroidAssembly, for_plugins
from bsjax.labelled.align import at_positions
from bsjax.models.brain_model import Task, region_name
from bsjax.models.region_layers import Layers, layers_by_region
from bsjax.models.time_alignment import align_time, with_time_bins


class LayerMappedModel:
    """An activations model whose layers are recorded as regions.

    Args:
        identifier: name of the model.
        activations_model: model that returns activations.
        region_layer_map: region -> layers.
        visual_degrees: width of the field of view.
    """

    def __init__(
        self,
        identifier: str,
        activations_model: Any,
        region_layer_map: Mapping[str, Layers],
        visual_degrees: float | None = None,
    ) -> None:
        self._identifier = identifier
        self.activations_model = activations_model
        self.region_layer_map = region_layer_map
        self._visual_degrees = visual_degrees
        self.recorded_regions: list[str] = []

    @property
    def identifier(self) -> str:
        """The name of the model."""
        return self._identifier

    def visual_degrees(self) -> float | None:
        """Width of the field of view in degrees."""
        return self._visual_degrees

    def start_recording(self, recording_target: Any, *args: Any, **kwargs: Any) -> None:
        """Record from a region."""
        self.recorded_regions = [region_name(recording_target)]

    def start_task(self, task: Any, *args: Any, **kwargs: Any) -> None:
        """Accept the task ``passive``.

        Raises:
            NotImplementedError: the task is another one.
        """
        if task != Task.passive:
            raise NotImplementedError(f"model {self._identifier!r} records, and does no task such as {str(task)!r}")

    def look_at(self, stimuli: Any, number_of_trials: int = 1, require_variance: bool = False) -> NeuroidAssembly:
        """Activations of the region's layers, with the coordinate ``region``.

        Raises:
            ValueError: nothing is recorded, a region has no layer, or one layer is recorded for two regions.
        """
        if not self.recorded_regions:
            raise ValueError(f"model {self._identifier!r} is not recording: call start_recording(region) first")
        layers = layers_by_region({region: self._layers_of(region) for region in self.recorded_regions})
        region_of = {layer: region for region, names in layers.items() for layer in names}
        if len(region_of) < sum(map(len, layers.values())):
            raise ValueError(f"a layer is recorded for one region at a time, got {layers}")
        trials = {"number_of_trials": number_of_trials, "require_variance": require_variance}
        seen = self.run_activations(stimuli, layers=list(region_of), **trials)
        seen["region"] = "neuroid", [region_of[layer] for layer in seen["layer"].values.tolist()]
        return seen

    def _layers_of(self, region: str) -> Layers:
        known = self.region_layer_map
        if region not in known and not hasattr(type(known), "__missing__"):  # which would select a layer
            there = f"it has one for {', '.join(map(str, known))}" if known else "it has none for any region"
            raise ValueError(f"model {self._identifier!r} has no layer for {region}; {there}")
        return known[region]

    def run_activations(
        self, stimuli: Any, layers: Sequence[str], number_of_trials: int = 1, require_variance: bool = False
    ) -> NeuroidAssembly:
        """Activations of layers."""
        return self.activations_model(
            stimuli, layers=layers, number_of_trials=number_of_trials, require_variance=require_variance
        )


class TemporalAligned:
    """A model whose responses are aligned to the requested time bins.

    A model without time gives the same response in every bin.

    Args:
        layer_model: the model.
        align_fnc: alignment of a model with time, ``(assembly, bins) -> assembly``.
    """

    def __init__(self, layer_model: Any, align_fnc: Any = align_time) -> None:
        self._layer_model = layer_model
        self._align = align_fnc
        self._time_bins: list[tuple[float, float]] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_layer_model":
            raise AttributeError(name)
        return getattr(self._layer_model, name)

    def start_recording(self, recording_target: Any, time_bins: Sequence[Any]) -> None:
        """Record from a region in time bins, (start, end) in ms."""
        self._time_bins = [(float(start), float(end)) for start, end in time_bins]
        self._layer_model.start_recording(recording_target)

    def look_at(self, stimuli: Any, *args: Any, **kwargs: Any) -> NeuroidAssembly:
        """Responses; a single time bin is dropped.

        Raises:
            ValueError: nothing is recorded, or the responses do not cover a bin.
        """
        if not self._time_bins:
            raise ValueError("no time bins are recorded: call start_recording(region, time_bins) with one or more")
        seen = self._layer_model.look_at(stimuli, *args, **kwargs)
        if "time_bin" in seen.dims:
            seen = self._align(seen, self._time_bins)
            single = len(self._time_bins) == 1
            return for_plugins(at_positions(seen, {"time_bin": 0}, drop=True) if single else seen)
        return seen if len(self._time_bins) == 1 else for_plugins(with_time_bins(seen, self._time_bins))


def assembly_time_align(
    source: Any, target_time_bins: Sequence[tuple[float, float]], mode: Literal["portion", "center"] = "portion"
) -> Any:
    """:func:`bsjax.models.time_alignment.align_time` under its name in Brain-Score."""
    return align_time(source, target_time_bins, mode)


def fix_timebin_naming(assembly: Any) -> Any:
    """Return the assembly unchanged; in bsjax, a dimension's only coordinate keeps its name."""
    return assembly
