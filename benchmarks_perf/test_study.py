"""The study is run as at full size, only smaller."""

import numpy as np
import pytest

from benchmarks_perf import study


@pytest.mark.filterwarnings("ignore:the (smallest|largest) penalty")
def test_the_layer_is_scored_with_values_of_each_voxel(tmp_path):
    pytest.importorskip("zarr")
    small = study.Study(stimuli=60, voxels=7, features=90, repetitions=3, penalties=3, folds=3)
    study.write(tmp_path, small)
    predicted = study.planned(tmp_path, small)
    assert predicted["seconds"] > 0 and predicted["peak_bytes"] > 0
    found = study.scored(tmp_path, small)
    assert found["per_voxel"] == {"split": 3, "neuroid": 7} and 0.1 < found["score"] < 1.5
    assert np.load(tmp_path / "raw.npy").shape == (3, 7)


def test_what_the_peer_took_is_kept_with_later_runs_of_the_same_study():
    assert study.kept_peer(study.Study())["peer"]["seconds"] > 0
    assert study.kept_peer(study.Study(stimuli=8)) == {}
