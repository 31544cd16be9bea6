"""From image files to activations, beside the bare forward pass over batches that are in memory already."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from bsjax import StimulusSet
from bsjax.activations import ActivationCache
from bsjax.adapters import from_torch, imagenet_preprocessing
from bsjax.data import load_image

from .. import report
from ..harness import Called, Contestant, interleaved, largest_difference, timed

BARE = "bare forward pass"
LAYER = "pool"
_BATCH = 64
_PIXELS = 256


def image_files(folder: Path, n: int) -> StimulusSet:
    """JPEG files of smooth random images, 256 pixels wide."""
    rng = np.random.default_rng(0)
    paths = {f"image{number}": folder / f"{number}.jpg" for number in range(n)}
    for path in paths.values():
        coarse = Image.fromarray(rng.integers(0, 256, (32, 32, 3), np.uint8))
        coarse.resize((_PIXELS, _PIXELS), Image.Resampling.BICUBIC).save(path)
    return StimulusSet({"stimulus_id": list(paths)}, stimulus_paths=paths)


def measure(
    name: str,
    *,
    fast: bool = False,
    rounds: int = 12,
    peer_rounds: int = 1,
    with_peer: bool = True,
    progress: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Measures extraction into a fresh store, hashing, decoding and writing included.

    Both sides are called ``peer_rounds`` times at most: one call is the forward pass of 2,000 images.

    Args:
        name: ``"extraction"``.
        fast: 64 images; the times say nothing.
        rounds: not used.
        peer_rounds: measured calls of both sides.
        with_peer: whether to measure the bare forward pass.
        progress: is told what happens, a line at a time.
    """
    import torch

    from ..resnet import resnet

    n = 64 if fast else 2000
    network, preprocess = resnet(), imagenet_preprocessing(224)
    environment = report.environment()
    environment["versions"] |= report.versions("torch", "pillow")
    with tempfile.TemporaryDirectory() as folder:
        shown = image_files(Path(folder), n)
        paths = [shown.get_stimulus(stimulus_id) for stimulus_id in shown["stimulus_id"]]
        batches = [
            torch.tensor(preprocess([load_image(path) for path in paths[start : start + _BATCH]]))
            for start in range(0, n if with_peer else 0, _BATCH)
        ]

        def bare() -> np.ndarray:
            body = network[:-1]
            with torch.no_grad():
                return np.concatenate([body(batch).numpy() for batch in batches])

        def extracted() -> np.ndarray:
            with tempfile.TemporaryDirectory(dir=folder) as store:
                model = from_torch(
                    network[:-1], "resnet", preprocess, batch_size=_BATCH, cache=ActivationCache(Path(store))
                )
                return np.array(model(shown, LAYER).values)

        sides = {"bsjax": extracted, **({BARE: bare} if with_peer else {})}
        values = {}

        def call(side: str, trim: bool) -> Called:
            return timed(lambda: values.update({side: sides[side]()}))

        contestants = {side: Contestant(functools.partial(call, side), peer_rounds) for side in sides}
        measurements = interleaved(contestants, progress)
    return {
        "row": name,
        "title": f"{n} images of {_PIXELS} pixels through a torch network of 25 million parameters",
        "sizes": {"images": n, "parameters": sum(p.numel() for p in network.parameters())},
        "fast": fast,
        "contestants": {
            side: {
                "kind": "bsjax" if side != BARE else "peer",
                **measurement.summary(),
                "times_the_bare_pass": (
                    measurement.summary()["median_s"] / measurements[BARE].summary()["median_s"] if with_peer else None
                ),
                "difference_to_the_bare_pass": (largest_difference(values[side], values[BARE]) if with_peer else None),
            }
            for side, measurement in measurements.items()
        },
        "environment": environment,
    }
