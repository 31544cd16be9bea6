import numpy as np

from bsjax import NeuroidAssembly
from bsjax.benchmarks.families.simulated.procedural import procedural_stimuli
from bsjax.data import load_image


def recordings() -> NeuroidAssembly:
    """Neuroids of V4 and IT, three repetitions: weighted sums of the luminance of parts of the images, and noise."""
    stimuli = procedural_stimuli("YourDataset", n_per_kind=10, n_pixels=32, visual_degrees=8, seed=0)
    stimuli = stimuli.drop(columns="degrees")
    rng = np.random.default_rng(0)
    grey = np.stack([load_image(stimuli.get_stimulus(each)).mean(-1) / 255 for each in stimuli["stimulus_id"]])
    parts = grey.reshape(len(stimuli), 4, 8, 4, 8).mean((2, 4)).reshape(len(stimuli), -1)
    responses = (parts - parts.mean(0)) @ rng.normal(size=(16, 8))
    trials = responses + 0.5 * responses.std() * rng.normal(size=(3, *responses.shape))
    return NeuroidAssembly(
        trials.reshape(-1, 8, 1),
        dims=["presentation", "neuroid", "time_bin"],
        coords={
            "stimulus_id": ("presentation", np.tile(stimuli["stimulus_id"], 3)),
            "object_name": ("presentation", np.tile(stimuli["object_name"], 3)),
            "repetition": ("presentation", np.repeat(range(3), len(stimuli))),
            "neuroid_id": ("neuroid", [f"neuroid-{number}" for number in range(8)]),
            "region": ("neuroid", ["V4"] * 4 + ["IT"] * 4),
            "reliability": ("neuroid", [0.9, 0.8, 0.2, 0.7] * 2),
            "time_bin_start": ("time_bin", [70]),
            "time_bin_end": ("time_bin", [170]),
        },
        attrs={"stimulus_set": stimuli, "stimulus_set_identifier": stimuli.identifier},
    )
