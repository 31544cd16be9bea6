"""The readers of published dissimilarity matrices on small files in their layouts."""

import numpy as np
import pytest
import scipy.io

from bsjax import load_dataset, load_metric
from bsjax.benchmarks.families.algonauts2019 import reader as algonauts2019
from bsjax.benchmarks.families.kriegeskorte2008 import reader as kriegeskorte2008

N = 5


def symmetric(*shape, seed=0):
    values = np.random.default_rng(seed).random((*shape, N, N))
    values = values + values.swapaxes(-1, -2)
    values[..., np.arange(N), np.arange(N)] = 0
    return values


@pytest.fixture
def algonauts(tmp_path):
    np.savez(tmp_path / "92images_fmri_EVC_RDMs.npz", Net_RDM=symmetric(3))
    return tmp_path


def structs(rdms, names):
    """As MATLAB's arrays of structures come out: fields of objects."""
    array = np.empty(np.shape(names), [("RDM", "O"), ("name", "O")])
    for place in np.ndindex(array.shape):
        array[place] = (rdms[place], np.array(names)[place])
    return array


@pytest.fixture
def kriegeskorte(tmp_path):
    brains = [[f"hIT | {s} | Session: {i}" for i in (1, 2)] for s in ("BE", "KO", "SN")]
    save(tmp_path, "brain", "RDMs", structs(symmetric(1, 3, 2).astype("float32"), [brains]))
    return tmp_path


def save(folder, what, variable, array):
    scipy.io.savemat(folder / f"92_{what}RDMs.mat", {variable: array})


def test_algonauts(algonauts):
    rdms = load_dataset("Algonauts2019.92", folder=algonauts, region="EVC")
    score = load_metric("rdm")(rdms.isel(subject=0), rdms)  # labelled as RDMs, they are compared as such
    assert score.raw.sizes == {"subject": 3} and float(score.raw[0]) == pytest.approx(1.0)
    assert rdms.dims == ("subject", "stimulus_left", "stimulus_right") and rdms.dtype == float
    np.testing.assert_array_equal(rdms.values, symmetric(3))
    assert rdms["subject"].values.tolist() == ["01", "02", "03"]
    assert rdms["stimulus_id_left"].values.tolist() == rdms["stimulus_id_right"].values.tolist()
    assert rdms.attrs["identifier"] == "Algonauts2019.EVC" and rdms.attrs["region"] == "EVC"


def test_human_it(kriegeskorte):
    rdms = load_dataset("Kriegeskorte2008", folder=kriegeskorte)
    assert rdms.dims == ("subject", "session", "stimulus_left", "stimulus_right") and rdms.dtype == float
    np.testing.assert_array_equal(rdms.values, symmetric(1, 3, 2)[0].astype("float32"))
    assert rdms["subject"].values.tolist() == ["BE", "KO", "SN"] and rdms["session"].values.tolist() == ["1", "2"]


@pytest.mark.parametrize("load", [algonauts2019.load_rdms, kriegeskorte2008.load_rdms])
def test_a_missing_file(load, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"RDMs\.(npz|mat) not found in .*: get it from https://github.com"):
        load(tmp_path / "nowhere")


def test_a_file_with_something_else(algonauts, kriegeskorte):
    np.savez(algonauts / "92images_fmri_EVC_RDMs.npz", other=np.zeros(3))
    with pytest.raises(ValueError, match="cannot read.*Net_RDM"):
        algonauts2019.load_rdms(algonauts, "EVC")
    np.savez(algonauts / "92images_fmri_EVC_RDMs.npz", Net_RDM=symmetric(3)[:, :, :4])
    with pytest.raises(ValueError, match=r"should hold square matrices for subject \(\(3,\)\), it holds \(3, 5, 4\)"):
        algonauts2019.load_rdms(algonauts, "EVC")
    np.savez(algonauts / "92images_fmri_EVC_RDMs.npz", Net_RDM=np.random.default_rng(0).random((2, N, N)))
    with pytest.raises(ValueError, match="not symmetric"):
        algonauts2019.load_rdms(algonauts, "EVC")
    save(kriegeskorte, "brain", "Something", np.zeros(3))
    with pytest.raises(ValueError, match="cannot read.*RDMs"):
        kriegeskorte2008.load_rdms(kriegeskorte)


def test_objects_are_never_unpickled(algonauts):
    rdms = np.empty(1, object)
    np.savez(algonauts / "92images_fmri_EVC_RDMs.npz", Net_RDM=rdms)
    with pytest.raises(ValueError, match="cannot read.*pickle"):
        algonauts2019.load_rdms(algonauts, "EVC")
