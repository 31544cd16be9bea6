import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bsjax.metrics import compiled
from bsjax.metrics.tuning import peak_spatial_frequency, spatial_frequency_bandwidth
from tests.support import tuning_definitions as definitions

FREQUENCIES = definitions.FREQUENCIES
OCTAVES = np.log2(FREQUENCIES)
STEP = np.ptp(OCTAVES) / 99
KERNELS = {
    kernel.__name__: compiled(kernel, frequencies=tuple(FREQUENCIES.tolist()))
    for kernel in (peak_spatial_frequency, spatial_frequency_bandwidth)
}


def run(name, curves):
    return np.asarray(KERNELS[name](jnp.asarray(curves)))


def of_one(name, curve):
    """Always of 40 units, so that each kernel is compiled once."""
    return float(run(name, np.tile(curve, (40, 1)))[0])


def random_curves(seed=0):
    rng = np.random.default_rng(seed)
    centre, width = rng.uniform(-1.5, 4.0, (40, 1)), rng.uniform(0.3, 3.0, (40, 1))
    return 40 * np.exp(-(((OCTAVES - centre) / width) ** 2)) + rng.gamma(1.0, rng.uniform(0.1, 9, (40, 1)), (40, 22))


def log_gaussian(centre, sigma):
    return 25 * np.exp(-((OCTAVES - centre) ** 2) / (2 * sigma**2))


@given(st.floats(-1.3, 3.8), st.floats(0.4, 2.0))
def test_the_peak_of_a_log_gaussian(centre, sigma):
    peak = of_one("peak_spatial_frequency", log_gaussian(centre, sigma))
    # At the ends of the range, repeating the outermost value moves the peak outwards by less than half a step of them.
    assert np.log2(peak) == pytest.approx(centre, abs=STEP + 0.1)
    if 0 < centre < 3:
        assert np.log2(peak) == pytest.approx(centre, abs=STEP)


@given(st.floats(0.8, 1.7), st.floats(0.4, 1.0))
def test_the_bandwidth_of_a_log_gaussian(centre, sigma):
    """At 0.707 the half width is sigma times sqrt(2 ln(1 / 0.707)); the filter makes it broader."""
    fine = np.arange(-4.0, 4.0, 0.001)
    smooth = sum(w * np.exp(-((fine - s) ** 2) / (2 * sigma**2)) for w, s in ((0.2, -0.25), (1.0, 0.0), (0.2, 0.25)))
    width = np.ptp(fine[smooth > 0.707 * smooth.max()])
    assert width == pytest.approx(2 * sigma * np.sqrt(2 * np.log(1 / 0.707)), rel=0.08)
    bandwidth = of_one("spatial_frequency_bandwidth", log_gaussian(centre, sigma))
    assert np.log2(100 / bandwidth) == pytest.approx(width + STEP, abs=1.05 * STEP)


def test_a_low_pass_unit_has_a_peak_and_no_bandwidth():
    curve = 30 / FREQUENCIES
    assert of_one("peak_spatial_frequency", curve) == pytest.approx(FREQUENCIES[0])
    assert np.isnan(of_one("spatial_frequency_bandwidth", curve))
    assert np.isnan(of_one("spatial_frequency_bandwidth", curve[::-1]))


def test_undefined_is_nan():
    curves = random_curves(3)
    curves[1], curves[2, 3] = 0.0, np.nan
    assert np.isnan(run("peak_spatial_frequency", curves)[2])
    assert np.isnan(run("spatial_frequency_bandwidth", curves)[1:3]).all()
