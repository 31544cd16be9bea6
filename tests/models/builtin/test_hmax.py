"""hmax: what its cells are tuned to, and that tolerance to place and size grows along the hierarchy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.models.builtin.hmax import hmax_responses, make_hmax
from bsjax.models.builtin.shapes import overlapping_shapes

SIDE = 96


@pytest.fixture(scope="module")
def respond():
    model = make_hmax()
    run = jax.jit(hmax_responses)

    def responses(images):
        images = np.broadcast_to(np.asarray(images, np.float32)[..., None], (*np.shape(images), 3))
        padded = np.concatenate([images, np.repeat(images[-1:], 8 - len(images), axis=0)])  # one program for all
        return {layer: np.asarray(values)[: len(images)] for layer, values in run(model, jnp.asarray(padded)).items()}

    return responses


def objects(seed, scale=1.0, shift=(0, 0)):
    """A textured object on gray, 40 pixels wide at a scale of 1, shifted by rows and columns."""
    texture = overlapping_shapes(np.random.default_rng(seed), 40)
    width = round(40 * scale)
    small = np.asarray(jax.image.resize(jnp.asarray(texture), (width, width), "linear"))
    image = np.full((SIDE, SIDE), 0.5, np.float32)
    row, column = ((SIDE - width) // 2 + offset for offset in shift)
    image[row : row + width, column : column + width] = small
    return image


def alike(responses):
    """Correlation of the population's response to the first image with that to each of the others."""
    centred = responses - responses.mean(axis=1, keepdims=True)
    unit = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    return unit[1:] @ unit[0]


def grating(cycles, angle):
    axis = (np.arange(SIDE) + 0.5) / SIDE
    y, x = np.meshgrid(axis, axis, indexing="ij")
    return 0.5 + 0.4 * np.cos(2 * np.pi * cycles * (x * np.cos(angle) + y * np.sin(angle)))


@pytest.mark.slow
def test_simple_cells_are_tuned_to_orientation_and_scale(respond):
    angles = np.arange(4) * np.pi / 4
    fine, coarse = SIDE / 3.5, SIDE / (3.5 * 4)  # cycles per image of the first filters in the bands 1 and 5
    responses = respond([grating(cycles, angle) for cycles in (fine, coarse) for angle in angles])["s1"]
    first = responses[:, : 4 * SIDE**2].reshape(2, 4, 4, -1).mean(axis=3)  # frequency, angle, filter
    assert (first[0].argmax(axis=1) == np.arange(4)).all()
    assert first[0].max() > 3 * first[1].max()
    sides = np.array([96, 68, 48, 34, 24, 17])
    start = 8 * (sides[:4] ** 2).sum()
    fifth = responses[:, start : start + 4 * 24**2].reshape(2, 4, 4, -1).mean(axis=3)
    assert (fifth[1].argmax(axis=1) == np.arange(4)).all()
    assert fifth[1].max() > 3 * fifth[0].max()


@pytest.mark.slow
def test_contrast_changes_a_response_little_and_a_uniform_field_gives_none(respond):
    strong = grating(12, 0)
    weak = 0.5 + (strong - 0.5) / 4
    gray, bright = np.full((2, SIDE, SIDE), 0.5)
    bright = bright + 0.3
    s1 = respond([strong, weak, gray, bright])["s1"]
    assert np.quantile(s1[1] / (s1[0] + 0.01), 0.9) > 0.8
    assert np.abs(s1[2]).max() < 1e-4
    inside = s1[3][: 4 * SIDE**2].reshape(4, SIDE, SIDE)[:, 10:-10, 10:-10]
    assert np.abs(inside).max() < 1e-3


@pytest.mark.parametrize(
    "change", [{"shift": (8, 0)}, {"shift": (-6, 10)}, {"scale": 0.75}], ids=["down", "diagonally", "smaller"]
)
def test_tolerance_to_place_and_size_grows_along_the_hierarchy(respond, change):
    found = {layer: [] for layer in ("s1", "c1", "c2")}
    for seed in range(3):
        responses = respond([objects(seed), objects(seed, **change), objects(seed + 10)])
        for layer, values in found.items():
            values.append(alike(responses[layer]))
    changed, other = (np.mean([pair[n] for pair in found["c2"]]) for n in (0, 1))
    assert changed > 0.9 and changed > other + 0.05  # the same object, and not just any
    assert changed > np.mean(found["c1"], axis=0)[0] > np.mean(found["s1"], axis=0)[0]


def test_a_template_answers_best_where_it_was_taken(respond):
    responses = respond([overlapping_shapes(np.random.default_rng(0), SIDE)])  # the first image it has templates from
    assert responses["c2"].max() == pytest.approx(1, abs=1e-4)
    assert responses["s2"].max() == responses["c2"].max() and 0 <= responses["s2"].min()
