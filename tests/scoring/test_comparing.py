"""``compare_models`` of scores by any names, and of models that it scores."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats

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
        ([[Score(0.5), Score(0.4)]], "do not say of which model they are"),
        ([scores(("a", "a"))], "several scores of a"),
        ([scores(("a",))], "needs at least two models with a score; 1 of 1 have one"),
        (["alexnet"], "models and a benchmark to score them on, got str"),
        (["pixels", ["Simulated.V1-cka", "Simulated.V1-rdm"]], "one benchmark at a time"),
    ],
)
def test_what_names_no_two_models_on_one_benchmark_is_refused(given, said):
    with pytest.raises(ValueError, match=said):
        bsjax.compare_models(*given)


def test_finished_scores_cannot_be_resampled():
    with pytest.raises(ValueError, match="finished scores cannot be resampled: give over="):
        bsjax.compare_models(scores(), over=bsjax.Resampling("stimuli"))


@pytest.mark.slow
def test_cross_validated_models_are_paired_by_their_splits_without_a_fit_to_draws():
    models = ["pixels", "gabor-v1", "image-statistics"]
    found = bsjax.compare_models(models, "Simulated.V1-ridge")
    assert found.over == ("stimuli",) and found.test == "t" and "splits" in found.words
    assert found.table["significant"].all() and found.models["below_ceiling"].all()
    kept = {name: bsjax.score(name, "Simulated.V1-ridge") for name in models}
    assert all(score.uncertainty.draws is None for score in kept.values())
    of_kept = bsjax.compare_models({name: Score.from_dict(score.to_dict()) for name, score in kept.items()})
    pd.testing.assert_frame_equal(of_kept.table, found.table)

    # The differences are those of each split, with the variance that splits of one data set are to have.
    unceiled = {name: score.unceiled for name, score in kept.items()}
    splits = {name: np.median(score.raw, axis=score.raw.dims.index("neuroid")) for name, score in unceiled.items()}
    apart = splits["gabor-v1"] - splits["image-statistics"]
    error = np.sqrt((1 / 10 + 1 / 9) * apart.var(ddof=1))
    row = bsjax.compare_models(unceiled).table.iloc[0]
    assert row["difference"] == pytest.approx(apart.mean())
    assert row["high"] - row["low"] == pytest.approx(2 * stats.t(9).ppf(0.975) * error, rel=1e-6)


@pytest.mark.slow
def test_models_are_scored_in_the_same_draws():
    found = bsjax.compare_models(
        ["pixels", "gabor-v1"], "Simulated.V1-cka", over=bsjax.Resampling("stimuli", draws=100)
    )
    assert found.over == ("stimuli",) and found.benchmark == "Simulated.V1-cka"
    assert found.models.index.tolist() == ["gabor-v1", "pixels"] and found.models["low"].notna().all()
    assert found.table["significant"].all() and found.models["above_chance"]["gabor-v1"]
