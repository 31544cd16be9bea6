import numpy as np
import pytest

from bsjax.metrics import compiled, noise_corrected_r2

corrected = compiled(noise_corrected_r2)


def by_definition(x, y):
    """The estimator as the paper has it, of one unit: ``y`` is (trials, stimuli)."""
    n, m = y.shape
    noise = y.var(axis=0, ddof=1).mean() / n
    x, mean = x - x.mean(), y.mean(axis=0) - y.mean()
    return ((x @ mean) ** 2 - noise * x @ x) / (x @ x * (mean @ mean) - (m - 1) * noise * x @ x)


def simulated(rng, r2, snr, stimuli, trials, units):
    """Units of unit noise and a signal of variance ``snr``, and a prediction that explains r2 of it exactly."""
    angle = np.linspace(0, 2 * np.pi, stimuli, endpoint=False)
    prediction, tuning = np.cos(angle), np.cos(angle + np.arccos(np.sqrt(r2)))
    signal = np.sqrt(2 * snr) * tuning
    y = signal[None, :, None] + rng.normal(size=(trials, stimuli, units))
    return np.broadcast_to(prediction[:, None], (stimuli, units)), y


def test_equals_the_definition():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(12, 5)), 2.0 * rng.normal(size=(12, 5)) + rng.normal(size=(3, 12, 5))
    expected = [by_definition(x[:, i], y[:, :, i]) for i in range(5)]
    np.testing.assert_allclose(corrected(x, y, np.ones(y.shape, bool)), expected, atol=1e-12)


def test_the_published_case():
    """362 stimuli, 4 trials, an SNR of 1/2: .67 without correction, 1.00 with it."""
    x, y = simulated(np.random.default_rng(0), 1.0, 0.5, 362, 4, 500)
    naive = np.corrcoef(x[:, 0], y.mean(axis=0).T)[0, 1:] ** 2
    assert naive.mean() == pytest.approx(0.667, abs=0.005)
    assert np.mean(corrected(x, y, np.ones(y.shape, bool))) == pytest.approx(1.0, abs=0.005)


@pytest.mark.parametrize("r2", [0.0, 1.0])
def test_has_no_bias_with_ragged_trials(r2):
    units = 1000
    rng = np.random.default_rng(1)
    x, y = simulated(rng, r2, 1.0, 60, 4, units)
    present = np.arange(4)[:, None] < rng.integers(1, 5, 60)
    present = np.broadcast_to(present[:, :, None], y.shape)
    found = np.asarray(corrected(x, np.where(present, y, np.nan), present))
    assert found.mean() == pytest.approx(r2, abs=4 * found.std() / np.sqrt(units) + 0.003)
    if r2 == 1.0:
        assert (found > 1).mean() > 0.3  # not clipped


def test_where_it_is_defined():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(10, 5)), 2.0 * rng.normal(size=(10, 5)) + rng.normal(size=(2, 10, 5))
    present = np.ones(y.shape, bool)
    x[:, 0] = 0.1  # constant
    present[1, :, 1] = False  # nothing repeated
    y[0, :, 2], y[1, :, 2] = 1.0, -1.0  # no more than noise
    y[:, :, 3] = 0.1  # nothing at all
    np.testing.assert_array_equal(np.isnan(corrected(x, y, present)), [True, True, True, True, False])


def test_large_numbers_in_float32():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(10, 5))
    y = x + 0.5 * rng.normal(size=(2, 10, 5))
    present = np.ones(y.shape, bool)
    single = corrected((1e12 * x).astype("float32"), (1e12 * y).astype("float32"), present)
    np.testing.assert_allclose(single, corrected(x, y, present), atol=1e-4)
