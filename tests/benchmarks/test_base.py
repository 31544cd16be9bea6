"""The template of a benchmark's call, and a family that is added from one file."""

import os
from pathlib import Path

import numpy as np
import pytest

import bsjax
from bsjax import Score, benchmark_registry, load_benchmark, load_model
from bsjax.benchmarks import BenchmarkBase, Undefined

FAMILY = '''
"""How alike a model's responses to brighter and darker images are: Doe & Roe (2031)."""

from functools import cached_property, partial

import numpy as np
from PIL import Image

from bsjax import Score, StimulusSet, benchmark_registry
from bsjax.benchmarks import BenchmarkBase, Undefined, constant_ceiling
from bsjax.core.files import cache_dir


class Brightness(BenchmarkBase):
    """The correlation over images of their brightness with a model's mean response."""

    visual_degrees = 4

    def __init__(self, region):
        ceiling = constant_ceiling(0.8, "made up")
        super().__init__(f"Doe2031.{region}-brightness", ceiling, parent=region, normalisation="ceil_score")
        self.region = region

    @cached_property
    def stimuli(self):
        paths = {}
        for grey in range(0, 250, 50):
            path = paths[f"grey{grey}"] = cache_dir() / f"doe2031-{grey}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (16, 16), (grey,) * 3).save(path)
        return StimulusSet({"stimulus_id": [*paths], "grey": range(0, 250, 50)}, stimulus_paths=paths)

    @cached_property
    def made_from(self):
        return {"region": self.region, "n_stimuli": len(self.stimuli)}

    def observe(self, candidate, stimuli):
        candidate.start_recording(self.region, time_bins=[(70, 170)])
        return candidate.look_at(stimuli)

    def compare(self, observed):
        response = observed.mean("neuroid")
        if not response.values.std():
            raise Undefined("it responds the same to all images", formula="r")
        return Score(float(np.corrcoef(response["grey"], response)[0, 1]), formula="r")


benchmark_registry["Doe2031.V1-brightness"] = partial(Brightness, "V1")
benchmark_registry["Doe2031.IT-brightness"] = partial(Brightness, "IT")
'''


@pytest.fixture
def family(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The family, in a folder of plugins."""
    folder = tmp_path / "plugins" / "benchmarks" / "doe2031"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(FAMILY)
    monkeypatch.setenv("BSJAX_PLUGINS", os.fspath(tmp_path / "plugins"))


def test_a_family_is_one_file(family):
    assert "Doe2031.V1-brightness" in benchmark_registry
    score = bsjax.score("pixels", "Doe2031.V1-brightness")
    assert score.unceiled is not None and 0.99 < float(score.unceiled) <= 1  # its units are the pixels
    assert float(score) == pytest.approx(float(score.unceiled) / 0.8) and score.formula == "r/c"
    assert {name: score.provenance[name] for name in ("model", "benchmark", "region", "n_stimuli")} == {
        "model": "pixels",
        "benchmark": "Doe2031.V1-brightness",
        "region": "V1",
        "n_stimuli": 5,
    }


def test_a_comparison_that_is_not_drawn_is_warned_of(family):
    with pytest.warns(UserWarning, match="was not resampled over stimuli"):
        bsjax.score("pixels", "Doe2031.V1-brightness", resampling=bsjax.Resampling("stimuli", draws=5))


class Blind:
    identifier = "blind"

    def visual_degrees(self):
        return 8

    def start_recording(self, region, time_bins):
        pass

    def look_at(self, stimuli, number_of_trials=1):
        rows = {name: ("presentation", stimuli[name].to_numpy()) for name in stimuli.columns}
        return bsjax.NeuroidAssembly(np.ones((len(stimuli), 3)), rows, ["presentation", "neuroid"])


def test_a_model_without_a_score_has_the_reason(family):
    score = load_benchmark("Doe2031.IT-brightness")(Blind())
    assert np.isnan(float(score)) and float(score.ceiling) == 0.8
    assert score.provenance["reason"] == "it responds the same to all images"
    assert (score.provenance["model"], score.provenance["region"]) == ("blind", "IT")


def test_a_call_of_ones_own_is_left_alone():
    class Constant(BenchmarkBase):
        def __call__(self, candidate):
            return self.stamped(Score(0.5), candidate, note="made up")

    score = Constant("Mine-constant", lambda: Score(1.0), parent="V1")(load_model("pixels"))
    assert float(score) == 0.5
    assert score.provenance == {
        "model": "pixels",
        "benchmark": "Mine-constant",
        "benchmark_version": 1,
        "parent": "V1",
        "note": "made up",
    }


def test_an_undefined_score_without_a_normalisation():
    class Never(BenchmarkBase):
        def observe(self, candidate, stimuli):
            raise Undefined("never", metric="none", n_stimuli=0)

    score = Never("Mine-never", lambda: Score(1.0))(load_model("pixels"))
    assert np.isnan(float(score)) and score.ceiling is None
    assert (score.provenance["reason"], score.provenance["metric"], score.provenance["n_stimuli"]) == (
        "never",
        "none",
        0,
    )


class Told(BenchmarkBase):
    """Compares to what it is told."""

    def __init__(self, compared, ceiling, normalisation="ceil_score"):
        super().__init__("Mine-told", lambda: ceiling, normalisation=normalisation)
        self.compared = compared

    def observe(self, candidate, stimuli):
        return None

    def compare(self, observed):
        return self.compared


@pytest.mark.parametrize(("given", "what"), [((None, 1), "score"), ((0.5, None), "ceiling"), (("x", 1), "score")])
def test_what_is_no_score_is_named(given, what):
    words = "must be .* got (None: the function that gives it returns nothing|the str 'x')"
    with pytest.raises(ValueError, match=f"benchmark 'Mine-told'.* {words}") as failed:
        bsjax.score("pixels", Told(*given))
    assert f"the {what} " in str(failed.value)
    with pytest.raises(ValueError, match="Mine-told"):
        bsjax.score("pixels", Told(*given))


def test_a_call_that_returns_nothing_is_told():
    class Empty(BenchmarkBase):
        def __call__(self, candidate):
            pass

    with pytest.raises(ValueError, match="the score of benchmark 'Mine-empty' must be a Score, or a number, got None"):
        bsjax.score("pixels", Empty("Mine-empty", lambda: 1))

    class Bare(BenchmarkBase):
        def __call__(self, candidate):
            return 0.5

    assert type(bsjax.score("pixels", Bare("Mine-bare", lambda: 1))) is Score
