"""Topography: 0 for shuffled positions, pi pinwheels per hypercolumn in random maps, and sums over pairs by SciPy."""

from functools import partial

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist, squareform

from bsjax.engine.precision import precision
from bsjax.metrics import compiled
from bsjax.metrics.topography.pinwheels import hypercolumn_size, pinwheel_density, winding_numbers
from bsjax.metrics.topography.smoothness import tuning_smoothness
from bsjax.metrics.topography.wiring import wiring_economy, wiring_length
from tests.support.slopes import check_slope

OF_UNITS = [tuning_smoothness, wiring_economy]


def sheet(rng, units=60, stimuli=40):
    """Units with Gaussian tuning to a stimulus that varies smoothly over the sheet, with noise."""
    positions = rng.uniform(0, 4, (units, 2))
    preferred = positions / 4 + 0.05 * rng.normal(size=(units, 2))
    x = np.exp(-(cdist(rng.uniform(size=(stimuli, 2)), preferred) ** 2) / 0.1)
    return x + 0.05 * rng.normal(size=x.shape), positions


def run(kernel, *arrays, dtype="float64", **settings):
    with precision(dtype) as kind:
        arrays = [jnp.asarray(a, kind if np.asarray(a).dtype.kind == "f" else None) for a in arrays]
        return np.asarray(compiled(kernel, **settings)(*arrays))


def weighted(x, positions, weights, *, kernel):
    return kernel(x, positions, weights=weights)


def gaussian_field(rng, size=192, wavelength=16.0, width=0.03):
    """A random map of one wavelength: noise within a narrow ring of frequencies."""
    frequency = np.hypot(*np.meshgrid(*[np.fft.fftfreq(size)] * 2, indexing="ij"))
    ring = np.exp(-((frequency * wavelength - 1) ** 2) / (2 * width**2))
    noise = rng.normal(size=(size, size)) + 1j * rng.normal(size=(size, size))
    field = np.fft.ifft2(ring * noise)
    return np.stack([field.real, field.imag], axis=2)


def test_pairs_are_those_of_scipy():
    x, positions = sheet(np.random.default_rng(0))
    differences, apart = pdist(x.T, "correlation"), pdist(positions)
    assert run(tuning_smoothness, x, positions) == pytest.approx(np.corrcoef(differences, apart)[0, 1], abs=1e-12)
    weights = np.maximum(1 - differences, 0)
    mean = (weights * apart).sum() / weights.sum()
    assert run(wiring_length, squareform(weights), positions) == pytest.approx(mean, abs=1e-12)
    assert run(wiring_economy, x, positions) == pytest.approx(1 - mean / apart.mean(), abs=1e-12)


@pytest.mark.parametrize("kernel", OF_UNITS)
def test_weights_are_repetitions_of_stimuli_on_any_scale(kernel):
    x, positions = sheet(np.random.default_rng(6), 20, 12)
    counts = np.random.default_rng(7).multinomial(12, np.ones(12) / 12)
    x[:, 0] = np.where(counts > 0, 0.3, x[:, 0])  # constant in the draw
    expected = run(kernel, np.repeat(x, counts, axis=0), positions)
    for weights in (counts, 3.7 * counts):
        found = run(partial(weighted, kernel=kernel), x, positions, weights.astype(float))
        assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.slow
def test_gradients_of_a_size_are_finite_differences():
    field = gaussian_field(np.random.default_rng(3), 24, 8.0)
    with precision("float64"):
        check_slope(hypercolumn_size, field / np.abs(field).max(), atol=1e-7)


def test_a_random_map_of_one_wavelength_has_pi_pinwheels_per_hypercolumn():
    rng = np.random.default_rng(4)
    maps = [gaussian_field(rng) for _ in range(6)]
    assert np.mean([run(hypercolumn_size, each) for each in maps]) == pytest.approx(16.0, rel=0.02)
    densities = [run(pinwheel_density, each) for each in maps]
    assert np.mean(densities) == pytest.approx(np.pi, rel=0.03)
    assert run(pinwheel_density, maps[0], dtype="float32") == pytest.approx(densities[0], rel=1e-3)
    assert set(np.unique(run(winding_numbers, maps[0]))) == {-1, 0, 1}
    # Without a part of the map, the density is about the same.
    holed = maps[0].copy()
    holed[:48] = np.nan
    assert run(pinwheel_density, holed) == pytest.approx(np.pi, rel=0.15)
    assert np.isnan(run(pinwheel_density, np.zeros((8, 8, 2)) * np.nan))
