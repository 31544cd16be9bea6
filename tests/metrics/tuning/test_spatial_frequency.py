import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.metrics import compiled
from bsjax.metrics.tuning import peak_spatial_frequency, spatial_frequency_bandwidth
from tests.support import tuning_definitions as definitions

FREQUENCIES = definitions.FREQUENCIES
KERNELS = {
    kernel.__name__: compiled(kernel, frequencies=tuple(FREQUENCIES.tolist()))
    for kernel in (peak_spatial_frequency, spatial_frequency_bandwidth)
}


def run(name, curves):
    return np.asarray(KERNELS[name](jnp.asarray(curves)))


def of_one(name, curve):
    """Always of 40 units, so that each kernel is compiled once."""
    return float(run(name, np.tile(curve, (40, 1)))[0])


def test_a_low_pass_unit_has_a_peak_and_no_bandwidth():
    curve = 30 / FREQUENCIES
    assert of_one("peak_spatial_frequency", curve) == pytest.approx(FREQUENCIES[0])
    assert np.isnan(of_one("spatial_frequency_bandwidth", curve))
    assert np.isnan(of_one("spatial_frequency_bandwidth", curve[::-1]))


def test_undefined_is_nan():
    curves = np.random.default_rng(3).gamma(1.0, 9.0, (40, 22))
    curves[1], curves[2, 3] = 0.0, np.nan
    assert np.isnan(run("peak_spatial_frequency", curves)[2])
    assert np.isnan(run("spatial_frequency_bandwidth", curves)[1:3]).all()
