"""A brain model that gives stored recordings, and keeps what it was asked."""

from typing import Any

import numpy as np

from bsjax import NeuroidAssembly, StimulusSet


class Recorder:
    """Answers with the rows of stored values that belong to the stimuli, over time if there is a last axis of bins.

    Args:
        stimuli: what the rows of ``values`` are of.
        values: (stimuli, neuroids), or (stimuli, neuroids, time bins).
        degrees: width of its field.
        backwards: answer in the opposite order of what is shown.
    """

    def __init__(
        self,
        stimuli: StimulusSet,
        values: np.ndarray,
        identifier: str = "recorder",
        degrees: float = 8,
        backwards: bool = False,
    ) -> None:
        self.identifier = identifier
        self.row = {stimulus_id: row for row, stimulus_id in enumerate(stimuli["stimulus_id"])}
        self.values = values
        self.degrees = degrees
        self.backwards = backwards
        self.recorded: list[tuple[str, list[Any]]] = []
        self.looked: list[tuple[StimulusSet, int]] = []

    def visual_degrees(self) -> float:
        return self.degrees

    def start_recording(self, recording_target: str, time_bins: list[Any]) -> None:
        self.recorded.append((recording_target, time_bins))

    def look_at(self, stimuli: StimulusSet, number_of_trials: int = 1) -> NeuroidAssembly:
        self.looked.append((stimuli, number_of_trials))
        shown = stimuli[::-1] if self.backwards else stimuli
        values = self.values[[self.row[stimulus_id] for stimulus_id in shown["stimulus_id"]]]
        coords = {name: ("presentation", shown[name].to_numpy()) for name in shown.columns}
        coords["neuroid_id"] = ("neuroid", np.arange(values.shape[1]))
        dims = ["presentation", "neuroid"]
        if values.ndim == 3:
            starts, ends = zip(*self.recorded[-1][1], strict=True)
            coords |= {"time_bin_start": ("time_bin", list(starts)), "time_bin_end": ("time_bin", list(ends))}
            dims.append("time_bin")
        return NeuroidAssembly(values, coords=coords, dims=dims)
