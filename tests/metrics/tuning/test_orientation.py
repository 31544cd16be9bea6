import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import UnivariateSpline

from bsjax.metrics import compiled
from bsjax.metrics.tuning import (
    circular_variance,
    half_bandwidth,
    orthogonal_preferred_ratio,
    preferred_orientation,
)
from bsjax.metrics.tuning.curves import spline_matrix
from tests.support import tuning_definitions as definitions

THETA = definitions.ORIENTATIONS
SETTINGS = {"orientations": tuple(THETA.tolist())}
KERNELS = {
    kernel.__name__: compiled(kernel, **SETTINGS)
    for kernel in (circular_variance, half_bandwidth, preferred_orientation)
} | {"orthogonal_preferred_ratio": compiled(orthogonal_preferred_ratio)}


def run(name, curves):
    return np.asarray(KERNELS[name](jnp.asarray(curves)))


def of_one(name, curve):
    """Always of 40 units, so that each kernel is compiled once."""
    return float(run(name, np.tile(curve, (40, 1)))[0])


def random_curves(seed=0):
    """From narrowly tuned units to untuned ones, a third of them on top of a constant response."""
    rng = np.random.default_rng(seed)
    centre, sharpness = rng.uniform(0, 180, (40, 1)), 10 ** rng.uniform(-1, 1.3, (40, 1))
    tuned = np.exp(sharpness * (np.cos(2 * np.deg2rad(THETA - centre)) - 1))
    constant = np.where(np.arange(40) % 3 == 0, 150.0, 0.0)[:, None]
    return constant + 40 * tuned + rng.gamma(1.0, rng.uniform(0.1, 15, (40, 1)), (40, 12))


def von_mises(centre, kappa):
    return 30 * np.exp(kappa * (np.cos(2 * np.deg2rad(THETA - centre)) - 1))


def test_the_matrix_is_the_spline_of_scipy():
    points, at = THETA - 7.0, np.linspace(-30.0, 250.0, 401)
    values = random_curves()[0]
    got = spline_matrix(tuple(points.tolist()), tuple(at.tolist())) @ values
    np.testing.assert_allclose(got, UnivariateSpline(points, values, k=3, s=0)(at), rtol=1e-9, atol=1e-9)


@given(st.floats(0.0, 1.0), st.floats(0.0, 180.0))
def test_circular_variance_of_a_cosine(depth, centre):
    curve = 20 * (1 + depth * np.cos(2 * np.deg2rad(THETA - centre)))
    assert of_one("circular_variance", curve) == pytest.approx(1 - depth / 2, abs=1e-9)


@given(st.floats(0.75, 4.0), st.floats(0.0, 180.0))
def test_half_width_of_a_von_mises(kappa, centre):
    """The filter makes the curve broader; each flank is late by a degree, and what lines between samples add."""
    fine = np.arange(-90.0, 90.0, 0.01)
    smooth = sum(
        weight * np.exp(kappa * (np.cos(2 * np.deg2rad(fine - shift)) - 1))
        for weight, shift in ((0.4, -15), (1.0, 0), (0.4, 15))
    )
    width = np.ptp(fine[smooth > 0.707 * smooth.max()]) / 2
    assert -0.2 <= of_one("half_bandwidth", von_mises(centre, kappa)) - width <= 1.5


@given(st.integers(0, 179), st.floats(0.3, 3.0))
def test_the_preferred_orientation_of_a_von_mises(centre, kappa):
    expected = centre - 180 if centre >= 157.5 else centre
    difference = of_one("preferred_orientation", von_mises(centre, kappa)) - expected
    assert min(difference % 180, -difference % 180) <= 1
    assert -22 <= of_one("preferred_orientation", von_mises(centre, kappa)) <= 157


def test_undefined_is_nan():
    curves = random_curves(4)
    curves[1], curves[2, 3] = 0.0, np.nan
    for name in KERNELS:
        result = run(name, curves)
        assert np.isnan(result[2]), name
        assert np.isnan(result[1]) == (name != "preferred_orientation"), name


@pytest.mark.parametrize("name", ["circular_variance", "orthogonal_preferred_ratio"])
def test_gradients_are_finite_where_the_value_is_undefined(name):
    curves = random_curves(5)
    curves[0], curves[1] = 0.0, 3.0

    def total(curves):
        values = KERNELS[name](curves)
        return jnp.sum(jnp.where(jnp.isnan(values), jnp.zeros_like(values), values))

    gradient = jax.grad(total)(jnp.asarray(curves))
    assert jnp.isfinite(gradient).all() and jnp.any(gradient != 0)
