"""The V1 population: what its cells prefer, and that large gratings suppress them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.models.builtin.v1_population import draw_neurons, v1_responses

DEGREES = (np.arange(224) + 0.5) / 28 - 4


def grating(frequency, angle, radius, phase=0.0, site=(0.5, 0.5)):
    y, x = np.meshgrid(DEGREES - site[0], DEGREES - site[1], indexing="ij")
    wave = np.sin(2 * np.pi * frequency * (x * np.cos(angle) + y * np.sin(angle)) + phase)
    luma = np.where(np.hypot(y, x) <= radius, 0.5 + wave / 2, 0.5)
    return np.repeat(luma[..., None], 3, axis=2).astype(np.float32)


@pytest.fixture(scope="module")
def neurons():
    return draw_neurons(0)


@pytest.fixture(scope="module")
def respond(neurons):
    compiled = jax.jit(v1_responses)
    return lambda images: compiled(neurons, jnp.asarray(np.stack(images)))


def test_cells_of_a_site_see_that_site_alone(respond):
    responses = respond([grating(3, 0.3, 0.25), grating(3, 0.3, 0.25, site=(0.5, -0.5)), np.full((224, 224, 3), 0.5)])
    complex_cells = np.asarray(responses["complex"]).max(axis=2)
    assert complex_cells[:2].argmax(axis=1).tolist() == [3, 2]
    assert np.abs(np.asarray(responses["complex"])[2]).max() < 1e-4  # nothing for a uniform image
    assert (np.asarray(responses["simple"]) >= 0).all()


def test_complex_cells_do_not_mind_the_phase_and_simple_cells_do(respond):
    responses = respond([grating(3, 0.3, 2.0, phase) for phase in np.linspace(0, 2 * np.pi, 8, endpoint=False)])
    complex_cells, simple_cells = (np.asarray(responses[layer])[:, 3] for layer in ("complex", "simple"))
    driven = complex_cells.mean(0) > 0.2
    assert driven.sum() > 5
    modulation = np.ptp(complex_cells, axis=0) / complex_cells.mean(0)
    assert np.median(modulation[driven]) < 0.1  # the broadest filters hold a single cycle, and mind it a little
    assert (simple_cells[:, driven].min(0) == 0).all()


def test_surrounds_suppress(respond, neurons):
    sizes = [0.25, 0.5, 1.0, 2.0]
    responses = np.stack(
        [np.asarray(respond([grating(3, angle, radius) for radius in sizes])["complex"])[:, 3]
         for angle in np.arange(6) * np.pi / 6]
    ).max(axis=0)  # fmt: skip
    strongest = np.asarray(neurons.suppression) > 1
    driven = responses.max(axis=0) > 0.1
    assert (responses[-1] < 0.95 * responses.max(axis=0))[strongest & driven].mean() > 0.9
