"""``compare_models`` of scores by any names, and of models that it scores."""

import numpy as np
import pytest
import xarray as xr

import bsjax
from bsjax import Score


def scores(names=("a", "b"), **made):
    rng = np.random.default_rng(0)
    found = []
    for mean, name in enumerate(names):
        raw = xr.DataArray(rng.normal(mean, 0.1, 9), {"subject": np.arange(9)}, ["subject"])
        found.append(Score(float(raw.mean()), raw=raw, provenance={"model": name, **made}))
    return found


def test_scores_are_named_by_keys_by_pairs_or_by_their_provenance():
    a, b = scores()
    expected = bsjax.compare_models([a, b]).table
    for given in ({"a": a, "b": b}, {("a", "B"): a, ("b", "B"): b}):
        assert bsjax.compare_models(given).table.equals(expected)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([Score(0.5), Score(0.4)], "do not say of which model they are"),
        (scores(("a", "a")), "several scores of a"),
        (["alexnet", "pixels"], "models and a benchmark to score them on, got str"),
        ("alexnet", "models and a benchmark to score them on, got str"),
        (scores(("a",)), "takes two models with a score, there are 1 of 1"),
    ],
)
def test_what_names_no_two_models_is_refused(given, said):
    with pytest.raises(ValueError, match=said):
        bsjax.compare_models(given)


def test_arguments_of_benchmarks_need_one():
    with pytest.raises(ValueError, match="scores are drawn already: give over="):
        bsjax.compare_models(scores(), over=bsjax.Resampling("stimuli"))
    with pytest.raises(ValueError, match="one benchmark at a time, got Simulated.V1-cka, Simulated.V1-rdm"):
        bsjax.compare_models(["pixels", "gabor-v1"], ["Simulated.V1-cka", "Simulated.V1-rdm"])
    with pytest.raises(ValueError, match="takes two models, got pixels"):
        bsjax.compare_models("pixels", "Simulated.V1-cka")


@pytest.mark.slow
def test_models_are_scored_in_the_same_draws():
    found = bsjax.compare_models(
        ["pixels", "gabor-v1"], "Simulated.V1-cka", over=bsjax.Resampling("stimuli", draws=100)
    )
    assert found.over == ("stimuli",) and found.benchmark == "Simulated.V1-cka"
    assert found.models.index.tolist() == ["gabor-v1", "pixels"] and found.models["low"].notna().all()
    assert found.table["significant"].all() and found.models["above_chance"]["gabor-v1"]
