"""Options of the extraction on the command line."""

import os

import numpy as np
import pytest
from PIL import Image

from bsjax.activations.cache import ActivationCache
from bsjax.cli.extraction import extraction_options
from tests.support.forked import run_command

PIXELS = ["--model", "pixels", "--benchmark", "Simulated.V1-ridge"]


def score(*arguments, home):
    return run_command("score", *PIXELS, *arguments, env={**os.environ, "BSJAX_HOME": str(home)})


def raw_score(done):
    assert done.returncode == 0, done.stderr
    return float(done.stdout.splitlines()[1].split()[2])


@pytest.mark.slow
def test_activations_are_kept_reduced_or_not(tmp_path):
    whole = raw_score(score("--no-cache", "--batch-size", "32", "--memory", "1GB", home=tmp_path))
    assert not (tmp_path / "activations").exists()
    assert raw_score(score("--again", home=tmp_path)) == pytest.approx(whole, abs=2e-3)
    kept = ActivationCache(tmp_path / "activations").entries()
    # The second generates the benchmark, where its recordings are not kept yet.
    assert {"pixels"} <= {entry.identifier for entry in kept} <= {"pixels", "gabor-v1"}
    assert raw_score(score("--reducer", "subsampling:40", home=tmp_path)) != pytest.approx(whole, abs=1e-3)
    [reduced] = [entry for entry in ActivationCache(tmp_path / "activations").entries() if entry not in kept][:1]
    assert reduced.shape == (480, 40)


def test_a_folder_of_images_for_pca(tmp_path):
    for name in ("b.png", "a.jpg"):
        Image.fromarray(np.zeros((4, 4, 3), np.uint8)).save(tmp_path / name)
    (tmp_path / "notes.txt").write_text("no image")
    options = extraction_options(None, None, "pca:1", tmp_path, cache=True)
    assert list(options) == ["reducer"] and options["reducer"].n_components == 1
    assert options["reducer"].stimuli["stimulus_id"].tolist() == ["a.jpg", "b.png"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="no images in .*empty; expected files such as .png or .jpg"):
        extraction_options(None, None, "pca", tmp_path / "empty", cache=True)
    assert extraction_options(16, "2GB", None, None, cache=True) == {"batch_size": 16, "memory": 2e9}
