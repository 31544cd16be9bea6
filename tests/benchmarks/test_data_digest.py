"""The digest of the data that a score was computed from."""

import shutil

import numpy as np
from PIL import Image

from bsjax.benchmarks.data_digest import assembly_digest


def test_what_matters_changes_the_digest(trials, stimuli):
    before = assembly_digest(trials)
    changed = [
        trials + 1e-12,
        trials.assign_coords(stimulus_id=("presentation", trials["stimulus_id"].values[::-1])),
        trials.assign_coords(repetition=("presentation", trials["repetition"].values[::-1])),
        trials.assign_coords(neuroid_id=("neuroid", trials["neuroid_id"].values[::-1])),
    ]
    for assembly in changed:
        assembly.attrs["stimulus_set"] = stimuli
    digests = [before, *map(assembly_digest, changed)]
    Image.fromarray(np.full((8, 8, 3), 255, np.uint8)).save(stimuli.get_stimulus("s00"))
    digests.append(assembly_digest(trials))
    assert len(set(digests)) == 6


def test_where_the_files_lie_does_not(trials, stimuli, tmp_path):
    before = assembly_digest(trials)
    (tmp_path / "elsewhere").mkdir()
    for stimulus_id, path in stimuli.stimulus_paths.items():
        stimuli.stimulus_paths[stimulus_id] = shutil.move(path, tmp_path / "elsewhere" / f"x{path.name}")
    assert assembly_digest(trials) == before
