import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
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


def centre_minus_surround(centre, surround, weight):
    return 40 * erf(RADII / centre) - 40 * weight * erf(RADII / surround)


def random_curves(seed=0):
    rng = np.random.default_rng(seed)
    curves = [
        centre_minus_surround(c, 3 * c, w) for c, w in zip(*rng.uniform((0.2, 0), (1.5, 0.9), (40, 2)).T, strict=True)
    ]
    return np.array(curves) + rng.normal(size=(40, 12))


@given(st.floats(0.1, 0.6), st.floats(0.35, 0.95))
def test_a_difference_of_gaussians(centre, weight):
    """A surround four times as large as the centre; two radii an octave miss the true peak by half of that at most."""
    surround = 4 * centre
    fine = 2.0 ** np.linspace(-5, np.log2(RADII[-1]), 5000)
    curve = erf(fine / centre) - weight * erf(fine / surround)
    index, field, diameter = of_one(centre_minus_surround(centre, surround, weight))
    assert index == pytest.approx(1 - curve[-1] / curve.max(), abs=0.03)
    near = 2 * fine[np.argmax(curve >= 0.95 * curve.max())]
    assert abs(np.log2(field / near)) <= 0.55
    plateau = 2 * fine[(fine > fine[np.argmax(curve)]) & (curve <= 1.05 * curve[-1])][0]
    assert -0.01 <= np.log2(diameter / plateau) <= 0.51


def test_without_suppression_there_is_no_diameter():
    index, field, diameter = of_one(30 * erf(RADII / 0.5))
    assert index == pytest.approx(0, abs=1e-9) and np.isnan(field) and np.isnan(diameter)
    nine_percent = np.full(12, 91.0)
    nine_percent[4] = 100.0
    assert np.isnan(of_one(nine_percent)[1:]).all()
    nine_percent[-1] = 89.0
    np.testing.assert_allclose(of_one(nine_percent), [0.11, 2 * RADII[4], 2 * RADII[5]])


def test_undefined_is_nan():
    curves = random_curves(2)
    curves[1], curves[2], curves[3, 5] = 0.0, -1.0, np.nan
    assert np.isnan(run(curves)[1:4]).all()


def test_gradients_stay_finite_beside_a_silent_unit():
    curves = random_curves(3)
    curves[0] = 0.0
    gradient = jax.grad(lambda c: jnp.nansum(surround_suppression_index(c)))(jnp.asarray(curves))
    assert jnp.isfinite(gradient).all() and jnp.any(gradient != 0)
