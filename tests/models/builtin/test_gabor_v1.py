"""gabor-v1: what its cells prefer, what they ignore, and that they say something about real neurons."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bsjax.models.builtin.gabor_v1 import gabor_filters, gabor_responses

DEGREES, PIXELS = 8.0, 96
FREQUENCIES = (0.5, 1.0, 2.0, 4.0)
ORIENTATIONS = np.arange(6) * 30.0


@pytest.fixture(scope="module")
def respond():
    """Responses of cells in the middle of the field, one for each frequency and orientation."""
    filters = jnp.asarray(gabor_filters(PIXELS, DEGREES, dict.fromkeys(FREQUENCIES, 1), len(ORIENTATIONS)))
    run = jax.jit(gabor_responses)

    def responses(images):
        images = np.broadcast_to(np.asarray(images)[..., None], (*np.shape(images), 3))
        result = run(filters, jnp.asarray(images, jnp.float32))
        return {name: np.asarray(array).reshape(len(images), 4, 6, *array.shape[2:]) for name, array in result.items()}

    return responses


def grating(frequency, orientation, phase=0.0, contrast=1.0):
    axis = ((np.arange(PIXELS) + 0.5) / PIXELS - 0.5) * DEGREES
    y, x = np.meshgrid(axis, axis, indexing="ij")
    theta = np.radians(orientation)
    wave = np.cos(2 * np.pi * frequency * (x * np.cos(theta) + y * np.sin(theta)) + np.radians(phase))
    return (1 + contrast * wave) / 2


def test_every_cell_prefers_its_own_frequency_and_orientation(respond):
    own = [(i, j) for i in range(4) for j in range(6)]
    responses = respond([grating(FREQUENCIES[i], ORIENTATIONS[j]) for i, j in own])["complex"]
    for cell in own:
        tuning = responses[:, *cell]
        assert tuning.argmax() == own.index(cell)
        assert tuning.max() == pytest.approx(1, abs=0.02)
        i, j = cell
        orthogonal = own.index((i, (j + 3) % 6))
        assert tuning[orthogonal] < 0.01
        other_frequencies = [own.index((k, j)) for k in range(4) if k != i]
        assert tuning[other_frequencies].max() < 0.5


def test_complex_cells_do_not_care_about_phase_and_simple_cells_do(respond):
    phases = np.arange(0, 360, 15.0)
    responses = respond([grating(1, 60, phase) for phase in phases])
    complex_cell, simple = responses["complex"][:, 1, 2], responses["simple"][:, 1, 2]
    np.testing.assert_allclose(complex_cell, 1, atol=0.02)
    assert (simple >= 0).all()
    for cell in range(4):
        tuning = simple[:, cell]
        assert tuning.max() == pytest.approx(1, abs=0.02)
        assert (tuning < 1e-6).mean() == pytest.approx(0.5, abs=0.1)  # half-rectified
    # Preferred phases are a quarter of a cycle apart.
    assert len({int(phases[simple[:, cell].argmax()]) % 360 for cell in range(4)}) == 4
    np.testing.assert_allclose((simple**2).sum(-1), complex_cell**2, rtol=1e-4)


def test_bandwidths_are_the_medians_of_macaque_v1(respond):
    across = np.log2(FREQUENCIES[1]) + np.linspace(-1.5, 1.5, 121)
    tuning = respond([grating(2.0**octave, 0) for octave in across])["complex"][:, 1, 0]
    assert np.ptp(across[tuning >= tuning.max() / 2]) == pytest.approx(1.4, abs=0.1)
    angles = np.linspace(-45, 45, 181)
    tuning = respond([grating(1, angle) for angle in angles])["complex"][:, 1, 0]
    assert np.ptp(angles[tuning >= tuning.max() / 2]) == pytest.approx(40, abs=2.5)


@pytest.mark.parametrize("level", [0.0, 0.3, 1.0])
def test_uniform_fields_give_no_response(respond, level):
    responses = respond(np.full((1, PIXELS, PIXELS), level))
    assert max(array.max() for array in responses.values()) < 1e-5


@given(st.floats(0.01, 1), st.integers(0, 5), st.sampled_from(range(4)))
def test_responses_are_linear_in_contrast(respond, contrast, orientation, frequency):
    full, less = (respond([grating(FREQUENCIES[frequency], ORIENTATIONS[orientation], 30, c)]) for c in (1, contrast))
    for name in full:
        np.testing.assert_allclose(less[name], contrast * full[name], atol=2e-5)


@pytest.mark.slow
def test_gradients_are_finite_where_nothing_is_seen():
    filters = jnp.asarray(gabor_filters(16, 4.0, {1.0: 2}, 2))

    def total(images):
        return sum(array.sum() for array in gabor_responses(filters, images).values())

    gray = jnp.full((1, 16, 16, 3), 0.5)
    assert np.isfinite(jax.grad(total)(gray)).all()


def test_receptive_fields_cover_the_field_in_rows_and_columns():
    filters = gabor_filters(48, 8.0, {1.0: 4}, 1)
    weight = np.abs(filters).sum(0).reshape(4, 4, 48, 48)
    centres = (np.arange(4) + 0.5) * 12
    pixels = np.arange(48) + 0.5
    inner = weight[1:3, 1:3]  # those near the edge are cut by it
    total = inner.sum((2, 3))
    np.testing.assert_allclose((inner.sum(3) @ pixels / total), centres[[1, 1, 2, 2]].reshape(2, 2), atol=0.5)
    np.testing.assert_allclose((inner.sum(2) @ pixels / total), centres[[1, 2, 1, 2]].reshape(2, 2), atol=0.5)
