import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.metrics import compiled, noise_ceiling_snr, rdm_similarity, signal_and_noise, simulated_rsa_ceiling
from bsjax.metrics.ceilings.signal_and_noise import (
    SHRINKAGE_LEVELS,
    SignalAndNoise,
    shrinkage_levels,
    shrunk_log_likelihoods,
    signal_and_noise_at,
)

# Answers of GSN's own package (NumPy path) to the trials below.
GSN = json.loads((Path(__file__).parents[2] / "oracle" / "gsn.json").read_text())["cases"]
at, whole, levels_of = compiled(signal_and_noise_at), compiled(signal_and_noise), compiled(shrinkage_levels)


def gsns_trials(case):
    rng = np.random.default_rng(case["seed"])
    units, conditions = case["units"], case["conditions"]
    loadings, mixing = rng.normal(size=(units, 2)), rng.normal(size=(units, units))
    signal = rng.normal(size=(conditions, 2)) @ loadings.T
    return signal + 0.8 * rng.normal(size=(case["trials"], conditions, units)) @ mixing.T + 1.0


def recording(seed, r, n, signal, noise):
    rng = np.random.default_rng(seed)
    units = len(signal)
    responses = rng.multivariate_normal(np.ones(units), signal, n)
    return responses + rng.multivariate_normal(np.zeros(units), noise, (r, n))


def covariances(seed, u):
    rng = np.random.default_rng(seed)
    loadings, shared = rng.normal(size=(u, 3)), rng.normal(size=(u, u))
    return loadings @ loadings.T / 3 + 0.1 * np.eye(u), shared @ shared.T / u + 0.2 * np.eye(u)


def folds_of(n, folds=5):
    return np.arange(n) % folds == np.arange(folds)[:, None]


def all_there(trials):
    return np.ones(trials.shape[:2], bool)


each_case = pytest.mark.parametrize("case", GSN, ids=lambda case: f"{case['trials']} trials")


@each_case
def test_equals_gsn_at_its_shrinkage(case):
    trials = gsns_trials(case)
    found = at(trials, all_there(trials), np.array([case["shrinklevelD"], case["shrinklevelN"]]))
    np.testing.assert_allclose(found.mean, case["mnS"], atol=1e-12)
    for mine, theirs in ((found.signal, "cSb"), (found.noise, "cNb")):
        # It stops once matrices correlate by 0.999 with those of the step before.
        np.testing.assert_allclose(mine, case[theirs], atol=1e-4)
        # It adds 1e-10 to the diagonal of what it has projected.
        np.testing.assert_allclose(mine, case[f"{theirs}_converged"], atol=1e-9)
    present = np.ones(trials.shape, bool)
    np.testing.assert_allclose(compiled(noise_ceiling_snr)(trials, present), case["ncsnr"], atol=1e-12)


@pytest.mark.slow
@each_case
def test_likelihoods_are_those_of_gsn(case):
    trials = gsns_trials(case)
    test = np.isin(np.arange(case["conditions"]), case["held_out"])
    levels = jnp.asarray(SHRINKAGE_LEVELS)
    within, means = trials - trials.mean(axis=0), trials.mean(axis=0)
    rows = within[:, test].reshape(-1, case["units"])
    pooled = np.einsum("rnu,rnv->uv", within[:, ~test], within[:, ~test]) / ((case["trials"] - 1) * (~test).sum())
    for covariance, held_out, theirs in (
        (pooled, rows, "nllN"),
        (np.cov(means[~test].T), means[test] - means[~test].mean(axis=0), "nllD"),
    ):
        found = compiled(shrunk_log_likelihoods)(covariance, held_out, np.asarray(float(len(held_out))), levels)
        np.testing.assert_allclose(-found / len(held_out), case[theirs], atol=1e-10)
    chosen = levels_of(trials, all_there(trials), test[None])
    assert float(chosen[0]) == pytest.approx(case["shrinklevelD"])


def test_a_singular_covariance_has_no_likelihood():
    rows = np.random.default_rng(0).normal(size=(3, 6))
    found = compiled(shrunk_log_likelihoods)(np.cov(rows.T), rows, np.asarray(3.0), jnp.array([0.5, 1.0]))
    assert np.isfinite(found[0]) and found[1] == -np.inf


@pytest.mark.slow
def test_ragged_trials_have_no_bias():
    """The mean over recordings is the truth, with one to four trials, all of which count."""
    signal, noise = covariances(1, 3)
    there = np.arange(4)[:, None] < np.tile([1, 2, 3, 4], 15)
    trials = np.stack([recording(seed, 4, 60, signal, noise) for seed in range(300)])
    trials = np.where(there[:, :, None], trials, np.nan)
    found = jax.jit(jax.vmap(lambda x: signal_and_noise_at(x, jnp.asarray(there), jnp.ones(2))))(trials)
    for mine, truth in ((found.signal, signal), (found.noise, noise)):
        error = np.std(mine, axis=0) / np.sqrt(300)
        np.testing.assert_array_less(np.abs(np.mean(mine, axis=0) - truth), 4 * error + 0.01)


def test_covariances_are_symmetric_and_semidefinite():
    signal, noise = covariances(2, 30)
    trials = 1e3 * recording(2, 2, 20, 0.1 * signal, noise)  # fewer stimuli than units, and hardly a signal
    found = whole(trials, all_there(trials), folds_of(20))
    for covariance in map(np.asarray, found[1:3]):
        np.testing.assert_allclose(covariance, covariance.T, atol=1e-10)
        assert np.linalg.eigvalsh(covariance)[0] > -1e-10


@pytest.mark.slow
def test_ceiling_is_what_the_truth_scores():
    """Of a known model: the RDM of simulated averages compared with that of their signals."""
    signal, noise = covariances(4, 12)
    model = SignalAndNoise(jnp.zeros(12), jnp.asarray(signal), jnp.asarray(noise), jnp.asarray(0.25))
    normals = np.random.default_rng(1).normal(size=(40, 2, 30, 12))
    found = compiled(simulated_rsa_ceiling, method="spearman")(model, normals)
    compare = compiled(rdm_similarity, method="spearman")
    rng = np.random.default_rng(2)
    scores = []
    for _ in range(40):
        responses = rng.multivariate_normal(np.zeros(12), signal, 30)
        averages = responses + rng.multivariate_normal(np.zeros(12), noise, (4, 30)).mean(axis=0)
        scores.append(float(compare(responses, averages)))
    assert np.median(found) == pytest.approx(np.median(scores), abs=0.02)
    more = compiled(simulated_rsa_ceiling, method="spearman", trials_averaged=100.0)(model, normals)
    assert (np.asarray(more) > np.asarray(found)).all()
