"""Plugins of Brain-Score's kinds that a test writes, and small models for them that need no framework."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from bsjax import StimulusSet
from bsjax.benchmarks import benchmark_registry
from bsjax.compat.activations.extractor import ActivationsExtractorHelper, CalledNetwork
from bsjax.compat.assemblies import NeuroidAssembly
from bsjax.data import data_registry, stimulus_set_registry
from bsjax.labelled.registry import metric_registry
from bsjax.models.registry import model_registry

LAYERS = ("early", "late", "logits")
_REGISTRIES: Sequence[Any] = (
    model_registry,
    benchmark_registry,
    metric_registry,
    data_registry,
    stimulus_set_registry,
)


@contextmanager
def writing(root: Path, monkeypatch: Any) -> Iterator[Callable[..., Path]]:
    """Gives ``write(kind, name, init, **files)``, which gives the folder; the plugins below ``root`` are found.

    At the end, what they have registered is gone.
    """

    def write(kind: str, name: str, init: str, **files: str) -> Path:
        folder = root / kind / name
        folder.mkdir(parents=True)
        for file, text in {"__init__": init, **files}.items():
            (folder / f"{file}.py").write_text(text)
        return folder

    root.mkdir()
    monkeypatch.setenv("BSJAX_PLUGINS", str(root))
    yield write
    for registry in _REGISTRIES:
        for name in list(registry):
            plugin = registry.plugin_of(name)
            if plugin is not None and plugin.folder.is_relative_to(root):
                del registry[name]


def images_of(folder: Path, n: int = 3, **columns: Sequence[Any]) -> StimulusSet:
    """Small images with ids "a", "b" ..., each of other colours, named "few"."""
    folder.mkdir(exist_ok=True)
    ids = [chr(ord("a") + number) for number in range(n)]
    paths = {stimulus_id: folder / f"{stimulus_id}.png" for stimulus_id in ids}
    for number, path in enumerate(paths.values()):
        pixels = np.random.default_rng(number).integers(0, 256, (6, 5, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(path)
    return StimulusSet({"stimulus_id": ids, **columns}, identifier="few", stimulus_paths=paths)


def pixels_of(paths: Sequence[str]) -> np.ndarray:
    """Images as numbers from 0 to 1: the preprocessing of :func:`network`."""
    return np.stack([np.asarray(Image.open(path).convert("RGB"), np.float32) / 255 for path in paths])


def outputs(images: np.ndarray, layers: Sequence[str]) -> dict[str, np.ndarray]:
    """What :func:`network` computes: ``early`` (6, 5, 3), ``late`` (3) and ``logits`` (1000)."""
    means = np.asarray(images).mean(axis=(1, 2))
    weights = np.random.default_rng(0).normal(size=(3, 1000)).astype(np.float32)
    everything = {"early": np.asarray(images), "late": means**2, "logits": means @ weights}
    return {layer: everything[layer] for layer in layers}


def network(
    identifier: str = "small", get: Callable[..., Any] = outputs, layers: Sequence[str] = LAYERS
) -> ActivationsExtractorHelper:
    """An activations model as plugins make it, of a function that lists its layers."""
    known = CalledNetwork(get, lambda: layers)
    return ActivationsExtractorHelper(get, pixels_of, identifier, network=known, cache=None)


def by_hand(stimuli: StimulusSet, layer: str) -> np.ndarray:
    """A layer's activations, (stimuli, units)."""
    paths = [str(stimuli.get_stimulus(stimulus_id)) for stimulus_id in stimuli["stimulus_id"]]
    return outputs(pixels_of(paths), [layer])[layer].reshape(len(stimuli), -1)


def answering(values: Any) -> Callable[..., NeuroidAssembly]:
    """A bare function as an activations model: row after row of ``values`` for the stimuli "a", "b" ..."""
    values = np.asarray(values, float)

    def model(stimuli: StimulusSet, layers: Sequence[str]) -> NeuroidAssembly:
        rows = [ord(stimulus_id) - ord("a") for stimulus_id in stimuli["stimulus_id"]]
        of_stimuli = {name: ("presentation", stimuli[name].to_numpy()) for name in stimuli.columns}
        of_neuroids = {"layer": ("neuroid", np.repeat(list(layers), values.shape[1]))}
        return NeuroidAssembly(
            np.tile(values[rows], len(layers)),
            coords={**of_stimuli, **of_neuroids},
            dims=["presentation", "neuroid"],
        )

    return model
