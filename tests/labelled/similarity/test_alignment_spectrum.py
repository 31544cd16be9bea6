import numpy as np
import pytest

from bsjax import load_metric
from bsjax.labelled.similarity.alignment_spectrum import alignment_spectrum


def test_what_the_spectrum_holds(pair):
    source, target = pair
    spectrum = alignment_spectrum(source.isel(presentation=np.random.default_rng(0).permutation(60)), target)
    assert dict(spectrum.sizes) == {"mode": 12, "neuroid": 4, "n_train": 20}
    assert spectrum["neuroid_id"].values.tolist() == [f"site{i}" for i in range(4)]
    assert spectrum["mode"].values.tolist() == list(range(1, 13)) and spectrum["n_train"].values[-1] == 30
    np.testing.assert_allclose(spectrum["cumulative"][-1] + spectrum["beyond"], 1, atol=1e-12)
    x = source.values - source.values.mean(axis=0)
    fitted = x @ np.linalg.lstsq(x, target.values, rcond=None)[0]
    y = target.values - target.values.mean(axis=0)
    np.testing.assert_allclose(spectrum["cumulative"][-1], (fitted**2).sum(axis=0) / (y**2).sum(axis=0), atol=1e-10)
    values = np.linalg.eigvalsh(x.T @ x)
    assert spectrum.attrs["source_dimensionality"] == pytest.approx(values.sum() ** 2 / (values**2).sum())


@pytest.mark.slow
def test_the_dimensionality_is_beside_the_scores_of_ridge_regressions(pair):
    source, target = pair
    expected = alignment_spectrum(source, target).attrs["source_dimensionality"]
    of_training = alignment_spectrum(source[:40], target[:40]).attrs["source_dimensionality"]
    wide = source.isel(neuroid=np.tile(np.arange(12), 8)).assign_coords(neuroid_id=("neuroid", np.arange(96)))
    for name, sides, value in (
        ("linear_predictivity", (source, target), expected),
        ("ridge", (wide, target), expected),
        ("ridge_split", (source[:40], source[40:], target[:40], target[40:]), of_training),
    ):
        score = load_metric(name)(*sides)
        assert score.provenance["effective_dimensionality"] == pytest.approx(value, rel=1e-5)
        assert "effective_dimensionality" not in score.raw.coords
