"""A brain model that answers every stimulus with the response to another one."""

import numpy as np


class Shuffled:
    """``model`` with its responses permuted over stimuli: what a score is when nothing is predicted."""

    def __init__(self, model, seed: int = 0):
        self.model = model
        self.identifier = f"{model.identifier}-shuffled"
        self.seed = seed

    def visual_degrees(self):
        return self.model.visual_degrees()

    def start_task(self, task, fitting_stimuli=None):
        self.model.start_task(task, fitting_stimuli)

    def start_recording(self, recording_target, time_bins):
        self.model.start_recording(recording_target, time_bins)

    def look_at(self, stimuli, number_of_trials=1):
        responses = self.model.look_at(stimuli, number_of_trials)
        order = np.random.default_rng(self.seed).permutation(responses.sizes["presentation"])
        return responses.copy(data=responses.values[order])
