"""All times with all times: each entry is the score of its pair, and a model shifted by k bins answers at k."""

import numpy as np
import pytest
import xarray as xr

import bsjax

pytestmark = pytest.mark.slow


def over_time(rng, stimuli=60, units=12, times=6, shift=2, noise=0.5):
    """A brain whose code changes over time, and a model that is ``shift`` bins ahead of it, in units of its own."""
    seen = rng.normal(size=(stimuli, 8, times))
    brain = np.einsum("ndt,du->nut", seen, rng.normal(size=(8, units)))
    model = np.einsum("ndt,du->nut", seen[..., max(shift, 0) : times + min(shift, 0)], rng.normal(size=(8, units + 1)))
    return (side + noise * side.std() * rng.normal(size=side.shape) for side in (model, brain))


@pytest.mark.parametrize("metric", ["rdm", "cka", "ridge"])
def test_each_entry_is_the_score_of_its_pair(metric):
    model, brain = over_time(np.random.default_rng(0), units=5, times=3, shift=1)
    found = bsjax.cross_temporal(model, brain, metric=metric)
    assert found["score"].dims == ("source_time", "target_time") and found["score"].shape == (2, 3)
    for s, t in [(0, 0), (1, 2), (0, 2)]:
        alone = bsjax.score_arrays(model[..., s], brain[..., t], metric=metric)
        assert float(found["score"][s, t]) == pytest.approx(float(alone), abs=1e-9)
    if metric == "ridge":
        known = alone.uncertainty.standard_error
        assert float(found["standard_error"][0, 2]) == pytest.approx(float(known), rel=1e-9)


@pytest.mark.parametrize(("metric", "shift"), [("cka", -1), ("ridge", 2)])
def test_a_model_shifted_by_k_bins_answers_at_k(metric, shift):
    model, brain = over_time(np.random.default_rng(1), shift=max(shift, 0))
    if shift < 0:
        model, brain = brain, np.moveaxis(np.stack([brain[..., 1 - shift - 1 + t] for t in range(6 + shift)]), 0, 2)
    found = bsjax.cross_temporal(model, brain, metric=metric)
    assert int(found["best_lag"]) == shift and float(found["lag_probability"].sel(lag=shift)) > 0.9
    assert int(found["lag_low"]) <= shift <= int(found["lag_high"])
    assert (found["low"] <= found["score"]).all() and (found["score"] <= found["high"]).all()


def test_standard_errors_are_the_spread_over_stimuli():
    rng, errors, values = np.random.default_rng(3), [], []
    for _ in range(60):
        seen = rng.normal(size=(95, 6, 2))
        found = bsjax.cross_temporal(seen, seen + rng.normal(size=seen.shape), metric="rdm")
        errors.append(found["standard_error"].values)
        values.append(found["score"].values)
    assert np.mean(errors) == pytest.approx(np.std(values, axis=0).mean(), rel=0.25)


def test_labels_match_rows_and_name_times():
    model, brain = over_time(np.random.default_rng(4), times=3, shift=0)
    ids, starts = np.array([f"s{i}" for i in range(60)]), {"time_bin_start": ("time_bin", [70, 80, 90])}
    order = np.random.default_rng(5).permutation(60)
    dims = ["presentation", "neuroid", "time_bin"]
    source = xr.DataArray(model, {"stimulus_id": ("presentation", ids)}, dims)
    target = xr.DataArray(brain[order], {"stimulus_id": ("presentation", ids[order]), **starts}, dims)
    for metric in ("rdm", "ridge"):
        found = bsjax.cross_temporal(source, target, metric=metric)
        assert found["target_time"].values.tolist() == [70, 80, 90] and int(found["best_lag"]) == 0
    static = bsjax.cross_temporal(source.isel(time_bin=1), target, metric="cka")
    assert static["score"].shape == (1, 3) and int(static["best_lag"]) == 1


def test_what_cannot_be_compared():
    model, brain = over_time(np.random.default_rng(6), times=3, shift=0)
    with pytest.raises(ValueError, match="shape"):
        bsjax.cross_temporal(model[:, 0, 0], brain)
    with pytest.raises(ValueError, match="constant"):
        bsjax.cross_temporal(np.ones_like(model), brain, metric="cka")
