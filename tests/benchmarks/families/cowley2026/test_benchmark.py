"""Benchmarks on macaque V4: a small session in the public layout, and the real one where it is there."""

import numpy as np
import pytest
from PIL import Image

from bsjax import load_benchmark, load_model
from tests.support.shuffled import Shuffled


@pytest.fixture
def session(tmp_path):
    """Sixty images, five neurons that follow their brightness gradients, 3 to 6 repeats of each."""
    rng = np.random.default_rng(0)
    (tmp_path / "images_210325").mkdir()
    images = rng.integers(0, 256, size=(60, 4, 4, 3), dtype=np.uint8)
    for number, image in enumerate(images, start=1):
        path = tmp_path / "images_210325" / f"image{number:04d}.png"
        Image.fromarray(image).resize((32, 32), Image.Resampling.NEAREST).save(path)
    weights = rng.normal(size=(48, 5))
    signal = (images.reshape(60, -1) / 255) @ weights
    counts = signal.T[:, :, None] + rng.normal(size=(5, 60, 6))
    missing = np.arange(6)[None, :] >= rng.integers(3, 7, size=60)[:, None]
    counts[:, missing] = np.nan
    np.save(tmp_path / "responses_raw_210325.npy", counts)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(("metric", "least", "formula"), [("ridge", 0.3, "r²/c"), ("cka", 0.1, "r/√c")])
def test_a_session_in_the_public_layout(session, metric, least, formula):
    benchmark = load_benchmark(f"Cowley2026.V4-{metric}", data=session)
    assert (benchmark.identifier, benchmark.parent) == (f"Cowley2026.V4-{metric}", "V4")
    assert "10.1038/s41586-026-10150-1" in benchmark.bibtex
    score = benchmark(load_model("pixels"))
    assert np.isfinite([score.value, score.error, score.ceiling.value, score.ceiling.error]).all()
    assert 0.5 < score.ceiling < 1
    assert score > least and score.formula == formula
    assert (score.provenance["region"], score.provenance["n_stimuli"]) == ("V4", 60)


def test_without_data_the_error_says_what_to_give_and_where_it_is():
    with pytest.raises(FileNotFoundError, match=r"Cowley2026.V4-ridge needs .* data=DIR, .*github.com/cowleygroup"):
        load_benchmark("Cowley2026.V4-ridge")(load_model("pixels"))


@pytest.mark.slow
def test_the_real_ceiling_and_gabor_v1(shared_data):
    """Split halves of the real recordings: median 0.75; gabor-v1 by ridge: above 0.30, shuffled images: 0."""
    benchmark = load_benchmark("Cowley2026.V4-ridge", data=shared_data / "macaque_v4")
    assert abs(benchmark.ceiling.value - 0.75) < 0.02
    model = load_model("gabor-v1")
    score, shuffled = benchmark(model), benchmark(Shuffled(model))
    assert score.unceiled > 0.30
    assert score.n_units == 50 and score.n_undefined == 0
    assert abs(shuffled.unceiled.value) < 0.03
