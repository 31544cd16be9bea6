import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from bsjax.metrics.linalg.participation_ratio import participation_ratio
from bsjax.metrics.similarity import alignment_spectrum as kernels
from bsjax.metrics.similarity.alignment_spectrum import Spectrum

alignment_spectrum, effective_dimensionality, predicted_errors = map(
    jax.jit, (kernels.alignment_spectrum, kernels.effective_dimensionality, kernels.predicted_errors)
)


def test_the_published_effective_dimensionality():
    """Of the fixture that other libraries are compared on."""
    np.random.seed(0)
    x = jnp.asarray(np.random.uniform(size=(30, 25)))
    assert float(effective_dimensionality(x)) == pytest.approx(13.5783411126, abs=1e-10)
    assert float(effective_dimensionality(x.astype(jnp.float32))) == pytest.approx(13.5783411126, abs=1e-4)


def test_effective_dimensionality_is_that_of_the_eigenvalues():
    x = np.random.default_rng(1).normal(size=(5, 12)) * np.arange(1, 13) + 100
    values = np.linalg.svd(x - x.mean(axis=0), compute_uv=False) ** 2
    expected = values.sum() ** 2 / (values**2).sum()
    assert float(effective_dimensionality(jnp.asarray(x))) == pytest.approx(expected, rel=1e-9)


@pytest.mark.slow
def test_without_variance_there_is_no_dimensionality_and_the_gradient_stays_finite():
    assert np.isnan(effective_dimensionality(jnp.full((4, 3), 0.1)))
    gradient = jax.grad(lambda x: jnp.nansum(effective_dimensionality(x)))(jnp.full((4, 3), 0.1))
    assert np.isfinite(gradient).all()
    assert float(participation_ratio(1e-200 * jnp.eye(3))) == pytest.approx(3)


@pytest.mark.parametrize("shape", [(30, 7), (7, 30)])
def test_shares_are_those_of_the_singular_vectors(shape):
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=shape) + 3, rng.normal(size=(shape[0], 4))
    spectrum = alignment_spectrum(jnp.asarray(x), jnp.asarray(y))
    left, lengths, _ = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)
    y = y - y.mean(axis=0)
    modes = min(shape[0] - 1, shape[1])  # centring takes one away
    expected = ((left.T @ y) ** 2 / (y**2).sum(axis=0))[:modes]
    np.testing.assert_allclose(spectrum.shares[:modes], expected, atol=1e-10)
    np.testing.assert_allclose(spectrum.eigenvalues[:modes], lengths[:modes] ** 2 / shape[0], rtol=1e-10)
    assert (spectrum.shares[modes:] == 0).all() and (spectrum.eigenvalues[modes:] == 0).all()
    whole = np.asarray(spectrum.shares).sum(axis=0)
    np.testing.assert_allclose(whole, 1 if shape[0] < shape[1] else expected.sum(axis=0), atol=1e-10)


def test_a_constant_target_has_no_shares():
    x, y = np.random.default_rng(3).normal(size=(2, 9, 3))
    y[:, 1] = 0.1
    shares = np.asarray(alignment_spectrum(jnp.asarray(x), jnp.asarray(y)).shares)
    assert np.isnan(shares[:, 1]).all() and np.isfinite(shares[:, [0, 2]]).all()


def learning_curve(variances, weights, noise, n_train, alpha, draws, rng):
    """Mean squared error of ridge regression on new stimuli, and its standard error over draws of the training ones."""
    errors = []
    for _ in range(draws):
        z = rng.normal(size=(n_train + 400, len(variances))) * np.sqrt(variances)
        y = z @ weights + noise * rng.normal(size=len(z))
        x_mean, y_mean = z[:n_train].mean(axis=0), y[:n_train].mean()
        x = z[:n_train] - x_mean
        penalised = np.concatenate([x, np.sqrt(alpha) * np.eye(len(variances))])
        fitted = np.linalg.lstsq(penalised, np.append(y[:n_train] - y_mean, np.zeros(len(variances))))[0]
        errors.append(np.mean(((z[n_train:] - x_mean) @ fitted + y_mean - y[n_train:]) ** 2))
    return np.mean(errors), np.std(errors) / np.sqrt(draws)


@pytest.mark.parametrize("alpha", [0.0, 10.0])
def test_the_predicted_learning_curve_is_the_simulated_one(alpha):
    rng = np.random.default_rng(4)
    variances = np.arange(1, 41) ** -1.5
    weights, noise = rng.normal(size=40) * variances**0.15, 0.3
    signal = weights**2 * variances
    total = signal.sum() + noise**2
    spectrum = Spectrum(jnp.asarray(variances), jnp.asarray(signal / total)[:, None])
    numbers = [25, 60, 150]
    predicted = predicted_errors(spectrum, jnp.array(numbers, float), jnp.asarray(alpha))
    for number, error in zip(numbers, np.asarray(predicted.error)[:, 0], strict=True):
        simulated, standard_error = learning_curve(variances, weights, noise, number, alpha, 40, rng)
        assert error == pytest.approx(simulated / total, abs=4 * standard_error / total, rel=0.03)
    np.testing.assert_array_less(0, np.diff(predicted.learnability, axis=0) + 1e-12)
    beyond = (noise**2 / total) * np.asarray(predicted.error - predicted.by_mode.sum(axis=1, keepdims=True))
    assert (beyond > 0).all()


def of_eigenvalues(x, y):
    return jnp.sum(alignment_spectrum(x, y).eigenvalues ** 2)


def of_weighted_modes(x, y):
    spectrum = alignment_spectrum(x, y)
    return jnp.sum(jnp.cos(jnp.arange(1.0, 1.0 + len(spectrum.shares)))[:, None] * spectrum.shares)


def of_errors(x, y):
    return jnp.sum(predicted_errors(alignment_spectrum(x, y), jnp.array([2.0, 4.0]), jnp.asarray(0.5)).error)


@pytest.mark.parametrize("function", [of_weighted_modes, of_errors])
@pytest.mark.parametrize("shape", [(8, 5), (6, 9)])
def test_gradients_are_those_of_differences(shape, function):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=shape), rng.normal(size=(shape[0], 2))
    check_grads(jax.jit(function), (jnp.asarray(x), jnp.asarray(y)), order=1, modes=("rev",), atol=1e-5, rtol=1e-5)


@pytest.mark.slow
def test_where_eigenvalues_repeat_their_sum_has_a_gradient_and_what_depends_on_axes_none():
    x = np.concatenate([np.eye(4), -np.eye(4)]) * np.array([1.0, 1.0, 1.0, 2.0])
    y = jnp.asarray(np.random.default_rng(0).normal(size=(8, 2)))
    total = jax.grad(lambda x: jnp.sum(alignment_spectrum(x, y).eigenvalues))(jnp.asarray(x))
    np.testing.assert_allclose(total, 2 * x / 8, atol=1e-12)
    check_grads(lambda x: of_eigenvalues(x, y), (jnp.asarray(x),), order=1, modes=("rev",), atol=1e-5, rtol=1e-5)
    for of_axes in (of_weighted_modes, of_errors):
        assert jnp.isnan(jax.grad(of_axes)(jnp.asarray(x), y)).any()
