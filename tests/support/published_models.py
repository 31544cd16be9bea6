"""Published plugins of models with random weights: recorded, and beside a forward hook.

``python -m tests.support.published_models DIR`` loads every plugin of a folder of Brain-Score's plugins in turn, has it
answer ``look_at``, and prints a line of JSON on each: how far it came (``stage``), what it raised (``error``), whether
the activations of a layer are the bits that a forward hook sees (``equal``).
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from bsjax.core.discovery import Plugin, brainscore_plugins, use_plugins
from bsjax.data import StimulusSet
from bsjax.models.registry import model_registry
from tests.support.random_weights import no_weights_are_fetched
from tests.support.torchvision_operators import define_operators

TIME_BINS = [(70, 170)]


def published_models() -> Iterator[Plugin]:
    """Plugins of models on the search path."""
    return (plugin for plugin in brainscore_plugins() if plugin.folder.parent.name == "models")


def tried(plugin: Plugin, stimuli: StimulusSet) -> dict[str, Any]:
    """How far a plugin comes."""
    identifiers = [each.identifier for each in plugin.declarations if each.registry == "model_registry"]
    found: dict[str, Any] = {"plugin": plugin.folder.name, "identifiers": identifiers, "stage": "found"}
    try:
        factory = model_registry[identifiers[0]]
        found["stage"] = "imported"
        torch.manual_seed(0)
        model = factory()
        found["stage"] = "loaded"
        regions = [region for region in ("IT", "V4", "V2", "V1") if region in model.region_layer_map]
        found["layers"] = len(model.activations_model.layers())
        if regions:
            model.start_recording(regions[0], TIME_BINS)
            answers, layer = model.look_at(stimuli), model.region_layer_map[regions[0]][0]
        else:
            layer = list(model.layers)[0]
            answers = model.activations_model(stimuli, layers=[layer])
        found |= {"stage": "answered", "layer": layer, "shape": list(answers.shape)}
        kept = by_hook(model.activations_model, stimuli, layer)
        found["equal"] = kept.shape == answers.shape and bool((kept == answers.values.reshape(kept.shape)).all())
    except Exception as error:
        found["error"] = f"{type(error).__name__}: {error}"
    return found


def by_hook(wrapper: Any, stimuli: StimulusSet, layer: str) -> np.ndarray:
    """What a forward hook sees of a layer, an image a row."""
    seen: list[torch.Tensor] = []

    def see(_module: object, _inputs: object, output: Any) -> None:
        seen.append((output[0] if isinstance(output, (tuple, list)) else output).detach().clone())

    paths = [str(stimuli.get_stimulus(each)) for each in stimuli["stimulus_id"]]
    # The last bits depend on how many images there are in a batch: three are shown as four, the last one twice.
    images = wrapper._extractor.preprocess([*paths, paths[-1]])
    batch = torch.stack([torch.as_tensor(image) for image in images])
    dtype = next((each.dtype for each in wrapper._model.parameters() if each.is_floating_point()), None)
    hook = wrapper.get_layer(layer).register_forward_hook(see)
    wrapper._model.eval()
    with torch.no_grad():
        wrapper._model(batch if dtype is None else batch.to(dtype), **wrapper._forward_kwargs)
    hook.remove()
    return seen[0].float().numpy().reshape(len(images), -1)[: len(paths)]


def some_images(folder: Path, names: Sequence[str] = ("one", "two", "three")) -> StimulusSet:
    """Images of noise."""
    paths = {}
    for name in names:
        paths[name] = folder / f"{name}.png"
        pixels = np.random.default_rng(len(paths)).integers(0, 255, (300, 300, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(paths[name])
    return StimulusSet({"stimulus_id": list(paths)}, stimulus_paths=paths)


if __name__ == "__main__":
    use_plugins(Path(sys.argv[1]))
    warnings.simplefilter("ignore")
    define_operators()
    with tempfile.TemporaryDirectory() as name:
        stimuli = some_images(Path(name))
        no_weights_are_fetched(Path(name))
        for plugin in list(published_models()):
            with contextlib.redirect_stdout(io.StringIO()):
                result = tried(plugin, stimuli)
            print(json.dumps(result), flush=True)
            gc.collect()
