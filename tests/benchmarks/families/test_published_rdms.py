"""Published dissimilarity matrices of people against those of a model, which is shown the user's images."""

import json

import numpy as np
import pytest
from PIL import Image
from scipy.stats import spearmanr

from bsjax import load_benchmark, load_dataset
from bsjax.benchmarks.kinds.subject_matrices import images_in
from tests.support.recorder import Recorder

N = 92
PAIRS = np.triu_indices(N, 1)


@pytest.fixture
def images(tmp_path):
    folder = tmp_path / "images"
    folder.mkdir()
    for number in range(N):
        Image.new("RGB", (4, 4), (number, 0, 0)).save(folder / f"image_{number + 1}.jpg")
    (folder / "readme.txt").write_text("not an image")
    return folder


@pytest.fixture
def values():
    """A model's responses: some of its units tell the first half of the images from the second."""
    values = np.random.default_rng(0).normal(size=(N, 50))
    values[:48, :10] += 1.5
    return values


@pytest.fixture
def expected(shared_data):
    return json.loads((shared_data / "expected.json").read_text())


def each_subject(values, rdms):
    ours = (1 - np.corrcoef(values))[PAIRS]
    return np.array([spearmanr(ours, subject[PAIRS])[0] for subject in rdms])


@pytest.mark.parametrize(("area", "region"), [("EVC", "V1"), ("IT", "IT")])
def test_algonauts(shared_data, expected, images, values, area, region):
    folder = shared_data / "algonauts2019_92"
    benchmark = load_benchmark(f"Algonauts2019.{area}-rdm", data=folder, images=images)
    model = Recorder(images_in(images, N, "", ""), values, backwards=True)
    score = benchmark(model)
    r = each_subject(values, load_dataset("Algonauts2019.92", folder=folder, region=area).values)
    np.testing.assert_allclose(score.unceiled.raw, np.sign(r) * r**2, atol=1e-12)
    published = expected["algonauts2019"]["upper_sq_spearman"][f"92_{area}"]
    assert round(float(score.ceiling), 4) == published
    assert (score.ceiling.raw.sel(bound="lower").mean() < score.ceiling.raw.sel(bound="upper").mean()).item()
    assert float(score) == pytest.approx((np.sign(r) * r**2).mean() / published, rel=1e-3)
    assert model.recorded == [(region, [(70, 170)])]
    shown = model.looked[0][0]
    assert len(shown) == N and set(shown["degrees"]) == {8.0}  # 2.9 degrees of a field of 8


@pytest.mark.slow
def test_kriegeskorte(shared_data, expected, images, values):
    folder = shared_data / "kriegeskorte2008_92"
    benchmark = load_benchmark("Kriegeskorte2008.IT-rdm", data=folder, images=images)
    score = benchmark(Recorder(images_in(images, N, "", ""), values))
    human = load_dataset("Kriegeskorte2008", folder=folder).mean("session").values
    r = each_subject(values, human)
    np.testing.assert_allclose(score.unceiled.raw, r, atol=1e-12)
    published = expected["kriegeskorte2008_rsatoolbox_0.3.2"]["boot_noise_ceiling_lower_upper"]
    lower, upper = published["hIT_4_subjects_sessions_averaged"]["spearman"]
    assert float(score.ceiling) == pytest.approx(upper, abs=1e-5)
    assert float(score.ceiling.raw.sel(bound="lower").mean()) == pytest.approx(lower, abs=1e-5)
    assert float(score) == pytest.approx(r.mean() / upper, rel=1e-4)


def test_images_are_in_the_order_of_their_numbers(images):
    stimuli = images_in(images, N, "Mine-rdm", "nowhere")
    assert stimuli["stimulus_id"].tolist()[:2] == ["01", "02"] and stimuli.identifier == "Mine"
    assert stimuli["filename"].tolist() == [f"image_{number + 1}.jpg" for number in range(N)]


@pytest.mark.parametrize("identifier", ["Algonauts2019.IT-rdm", "Kriegeskorte2008.IT-rdm"])
def test_without_images_it_says_where_they_are(identifier, images):
    model = Recorder(images_in(images, N, "", ""), np.ones((N, 2)))
    with pytest.raises(FileNotFoundError, match="needs the 92 images"):
        load_benchmark(identifier)(model)
    with pytest.raises(FileNotFoundError, match="that of the 92 images, which"):
        load_benchmark(identifier, images=images / "nowhere")(model)
    (images / "image_7.jpg").unlink()
    with pytest.raises(ValueError, match=r"needs 92 images, .* holds 91; they are in the training set of"):
        load_benchmark(identifier, images=images)(model)


def test_without_matrices_it_says_how_to_import_them(images, monkeypatch, tmp_path):
    monkeypatch.setenv("BSJAX_HOME", str(tmp_path / "home"))
    with pytest.raises(FileNotFoundError, match=r"has not been imported .* run `bsjax data import Algo"):
        load_benchmark("Algonauts2019.IT-rdm", images=images)(Recorder(images_in(images, N, "", ""), np.ones((N, 2))))
