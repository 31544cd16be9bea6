import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import erf

from bsjax.metrics import compiled
from bsjax.metrics.tuning import grating_summation_field, surround_diameter, surround_suppression_index
from tests.support import tuning_definitions as definitions

RADII = definitions.RADII


def all_three(curves, radii):
    values = (
        surround_suppression_index(curves),
        grating_summation_field(curves, radii),
        surround_diameter(curves, radii),
    )
    return jnp.stack(values, axis=1)


def run(curves, dtype=float):
    return np.asarray(compiled(all_three)(*(jnp.asarray(a, dtype) for a in (curves, RADII))))


def of_one(curve):
    """Always of 40 units, so that the kernel is compiled once."""
    return run(np.tile(curve, (40, 1)))[0]


def random_curves():
    return np.random.default_rng(2).gamma(2.0, 9.0, (40, 12))


def test_without_suppression_there_is_no_diameter():
    index, field, diameter = of_one(30 * erf(RADII / 0.5))
    assert index == pytest.approx(0, abs=1e-9) and np.isnan(field) and np.isnan(diameter)
    nine_percent = np.full(12, 91.0)
    nine_percent[4] = 100.0
    assert np.isnan(of_one(nine_percent)[1:]).all()
    nine_percent[-1] = 89.0
    np.testing.assert_allclose(of_one(nine_percent), [0.11, 2 * RADII[4], 2 * RADII[5]])


def test_undefined_is_nan():
    curves = random_curves()
    curves[1], curves[2], curves[3, 5] = 0.0, -1.0, np.nan
    assert np.isnan(run(curves)[1:4]).all()


def test_gradients_stay_finite_beside_a_silent_unit():
    curves = random_curves()
    curves[0] = 0.0
    gradient = jax.grad(lambda c: jnp.nansum(surround_suppression_index(c)))(jnp.asarray(curves))
    assert jnp.isfinite(gradient).all() and jnp.any(gradient != 0)
