"""Neurons of which a property is undefined; the properties themselves are held against loops over neurons in
``tests/labelled/tuning/test_experiments.py``."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.metrics import compiled, tuning
from tests.support.tuning_definitions import FREQUENCIES, ORIENTATIONS, RADII

ANGLES, OCTAVES = {"orientations": tuple(ORIENTATIONS.tolist())}, {"frequencies": tuple(FREQUENCIES.tolist())}
# Each with the shape of what it takes of a neuron.
KERNELS = {
    "circular_variance": (compiled(tuning.circular_variance, **ANGLES), (12,)),
    "half_bandwidth": (compiled(tuning.half_bandwidth, **ANGLES), (12,)),
    "preferred_orientation": (compiled(tuning.preferred_orientation, **ANGLES), (12,)),
    "orthogonal_preferred_ratio": (compiled(tuning.orthogonal_preferred_ratio), (12,)),
    "peak_spatial_frequency": (compiled(tuning.peak_spatial_frequency, **OCTAVES), (22,)),
    "spatial_frequency_bandwidth": (compiled(tuning.spatial_frequency_bandwidth, **OCTAVES), (22,)),
    "surround_suppression_index": (compiled(tuning.surround_suppression_index), (12,)),
    "sparseness": (compiled(tuning.sparseness), (15,)),
    "variance_ratio": (compiled(tuning.variance_ratio), (15, 15)),
}


def responses(name):
    """Of 40 neurons, of which the second does not vary and the third lacks a response."""
    found = np.random.default_rng(4).gamma(2.0, 9.0, (40, *KERNELS[name][1]))
    found[1], found[2, 3] = 0.0, np.nan
    return found


@pytest.mark.parametrize("name", KERNELS)
def test_undefined_is_nan(name):
    found = np.isnan(KERNELS[name][0](jnp.asarray(responses(name))))
    assert found[2]
    if name not in ("preferred_orientation", "peak_spatial_frequency"):  # of which any curve has one
        assert found[1]


@pytest.mark.parametrize(
    "name",
    ["circular_variance", "orthogonal_preferred_ratio", "surround_suppression_index", "sparseness", "variance_ratio"],
)
def test_gradients_are_finite_where_the_value_is_undefined(name):
    values = responses(name)
    values[2] = 3.0
    gradient = jax.jit(jax.grad(lambda x: jnp.nansum(KERNELS[name][0](x))))(jnp.asarray(values))
    assert jnp.isfinite(gradient).all() and jnp.any(gradient != 0)


def test_the_extent_of_a_surround_needs_suppression_by_a_tenth():
    curves = np.full((4, 12), 91.0)
    curves[:2, 4], curves[1, -1], curves[2], curves[3] = 100.0, 89.0, np.arange(12.0), -1.0
    for of, radius in ((tuning.grating_summation_field, RADII[4]), (tuning.surround_diameter, RADII[5])):
        found = compiled(of)(jnp.asarray(curves), jnp.asarray(RADII))
        np.testing.assert_array_equal(np.isnan(found), [True, False, True, True])
        assert found[1] == pytest.approx(2 * radius)


def test_silent_families_are_left_out():
    texture, noise = np.ones((3, 15)), np.full((3, 15), 3.0)
    texture[0, 4:] = noise[0, 4:] = texture[1] = noise[1] = 0.0
    index = compiled(tuning.texture_modulation_index)(jnp.asarray(texture), jnp.asarray(noise))
    np.testing.assert_array_equal(index, [-0.5, np.nan, -0.5])


def test_extremes_of_the_variance_ratio():
    rates = responses("variance_ratio")
    rates[3], rates[4], rates[5], rates[6, 0, 0] = rates[3, :, :1], rates[4, :1], 12.3, -1.0
    ratio = KERNELS["variance_ratio"][0](jnp.asarray(rates))
    assert ratio[3] == pytest.approx(51) and ratio[4] == pytest.approx((-1 / 14 + 0.02) / (15 / 14 + 0.02))
    assert np.isnan(ratio[5:7]).all() and np.isfinite(ratio[7:]).all()
