"""Images that the tests of the models show."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from bsjax import NeuroidAssembly, StimulusSet
from tests.adapters.conftest import timm, torchvision, transformers

BIN = [(0, 100)]

__all__ = ["timm", "torchvision", "transformers"]


def record(model: Any, region: str, stimuli: Any, bins: Any = BIN) -> NeuroidAssembly:
    model.start_recording(region, time_bins=bins)
    return model.look_at(stimuli)


def seen(stimuli: StimulusSet, values: Any) -> NeuroidAssembly:
    """Values of neuroids for each stimulus, with the columns of the stimuli."""
    coords = {name: ("presentation", stimuli[name]) for name in stimuli.columns}
    return NeuroidAssembly(values, coords=coords, dims=["presentation", "neuroid"])


@pytest.fixture
def stimulus_set(tmp_path) -> Callable[..., StimulusSet]:
    """A stimulus set of arrays, uint8 ``(height, width, 3)``, saved as PNG; ``columns`` go to its rows."""

    def make(images: list[np.ndarray], identifier: str | None = "made", **columns: list) -> StimulusSet:
        paths: dict[str, Path] = {}
        for n, image in enumerate(images):
            paths[f"image{n}"] = tmp_path / f"{len(list(tmp_path.iterdir()))}.png"
            Image.fromarray(image).save(paths[f"image{n}"])
        return StimulusSet({"stimulus_id": list(paths), **columns}, identifier=identifier, stimulus_paths=paths)

    return make
