"""Extracts activations in a process of its own: ``python slow_network.py LOG STORE IMAGES LAYERS SECONDS STOP OUT``.

After ``STOP`` batches it stops in the middle of one, and waits until it is killed.
"""

import signal
import sys
import time
from pathlib import Path

import numpy as np

from bsjax import StimulusSet
from bsjax.activations import ActivationCache, ExtractedActivations
from bsjax.adapters import unit_preprocessing


class Slow:
    """A network that notes what it computes, and takes its time."""

    channels_last = True
    is_compiled = True
    is_pure = True
    on_device = False

    def __init__(self, log: Path, seconds: float, stop: int) -> None:
        self._log, self._seconds, self._left = log, seconds, stop

    def shapes(self, batch):
        return {name: (len(batch), 4, 3) for name in "abcde"}

    def run(self, batch, layers):
        with open(self._log, "a") as log:
            log.write(f"{','.join(layers)}\n")
        time.sleep(self._seconds)
        self._left -= 1
        if self._left < 0:
            signal.pause()
        return {layer: np.cos(batch[:, :4, 0] * (1 + "abcde".index(layer))) for layer in layers}

    def digest(self, batch, version=None):
        return "slow network 1"

    def look_again(self):
        pass


def main(log: str, cache: str, images: str, layers: str, seconds: str, stop: str, out: str) -> None:
    ids = sorted(path.name for path in Path(images).iterdir())
    shown = StimulusSet({"stimulus_id": ids}, stimulus_paths={i: Path(images) / i for i in ids})
    model = ExtractedActivations(
        "slow",
        Slow(Path(log), float(seconds), int(stop)),
        unit_preprocessing(8),
        batch_size=4,
        cache=ActivationCache(cache),
        progress=lambda progress: print(progress.done, flush=True),
    )
    np.save(out, model(shown, layers.split(",")).values)


if __name__ == "__main__":
    main(*sys.argv[1:])
