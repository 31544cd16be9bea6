"""Observers whose behaviour is drawn from a known model: what a benchmark says of them can be checked."""

from typing import Any

import numpy as np
from scipy.stats import norm

from bsjax import BehavioralAssembly, StimulusSet

LAPSES, SLOPE = 0.05, 0.02


def observed(benchmark: Any, model: Any) -> Any:
    """What a model answers in a benchmark, before it is compared."""
    benchmark.ask(model)
    return benchmark.observe(model, benchmark.stimuli_for(model))


class VernierObserver:
    """Sees left and right offsets by a cumulative Gaussian over the offset, with lapses.

    Args:
        midpoints: of the function, by the column ``num_flankers``.
        seed: of the answers.
    """

    def __init__(self, midpoints: dict[int, float], seed: int = 0, degrees: float = 2.986667) -> None:
        self.identifier = f"observer-{seed}"
        self.midpoints = midpoints
        self.degrees = degrees
        self.rng = np.random.default_rng(seed)
        self.started: list[tuple[Any, ...]] = []
        self.looked: list[tuple[Any, ...]] = []

    def visual_degrees(self) -> float:
        return self.degrees

    def start_task(self, task: str, fitting_stimuli: StimulusSet, **settings: Any) -> None:
        self.started.append((str(task), fitting_stimuli.identifier, settings))

    def look_at(
        self, stimuli: StimulusSet, number_of_trials: int = 1, require_variance: bool = False
    ) -> BehavioralAssembly:
        self.looked.append((stimuli.identifier, number_of_trials, require_variance))
        rows = stimuli.loc[np.repeat(stimuli.index, number_of_trials)]
        midpoint = np.array([self.midpoints[n] for n in rows["num_flankers"]])
        share = 0.5 + (0.5 - LAPSES) * norm.cdf(SLOPE * (rows["vernier_offset_arcsec"] - midpoint))
        right = self.rng.random(len(rows)) < share
        left = right == (rows["image_label"].to_numpy() == "left")
        return BehavioralAssembly(
            np.where(left[:, None], [0.9, 0.1], [0.1, 0.9]),
            coords={"stimulus_id": ("presentation", rows["stimulus_id"].to_numpy()), "choice": ["left", "right"]},
            dims=["presentation", "choice"],
        )
