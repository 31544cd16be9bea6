import jax.numpy as jnp
import numpy as np
import pytest

from bsjax import metrics

variances, snr_of, reliability = (
    metrics.compiled(kernel)
    for kernel in (metrics.signal_and_noise_variances, metrics.noise_ceiling_snr, metrics.reliability_of_averages)
)


def recording(rng, r, n, u, snr=1.0):
    return snr * rng.normal(size=(n, u)) + rng.normal(size=(r, n, u))


def everywhere(trials):
    return np.ones(trials.shape, bool)


def ragged(rng, r, n, u):
    present = np.arange(r)[:, None] < rng.integers(1, r + 1, n)
    return np.broadcast_to(present[:, :, None], (r, n, u))


def test_of_nsd():
    assert float(metrics.noise_ceiling(jnp.asarray(0.26), jnp.asarray(1 / 3))) == pytest.approx(0.169, abs=5e-4)


def test_ragged_trials_are_unbiased():
    """Over many units alike, of stimuli that have one to four trials."""
    rng = np.random.default_rng(0)
    trials, present = recording(rng, 4, 30, 4_000, snr=0.7), ragged(rng, 4, 30, 4_000)
    found = [np.asarray(part) for part in variances(np.where(present, trials, np.nan), present)]
    for values, truth in ((found[0], 0.49), (found[1], 1.0)):
        assert np.mean(values) == pytest.approx(truth, abs=4 * np.std(values) / np.sqrt(4_000))
    np.testing.assert_allclose(found[2], np.mean(1 / present[:, :, 0].sum(axis=0)), atol=1e-12)


def test_of_another_number_of_trials():
    trials = recording(np.random.default_rng(0), 3, 500, 40)
    ten = metrics.compiled(metrics.reliability_of_averages, trials_averaged=10.0)(trials, everywhere(trials))
    assert np.median(ten) == pytest.approx(10 / 11, abs=0.01)


@pytest.mark.slow
def test_where_it_is_defined():
    rng = np.random.default_rng(0)
    trials = recording(rng, 2, 12, 5)
    present = everywhere(trials).copy()
    trials[:, :, 0] = 0.1  # constant
    trials[1, :, 1] = trials[0, :, 1]  # without noise
    present[1, :, 2] = False  # nothing repeated
    present[:, 1:, 3] = False  # a single stimulus
    trials[0, :, 4], trials[1, :, 4] = 1.0, -1.0  # without signal
    snr, ceiling = snr_of(trials, present), reliability(trials, present)
    np.testing.assert_array_equal(snr, [np.nan, np.inf, np.nan, np.nan, 0.0])
    np.testing.assert_array_equal(ceiling, [np.nan, 1.0, np.nan, np.nan, 0.0])
    np.testing.assert_array_equal(metrics.noise_ceiling(snr[1:3], jnp.full(2, 0.5)), [1.0, np.nan])
