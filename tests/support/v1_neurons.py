"""Simulated V1 neurons that respond to what a grating is, without looking at its pixels: their tuning is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from bsjax import NeuroidAssembly, StimulusSet
from bsjax.benchmarks.families.marques2020.stimuli import COLUMNS

FIELD = 0.1  # degrees: gratings are rendered in a few pixels, as nobody looks at them


@dataclass
class Neurons:
    """A brain model of V1: Gaussian tuning to orientation and log spatial frequency, centre minus surround in size.

    Args:
        orientation: preferred, in degrees.
        frequency: preferred, in cycles per degree.
        place: (y, x) of the receptive fields, in degrees.
        surround: weight of the surround; none is suppressed by 0.
        simple: responses follow the phase.
        gain, spontaneous: responses, in units of the model's own.
    """

    orientation: NDArray[np.float64]
    frequency: NDArray[np.float64]
    place: tuple[float, float] = (0.5, 0.5)
    surround: float = 0.0
    simple: bool = False
    gain: float = 1.0
    spontaneous: float = 0.05
    identifier: str = "neurons"

    def visual_degrees(self) -> float:
        return FIELD

    def start_recording(self, recording_target, time_bins):
        self.recording = recording_target, list(time_bins)

    def start_task(self, task, fitting_stimuli=None):
        raise NotImplementedError

    def look_at(self, stimuli: StimulusSet, number_of_trials: int = 1, require_variance: bool = False):
        assert self.recording == ("V1", [(70, 170)])
        n = len(self.orientation)
        driven = self._driven(stimuli) if "orientation" in stimuli.columns else np.zeros((len(stimuli), n))
        return NeuroidAssembly(
            (self.gain * (driven + self.spontaneous)).astype(np.float32),
            coords={
                **{name: ("presentation", stimuli[name].to_numpy()) for name in ("stimulus_id", *COLUMNS)
                   if name in stimuli.columns},
                "neuroid_id": ("neuroid", [f"n{number}" for number in range(n)]),
            },
            dims=["presentation", "neuroid"],
        )  # fmt: skip

    def _driven(self, stimuli: StimulusSet) -> NDArray[np.float64]:
        y, x, _, radius, frequency, orientation, phase = (stimuli[name].to_numpy()[:, None] for name in COLUMNS)
        turned = (orientation - self.orientation + 90) % 180 - 90
        tuned = np.exp(-((turned / 20) ** 2)) * np.exp(-((np.log2(frequency / self.frequency) / 0.7) ** 2))
        off = np.hypot(y - self.place[0], x - self.place[1])
        overlap = np.exp(-((off / (0.3 + radius)) ** 2))
        size = erf(radius / 0.4) - self.surround * erf(radius / 1.6)
        modulation = np.maximum(np.cos(np.radians(phase)), 0) if self.simple else 1.0
        return tuned * overlap * size * modulation


def population(n: int, seed: int = 0, **settings) -> Neurons:
    """Neurons whose preferences are drawn at random: all orientations, spatial frequencies about 3 cycles a degree."""
    rng = np.random.default_rng(seed)
    return Neurons(rng.uniform(0, 180, n), 3 * 2 ** rng.normal(0, 1, n), **settings)
