"""The study is run as at full size, only smaller."""

import numpy as np
import pytest

from benchmarks_perf import study


@pytest.fixture
def small(tmp_path):
    pytest.importorskip("zarr")
    pytest.importorskip("matplotlib")
    made = study.Study(stimuli=60, voxels=7, features=90, repetitions=3, penalties=3, folds=3, subjects=2, layers=2)
    study.write(tmp_path, made)
    return tmp_path, made


@pytest.mark.filterwarnings("ignore:the (smallest|largest) penalty")
def test_every_layer_is_scored_on_every_subject_with_values_of_each_voxel(small):
    folder, made = small
    predicted = study.planned(folder, made)
    assert predicted["seconds"] > 0 and predicted["peak_bytes"] > predicted["estimate"]["arrays"]
    found = study.scored(folder, made)
    assert len(found["cells"]) == 4 and found["per_voxel"] == {"split": 3, "neuroid": 7}
    assert np.load(folder / "raw.npy").shape == (3, 7)
    assert all(0.1 < cell["score"] < 1.5 for cell in found["cells"])
    assert (folder / "voxels.png").stat().st_size > 1000


def test_what_the_peer_took_is_kept_with_later_runs_of_the_same_study():
    assert study.kept_peer(study.Study())["peer"]["seconds"] > 0
    assert study.kept_peer(study.Study(stimuli=8)) == {}
