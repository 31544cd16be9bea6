"""Selection of layers for regions, under the names known to plugins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from bsjax.benchmarks.lazy_loading import LazyLoad
from bsjax.compat.by_name.registries import load_benchmark
from bsjax.compat.models.layers import LayerMappedModel, TemporalAligned
from bsjax.compat.score import Score

STANDARD_REGION_BENCHMARKS: Mapping[str, Any] = {
    region: LazyLoad(partial(load_benchmark, f"{data}.{region}-pls"))
    for region, data in (
        ("V1", "FreemanZiemba2013public"),
        ("V2", "FreemanZiemba2013public"),
        ("V4", "MajajHong2015public"),
        ("IT", "MajajHong2015public"),
    )
}
"""The public benchmarks for the selection of layers."""


class LayerScores:
    """Scores of layers on a benchmark.

    Args:
        model_identifier: name of the model.
        activations_model: model that returns activations.
        visual_degrees: width of the field of view.
    """

    def __init__(self, model_identifier: str, activations_model: Any, visual_degrees: float) -> None:
        self.model_identifier = model_identifier
        self._activations_model = activations_model
        self._visual_degrees = visual_degrees

    def __call__(
        self, benchmark: Any, layers: Sequence[str], benchmark_identifier: str | None = None, prerun: bool = False
    ) -> Any:
        """The score of each layer, along the dimension ``layer``.

        Args:
            benchmark: a benchmark with a ``region``.
            layers: names of layers.
            benchmark_identifier: ignored.
            prerun: whether to extract all layers in one pass first, if activations are cached.
        """
        scores = []
        for layer in layers:
            mapped = LayerMappedModel(
                f"{self.model_identifier}-{layer}",
                self._activations_model,
                {benchmark.region: layer},
                self._visual_degrees,
            )
            ahead = _AllLayers(self._activations_model, layers, mapped) if prerun and not scores else mapped
            score = benchmark(TemporalAligned(ahead)).expand_dims("layer")
            score["layer"] = [layer]
            scores.append(score)
        return Score.merge(*scores).sel(layer=list(layers))


class LayerSelection:
    """Selection of the layer with the highest score.

    Args:
        model_identifier: name of the model.
        activations_model: model that returns activations.
        layers: candidate layers.
        visual_degrees: width of the field of view.
    """

    def __init__(
        self, model_identifier: str, activations_model: Any, layers: Sequence[str], visual_degrees: float
    ) -> None:
        self.model_identifier = model_identifier
        self.layers = layers
        self._layer_scoring = LayerScores(model_identifier, activations_model, visual_degrees)

    def __call__(self, selection_identifier: str, benchmark: Any) -> str:
        """The selected layer; ties go to the first, and layers with undefined scores are skipped.

        Raises:
            ValueError: no layer has a score.
        """
        scores = self._layer_scoring(benchmark, self.layers, selection_identifier, prerun=True)
        if np.isnan(scores.values).all():
            raise ValueError(
                f"no layer of {self.model_identifier!r} has a score for {selection_identifier}: the scores of all "
                f"{len(self.layers)} are NaN"
            )
        return str(scores["layer"].values[int(np.nanargmax(scores.values))])


class RegionLayerMap(dict[str, Any]):
    """Region -> layer, selected on first access.

    Args:
        layer_selection: function that selects a layer.
        region_benchmarks: region -> the benchmark for the selection.
    """

    def __init__(self, layer_selection: Callable[..., str], region_benchmarks: Mapping[str, Any]) -> None:
        super().__init__()
        self.layer_selection = layer_selection
        self.region_benchmarks = region_benchmarks

    def __missing__(self, region: str) -> str:
        self.commit_region(region)
        return self[region]

    def commit_region(self, region: str) -> None:
        """Select the layer of a region.

        Raises:
            ValueError: there is no benchmark for the region.
        """
        if region not in self.region_benchmarks:
            known = ", ".join(self.region_benchmarks)
            raise ValueError(
                f"no layer is committed to {region}, and none can be chosen: there are benchmarks for {known}"
            )
        self[region] = self.layer_selection(selection_identifier=region, benchmark=self.region_benchmarks[region])


class _AllLayers:
    """A model that first extracts all candidate layers and then responds with its own."""

    def __init__(self, activations_model: Any, layers: Sequence[str], model: LayerMappedModel) -> None:
        self._activations_model, self._layers, self._model = activations_model, layers, model

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_model":
            raise AttributeError(name)
        return getattr(self._model, name)

    def look_at(self, stimuli: Any, *args: Any, **kwargs: Any) -> Any:
        """Responses of the model."""
        self._activations_model(stimuli, layers=list(self._layers))
        return self._model.look_at(stimuli, *args, **kwargs)
