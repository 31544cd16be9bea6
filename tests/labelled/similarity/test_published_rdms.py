"""Published dissimilarity matrices give the published numbers."""

import json

import numpy as np
import pytest

from bsjax import load_dataset
from bsjax.engine.precision import precision
from bsjax.labelled.ceilings.noise_ceiling import RSACeiling
from bsjax.metrics import compiled
from bsjax.metrics.similarity.rdms.rdm_comparison import compare_all_rdm_vectors


@pytest.fixture(scope="module")
def expected(shared_data):
    return json.loads((shared_data / "expected.json").read_text())


@pytest.fixture(scope="module")
def kriegeskorte(shared_data):
    def load(kind):
        return load_dataset("Kriegeskorte2008", folder=shared_data / "kriegeskorte2008_92", kind=kind)

    return {"behaviour": load("behaviour"), "human_it": load("human_it").mean("session"), "models": load("models")}


def vectors(rdms):
    left, right = np.triu_indices(rdms.sizes["stimulus_left"], 1)
    return np.asarray(rdms.values, float)[..., left, right]


def evaluations(models, subjects, method):
    with precision("float64"):
        return np.asarray(compiled(compare_all_rdm_vectors, method=method)(models, subjects))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["spearman", "tau-a"])
@pytest.mark.parametrize(
    ("kind", "name"), [("behaviour", "behaviour_16_observers"), ("human_it", "hIT_4_subjects_sessions_averaged")]
)
def test_kriegeskorte_ceilings_of_rsatoolbox(kriegeskorte, expected, kind, name, method):
    bounds = expected["kriegeskorte2008_rsatoolbox_0.3.2"]["boot_noise_ceiling_lower_upper"][name][method]
    got = RSACeiling(similarity_func=method, pooling="matched")(kriegeskorte[kind])
    np.testing.assert_allclose(got.raw.mean("subject"), bounds, atol=1e-5)


@pytest.mark.parametrize("method", ["tau-a", "spearman"])
def test_models_of_human_it_as_rsatoolbox_evaluates_them(kriegeskorte, expected, method):
    published = expected["kriegeskorte2008_rsatoolbox_0.3.2"]["eval_fixed_hIT"]
    models = kriegeskorte["models"]
    assert models["model"].values.tolist() == published["models"]
    got = evaluations(vectors(models), vectors(kriegeskorte["human_it"]), method).mean(axis=1)
    np.testing.assert_allclose(got, published[method], atol=1e-5)


def test_monkey_and_human_it_correlate(kriegeskorte, expected):
    monkey = vectors(kriegeskorte["models"].sel(model="monkeyIT"))
    human = vectors(kriegeskorte["human_it"].mean("subject"))
    got = evaluations(monkey.reshape(1, -1), human[None], "corr").item()
    assert got == pytest.approx(expected["kriegeskorte2008"]["mIT_hIT_pearson"], abs=5e-5)
