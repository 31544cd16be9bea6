"""ReAlnet's published plugin, with a small network in the place of CORnet's: ``python -m tests.support.cornet DIR``.

Prints a line of JSON: for each region, whether what is recorded are the bits of a forward hook at each time step.
"""

from __future__ import annotations

import json
import sys
import tempfile
import types
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import bsjax
from bsjax.core.discovery import use_plugins
from tests.support.published_models import some_images
from tests.support.random_weights import no_weights_are_fetched

BINS = {"V2": [(70, 170), (170, 270)], "V4": [(90, 140), (140, 190), (190, 240), (240, 290)], "IT": [(100, 200)]}


class Area(nn.Module):
    """Gives its ``output`` at each of some time steps."""

    def __init__(self, n_in: int, n_out: int, n_steps: int) -> None:
        super().__init__()
        self.first, self.again, self.output = nn.Conv2d(n_in, n_out, 3, 4), nn.Conv2d(n_out, n_out, 1), nn.Identity()
        self.n_steps = n_steps

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        seen = self.output(self.first(images))
        for _ in range(self.n_steps - 1):
            seen = self.output(torch.tanh(self.again(seen)))
        return seen


class Network(nn.Module):
    """Four areas and a decoder, by CORnet-S's names."""

    def __init__(self) -> None:
        super().__init__()
        self.V1, self.V2, self.V4, self.IT = Area(3, 4, 1), Area(4, 5, 2), Area(5, 6, 4), Area(6, 7, 2)
        self.decoder = nn.Sequential()
        self.decoder.add_module("avgpool", nn.AdaptiveAvgPool2d(1))
        self.decoder.add_module("flatten", nn.Flatten())
        self.decoder.add_module("linear", nn.Linear(7, 1000))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.decoder(self.IT(self.V4(self.V2(self.V1(images)))))


def steps_of(wrapper: Any, area: str, images: Any) -> list[np.ndarray]:
    """What a forward hook sees of an area, a time step after the other."""
    seen: list[np.ndarray] = []
    module = getattr(wrapper._model, area).output
    hook = module.register_forward_hook(lambda _module, _inputs, output: seen.append(output.numpy().copy()))
    with torch.no_grad():
        wrapper._model(torch.as_tensor(images))
    hook.remove()
    return [each.reshape(len(images), -1) for each in seen]


def main(plugins: str) -> None:
    use_plugins(plugins)
    warnings.simplefilter("ignore")
    sys.modules["cornet"] = types.ModuleType("cornet")
    sys.modules["cornet.cornet_s"] = module = types.ModuleType("cornet.cornet_s")
    module.CORnet_S = Network  # type: ignore[attr-defined]
    with tempfile.TemporaryDirectory() as folder:
        stimuli = some_images(Path(folder), ["one", "two"]).assign(image_label=["x", "y"])
        no_weights_are_fetched(Path(folder))
        model: Any = bsjax.load_model("ReAlnet01_cornet")
        wrapper = model.plugin.activations_model
        images = wrapper._extractor.preprocess([str(stimuli.get_stimulus(each)) for each in stimuli["stimulus_id"]])
        equal = {}
        for area, bins in BINS.items():
            model.start_recording(area, bins)
            seen = model.look_at(stimuli).transpose("time_bin", "presentation", "neuroid")
            steps = steps_of(wrapper, area, images)[: len(bins)]
            ids = seen["stimulus_id"].values.tolist() == stimuli["stimulus_id"].tolist()
            equal[area] = ids and bool((seen.values == np.stack(steps)).all())
        model.start_task("probabilities", stimuli)
        equal["probabilities"] = model.look_at(stimuli)["choice"].values.tolist() == ["x", "y"]
    print(json.dumps(equal))


if __name__ == "__main__":
    main(sys.argv[1])
