"""Calibrated similarities, and the best of many of them."""

import numpy as np
import pytest

from bsjax import Permutations, Score, score_arrays
from bsjax.inference.calibration import calibrated, calibrated_maximum
from bsjax.labelled.normalise import explained_variance
from bsjax.labelled.resampling.calibration import null_of

RNG = np.random.default_rng(0)
Y = RNG.normal(size=(20, 8))
LAYERS = {f"layer{n}": Y + scale * RNG.normal(size=Y.shape) for n, scale in enumerate((30, 2, 30))}
PLAN = Permutations(draws=199, seed=4)


@pytest.fixture(scope="module")
def scores():
    return {name: score_arrays(x, Y, "rdm", null=PLAN) for name, x in LAYERS.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", LAYERS)
def test_the_formula(scores, name):
    score = scores[name]
    similarity, values = float(score), np.sort(null_of(score).values)
    for level, rank in ((0.95, 190), (0.9, 180), (0.5, 100)):
        tau = values[rank - 1]
        found = calibrated(score, level)
        assert float(found) == pytest.approx(max(0, (similarity - tau) / (1 - tau)))
        assert (float(found) > 0) == (score.provenance["p_value"] <= 1 - level + 1e-12)
        assert found.provenance["tau"] == tau and found.provenance["null"]["level"] == level
        assert found.unceiled == similarity and found.ceiling is None
        assert Score.from_dict(found.to_dict()) == found


def test_a_ceiling_changes_nothing(scores):
    score = scores["layer1"]
    normalised = explained_variance(score, Score(0.7))
    assert normalised != score
    assert calibrated(normalised) == calibrated(score)
    assert calibrated(normalised).provenance["p_value"] == score.provenance["p_value"]


def test_the_best_is_compared_with_the_best_by_chance(scores):
    found = calibrated_maximum(scores)
    highest = np.max([null_of(score).values for score in scores.values()], axis=0)
    assert found.best == "layer1"
    assert found.p_value == (1 + (highest >= float(scores["layer1"])).sum()) / 200
    assert found.tau == np.sort(highest)[189] > scores["layer1"].provenance["tau"]
    assert found.calibrated == pytest.approx(max(0, (float(scores["layer1"]) - found.tau) / (1 - found.tau)))
    assert all(found.p_values[name] >= score.provenance["p_value"] for name, score in scores.items())
    assert min(found.p_values.values()) == found.p_values["layer1"] == found.p_value


@pytest.mark.slow
def test_undefined_scores_are_never_the_best(scores):
    undefined = score_arrays(np.ones((20, 3)), Y, "cka", null=PLAN)
    assert np.isnan(float(undefined))
    assert calibrated_maximum({**scores, "constant": undefined}).p_values.keys() == scores.keys()
    with pytest.raises(ValueError, match="cannot choose the best of 1 scores"):
        calibrated_maximum({"constant": undefined})
    assert np.isnan(float(calibrated(undefined)))


def test_scores_must_have_been_exchanged_alike(scores):
    other = score_arrays(LAYERS["layer0"], Y, "rdm", null=Permutations(199, seed=5))
    with pytest.raises(ValueError, match="layer0 and other have different permutations"):
        calibrated_maximum({**scores, "other": other})
    with pytest.raises(ValueError, match="the score has no permutations"):
        calibrated(Score(0.5))
    with pytest.raises(ValueError, match="level of a threshold"):
        calibrated(scores["layer0"], 1.0)
    with pytest.raises(ValueError, match=r"at the level 0.999 needs at least 999 permutations, got 199"):
        calibrated(scores["layer0"], 0.999)
