"""Whether ``brain_to_brain`` passes a further subject and fails a random network.

``python -m benchmarks_perf.calibration.brains`` simulates populations of subjects who see the same in neurons of their
own, and prints in how many of ``--sets`` a further subject passes (90 % or more should), and a random network (5 % or
fewer). The subjects of a row may differ in their noise, which makes the distribution over subjects wide.
"""

from __future__ import annotations

import argparse
import time
from typing import NamedTuple

import numpy as np

from bsjax import brain_to_brain

_STIMULI, _UNITS, _DIMENSIONS = 60, 15, 6
_PIXELS = 40


class Row(NamedTuple):
    """A population of subjects.

    Attributes:
        metric: how subjects are compared.
        subjects: number of them, besides the further one.
        noise: standard deviation of the noise of a neuron, relative to that of its signal.
        spread: standard deviation of the logarithm of the noise over subjects.
    """

    metric: str
    subjects: int
    noise: float = 0.6
    spread: float = 0.0


ROWS = [
    Row(metric, subjects, noise, spread)
    for metric in ("ridge", "cka")
    for subjects, noise, spread in ((3, 0.6, 0.0), (5, 0.6, 0.0), (8, 0.6, 0.0), (5, 1.2, 0.0), (5, 0.6, 0.2))
]


def simulated(row: Row, rng: np.random.Generator) -> tuple[list[np.ndarray], np.ndarray]:
    """The subjects and a further one, and a random network: random features of the stimuli, rectified.

    What subjects see are other dimensions of the stimuli than those that the network happens to have features of.
    """
    pixels = rng.normal(size=(_STIMULI, _PIXELS))
    seen = np.tanh(pixels @ rng.normal(size=(_PIXELS, _DIMENSIONS)) / 3)

    def subject() -> np.ndarray:
        signal = seen @ rng.normal(size=(_DIMENSIONS, _UNITS))
        noise = row.noise * np.exp(row.spread * rng.normal()) * signal.std()
        return signal + noise * rng.normal(size=signal.shape)

    network = np.maximum(pixels @ rng.normal(size=(_PIXELS, 4 * _UNITS)), 0)
    return [subject() for _ in range(row.subjects + 1)], network


def passes(row: Row, sets: int) -> dict[str, float]:
    """The share of sets in which the further subject and the network pass."""
    found = []
    for seed in range(sets):
        (*subjects, further), network = simulated(row, np.random.default_rng([seed, 9]))
        named = {f"s{place}": side for place, side in enumerate(subjects)}
        models = brain_to_brain(named, row.metric, {"subject": further, "network": network}).models
        found.append(models["passes"])
    return {name: float(np.mean([each[name] for each in found])) for name in ("subject", "network")}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=200)
    sets = parser.parse_args().sets
    print("| metric | subjects | noise | spread | subject passes | network passes | s |\n|---|---|---|---|---|---|---|")
    for row in ROWS:
        start = time.perf_counter()
        found = passes(row, sets)
        shares = " | ".join(f"{100 * share:.1f} %" for share in found.values())
        print(f"| {' | '.join(map(str, row))} | {shares} | {time.perf_counter() - start:.0f} |", flush=True)


if __name__ == "__main__":
    main()
