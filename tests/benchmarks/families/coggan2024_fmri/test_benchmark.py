"""Occluded objects: similarity matrices in the shape of the published file, where two dimensions have one name."""

import warnings

import numpy as np
import pytest
from scipy.stats import pearsonr

from bsjax import NeuroidAssembly, load_benchmark, load_dataset
from bsjax.benchmarks.families.coggan2024_fmri import benchmark as coggan
from tests.support import served_data as served
from tests.support.recorder import Recorder

N, SUBJECTS, REGIONS = 24, [f"F{i}" for i in range(5)], ["V1", "V2", "V4", "IT"]
repeated_names = pytest.mark.filterwarnings("ignore:Duplicate dimension names")


@pytest.fixture
def stimuli():
    conditions = ["complete", "lower", "upper"] * 8
    return served.stimuli_of(N, occlusion_condition=conditions)


@pytest.fixture
def rsms(serve, stimuli):
    """{region: (subjects, stimuli, stimuli)}, of patterns that share a signal."""
    rng = np.random.default_rng(0)
    signal = rng.normal(size=(N, 30))
    rsms = {region: np.stack([np.corrcoef(signal + rng.normal(size=(N, 30))) for _ in SUBJECTS]) for region in REGIONS}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Duplicate dimension names")
        assembly = NeuroidAssembly(
            np.moveaxis(np.concatenate(list(rsms.values())), 0, 2),
            coords={
                "stimulus_id": ("presentation", stimuli["stimulus_id"].to_numpy()),
                "subject": ("neuroid", SUBJECTS * 4),
                "region": ("neuroid", np.repeat(REGIONS, len(SUBJECTS))),
            },
            dims=["presentation", "presentation", "neuroid"],
        )
        serve("Coggan2024_fMRI", assembly, stimuli)
    return rsms


@pytest.fixture
def responses():
    """Sparse ones: a few of 400 units respond far from zero."""
    rng = np.random.default_rng(1)
    means = np.where(np.arange(400) < 20, 30.0, 0.0) * rng.choice([-1, 1], 400)
    values = means + rng.normal(size=(N, 400))
    values[:, 3] = means[3]
    return values


def by_numpy(values):
    """The model's similarity matrix, off the diagonal."""
    values = values[:, values.std(axis=0) > 0]
    means = values.mean(axis=0)
    chosen = values[:, np.abs(means) > 3.1 * means.std()]
    assert chosen.shape[1] == 19
    return off(np.corrcoef((chosen - chosen.mean(axis=0)) / chosen.std(axis=0)))


def off(matrix):
    return matrix[~np.eye(N, dtype=bool)]


@pytest.mark.slow
def test_the_score_is_that_of_numpy_and_scipy(rsms, stimuli, responses, same_as_published):
    model = Recorder(stimuli, responses, backwards=True)
    score = load_benchmark("tong.Coggan2024_fMRI.IT-rdm")(model)
    subjects = [off(one) for one in rsms["IT"]]
    each = [pearsonr(by_numpy(responses), one)[0] for one in subjects]
    lower = [pearsonr(one, np.mean(np.delete(subjects, s, axis=0), axis=0))[0] for s, one in enumerate(subjects)]
    np.testing.assert_allclose(score.unceiled.raw, each)
    assert float(score.unceiled) == pytest.approx(np.mean(each))
    assert float(score.ceiling) == pytest.approx(np.mean(lower))
    ratio = np.mean(each) / np.mean(lower)
    assert float(score) == pytest.approx(np.sign(ratio) * ratio**2) and score.formula == "(r/c)²"
    assert model.recorded == [("IT", [(0, 250)])] and score.provenance["n_stimuli"] == N
    model = Recorder(stimuli, np.delete(responses, 3, axis=1))  # without the unit that never changes
    same_as_published(load_benchmark("tong.Coggan2024_fMRI.IT-rdm")(model), model)


@repeated_names
def test_the_steps_of_the_tutorial(rsms, stimuli, responses):
    """As a class that was ported from there goes through them."""
    model, assembly = Recorder(stimuli, responses), load_dataset("Coggan2024_fMRI").sel(region="V4")
    model.start_recording("V4", [(0, 250)])
    score = coggan.get_score(coggan.RSA(model.look_at(stimuli)), assembly)
    ceiled = coggan.ceiler(score, coggan.get_ceiling(assembly))
    assert float(ceiled) == pytest.approx(float(load_benchmark("tong.Coggan2024_fMRI.V4-rdm")(model)))
