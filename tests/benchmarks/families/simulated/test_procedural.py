"""The procedural images: seeded, of the contrast they promise, stored once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bsjax.benchmarks.families.simulated.procedural import KINDS, procedural_stimuli, render
from bsjax.data import load_image

SEEDS = st.tuples(st.integers(0, 2**31), st.integers(0, 5), st.integers(0, 10**6))


@given(kind=st.sampled_from(list(KINDS)), seed=SEEDS, n_pixels=st.sampled_from([16, 48, 96]))
def test_an_image_is_its_seeds_and_has_the_contrast_promised(kind, seed, n_pixels):
    image = render(kind, seed, n_pixels)
    np.testing.assert_array_equal(image, render(kind, seed, n_pixels))
    assert image.shape == (n_pixels, n_pixels) and image.dtype == np.uint8
    assert abs(image.mean() / 255 - 0.5) < 0.05
    assert 0.07 < image.std() / 255 < 0.26  # clipping takes a little


@pytest.mark.parametrize("kind", KINDS)
def test_other_seeds_are_other_images(kind):
    images = {render(kind, (0, number), 32).tobytes() for number in range(20)}
    assert len(images) == 20


def test_a_set_of_stimuli(monkeypatch, tmp_path):
    monkeypatch.setenv("BSJAX_HOME", str(tmp_path))
    stimuli = procedural_stimuli("some", n_per_kind=2, n_pixels=16, visual_degrees=3.0, seed=5)
    stimuli.validate()
    assert stimuli.identifier == "some"
    assert stimuli["object_name"].value_counts().to_dict() == dict.fromkeys(KINDS, 2)
    assert set(stimuli["degrees"]) == {3.0}
    image = load_image(stimuli.get_stimulus("plaid-001"))
    np.testing.assert_array_equal(image, np.repeat(render("plaid", (5, 2, 1), 16)[..., None], 3, axis=2))
    other = procedural_stimuli("other", n_per_kind=2, n_pixels=16, visual_degrees=3.0, seed=6)
    assert set(stimuli.stimulus_paths.values()).isdisjoint(other.stimulus_paths.values())
