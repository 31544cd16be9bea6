"""Stimuli that the tests of the adapters show."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bsjax import StimulusSet


@pytest.fixture(scope="session")
def images(tmp_path_factory) -> Path:
    """A folder of 12 random images, 0.png to 11.png, 8 pixels wide."""
    folder = tmp_path_factory.mktemp("images")
    rng = np.random.default_rng(0)
    for n in range(12):
        Image.fromarray(rng.integers(0, 256, (8, 8, 3), np.uint8)).save(folder / f"{n}.png")
    return folder


@pytest.fixture(scope="session")
def stimuli(images) -> Callable[[list[int]], StimulusSet]:
    """A stimulus set that shows the images of these numbers; an image may come several times."""

    def make(numbers: list[int]) -> StimulusSet:
        ids = [f"{row}-image{n}" for row, n in enumerate(numbers)]
        paths = {stimulus_id: images / f"{n}.png" for stimulus_id, n in zip(ids, numbers, strict=True)}
        rows = {"object_name": [f"object{n}" for n in numbers], "stimulus_id": ids}
        return StimulusSet(rows, identifier="random", stimulus_paths=paths)

    return make
