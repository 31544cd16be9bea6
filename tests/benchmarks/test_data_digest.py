"""The digest of the data that a score was computed from."""

import shutil

import numpy as np
import pandas as pd
from PIL import Image

from bsjax import StimulusSet
from bsjax.benchmarks.data_digest import data_digest


def test_what_matters_changes_the_digest(trials):
    changed = [
        trials,
        trials + 1e-12,
        trials.astype(np.float32),
        trials.transpose("neuroid", "presentation", "time_bin"),
        trials.assign_coords(stimulus_id=("presentation", trials["stimulus_id"].values[::-1])),
        trials.assign_coords(repetition=("presentation", trials["repetition"].values[::-1])),
        trials.assign_coords(neuroid_id=("neuroid", trials["neuroid_id"].values[::-1])),
        trials.assign_coords(region=("neuroid", ["V4"] * trials.sizes["neuroid"])),
        trials.drop_vars("time_bin_end"),
    ]
    assert len({data_digest(assembly) for assembly in changed}) == len(changed)


def test_what_does_not_matter_leaves_it(trials):
    same = trials.assign_attrs(note="read today")
    same = same.assign_coords(stimulus_id=("presentation", trials["stimulus_id"].values.astype(object)))
    assert data_digest(same) == data_digest(trials)


def test_stimuli_are_their_ids_and_their_files(stimuli, tmp_path):
    before = data_digest(stimuli)
    (tmp_path / "elsewhere").mkdir()
    for stimulus_id, path in stimuli.stimulus_paths.items():
        stimuli.stimulus_paths[stimulus_id] = shutil.move(path, tmp_path / "elsewhere" / f"x{path.name}")
    assert data_digest(stimuli) == before
    digests = [before, data_digest(stimuli[::-1]), data_digest(stimuli[1:])]
    Image.fromarray(np.full((8, 8, 3), 255, np.uint8)).save(stimuli.get_stimulus("s00"))
    digests.append(data_digest(stimuli))
    assert len(set(digests)) == 4


def test_a_file_that_cannot_be_read_is_unknown_and_the_ids_still_count(stimuli):
    whole = data_digest(stimuli)
    stimuli.get_stimulus("s01").unlink()
    one_lost = data_digest(stimuli)
    stimuli.get_stimulus("s02").unlink()
    stimuli.get_stimulus("s02").mkdir()
    two_lost = data_digest(stimuli)
    none = StimulusSet({"stimulus_id": stimuli["stimulus_id"]})
    assert len({whole, one_lost, two_lost, data_digest(none), data_digest(none[::-1])}) == 5
    assert data_digest(none) == data_digest(pd.DataFrame(none))
