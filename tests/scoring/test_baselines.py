import numpy as np
import pytest

from bsjax import Score, load_benchmark, load_model
from bsjax.scoring.baselines import BASELINES, baseline_models, scored_with_baselines


def scored(model, benchmark):
    return benchmark(model)


class Named:
    """A model or a benchmark that is a number."""

    def __init__(self, identifier, value=0.0, error=None):
        self.identifier, self.value, self.error = identifier, value, error

    def start_recording(self, region, time_bins):
        """Nothing is recorded."""

    def look_at(self, stimuli):
        """Nothing is seen."""


def as_it_is(model, benchmark):
    if isinstance(model.value, str):
        raise ValueError(model.value)
    return Score(model.value, error=model.error)


@pytest.mark.slow
def test_baselines_are_scored_beside_a_model():
    benchmark = load_benchmark("Simulated.V1-ridge")
    few = ["gabor-v1", "image-statistics", "stimulus-order"]
    score = scored_with_baselines(scored, load_model("gabor-v1"), benchmark, few)
    assert list(score.provenance["baselines"]) == few[1:]
    assert max(score.provenance["baselines"].values()) < float(score)
    assert score.provenance["baselines"]["stimulus-order"] == pytest.approx(0, abs=0.05)
    assert Score.from_dict(score.to_dict()).provenance["baselines"] == score.provenance["baselines"]


def test_a_baseline_as_high_as_the_model_is_said():
    rivals = [Named("high", 0.5), Named("near", 0.38, 0.02), Named("low", 0.1, 0.02), Named("none", np.nan)]
    rivals.append(Named("blind", "it has no eyes"))
    with pytest.warns(UserWarning) as warned:
        score = scored_with_baselines(as_it_is, Named("mine", 0.4, 0.02), Named("benchmark"), rivals)
    blind, high, near = [str(each.message) for each in warned]
    assert blind == "no score for the baseline blind on benchmark: it has no eyes" and "high scores 0.5" in high
    assert "near scores 0.3800 on benchmark, mine 0.4000, with an error of 0.0283" in near
    found, errors = (score.provenance[name] for name in ("baselines", "baseline_errors"))
    assert np.isnan(found.pop("none")) and found == {"high": 0.5, "near": 0.38, "low": 0.1}
    assert errors == {"high": None, "near": 0.02, "low": 0.02, "none": None}
    assert (float(score), score.error) == (0.4, 0.02)


@pytest.mark.slow
def test_which_baselines():
    assert list(baseline_models()) == list(BASELINES) and baseline_models(False) == {}
    assert list(baseline_models(["gabor*", Named("own")])) == ["gabor-v1", "own"]
    with pytest.raises(KeyError, match="unknown model 'pixel'; nearest: pixels"):
        baseline_models("pixel")


@pytest.mark.slow
def test_the_baselines_record_any_region():
    for model in baseline_models().values():
        model.start_recording("FFA", [(0, 100)])
        assert model.layers_in_use == {"FFA": model.region_layer_map["IT"]}
