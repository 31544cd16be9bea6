import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.models.builtin.image_statistics import spectral_bands, statistics

SIDE = 64
BANDS = jnp.asarray(spectral_bands(SIDE))


def grating(cycles, angle, contrast=0.5):
    axis = np.arange(SIDE) / SIDE
    y, x = np.meshgrid(axis, axis, indexing="ij")
    wave = np.sin(2 * np.pi * cycles * (x * np.cos(angle) + y * np.sin(angle)))
    return np.repeat(0.5 + 0.5 * contrast * wave[:, :, None], 3, axis=2)


def numbers(*images):
    return np.asarray(statistics(BANDS, jnp.asarray(np.stack(images), jnp.float32)))


def test_every_frequency_below_the_highest_lies_in_one_band():
    cycles = np.fft.fftfreq(SIDE, 1 / SIDE)
    radius = np.hypot(*np.meshgrid(cycles, cycles))
    np.testing.assert_array_equal(np.asarray(BANDS).sum(axis=0), (radius >= 1) & (radius < 32))


def test_a_grating_is_in_the_band_of_its_frequency_and_orientation():
    gratings = [grating(cycles, turn * np.pi / 4) for cycles in (1.5, 3, 6, 12, 24) for turn in range(4)]
    assert np.argmax(numbers(*gratings)[:, -20:], axis=1).tolist() == list(range(20))


def test_moments_are_those_of_the_pixels():
    rng = np.random.default_rng(0)
    image = rng.uniform(size=(SIDE, SIDE, 3)) ** 2
    found = numbers(image)[0]
    luma = image @ [0.2126, 0.7152, 0.0722]
    standard = (luma - luma.mean()) / luma.std()
    np.testing.assert_allclose(
        found[:4], [luma.mean(), np.log(luma.std()), (standard**3).mean(), (standard**4).mean() - 3], atol=1e-3
    )
    np.testing.assert_allclose(found[7:10], image.mean((0, 1)), atol=1e-5)
    np.testing.assert_allclose(found[10:13], np.log(image.std((0, 1))), atol=1e-3)


@pytest.mark.slow
def test_edges_have_a_direction_and_contrast_a_logarithm():
    upright, lying, faint = numbers(grating(4, 0), grating(4, np.pi / 2), grating(4, 0, 0.25))
    assert upright[5] > upright[6] + 2 and lying[6] > lying[5] + 2
    assert upright[1] - faint[1] == pytest.approx(np.log(2), abs=1e-3)


@pytest.mark.slow
def test_a_uniform_image_has_finite_numbers():
    found = numbers(np.full((SIDE, SIDE, 3), 0.3), np.zeros((SIDE, SIDE, 3)))
    assert np.isfinite(found).all() and np.ptp(found[:, -20:]) < 0.05
