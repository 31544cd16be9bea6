"""Many sources against one target: equal to one by one, compiled once, and choices that are honest."""

import numpy as np
import pytest
import xarray as xr
from sklearn.model_selection import KFold

from bsjax import load_metric
from bsjax.engine.programs.compilation import traces
from bsjax.labelled.layers import SharedTarget, nested_choice
from bsjax.labelled.regression.stimulus_coordinates import in_stimulus_coordinates
from tests.support.responses import assembly

N = 60
SPLITS = {"crossvalidation_kwargs": {"stratification_coord": None, "splits": 4, "train_size": 0.8}}


LATENT = np.random.default_rng(0).normal(size=(N, 30))
TARGET = assembly(LATENT[:, :12] + np.random.default_rng(1).normal(size=(N, 12)), units="y")


def features(width, seed=0):
    """Rectified, in single precision, with a unit that is silent and one that is always the same."""
    rng = np.random.default_rng(seed)
    values = np.maximum(LATENT @ rng.normal(size=(30, width)) + 1, 0).astype(np.float32)
    values[:, 0], values[:, 1] = 0, 7.3
    return assembly(values)


METRICS = {
    "ridge": SPLITS,
    "ridgecv": {**SPLITS, "alphas": (0.1, 1.0, 10.0, 1e4)},
    "cka": {"error": "jackknife"},
    "rdm_cv": SPLITS,
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the .* penalty")
@pytest.mark.parametrize(("metric", "width"), [("ridgecv", 1000), ("rdm_cv", 1000), ("cka", 1000), ("ridge", 20)])
def test_a_source_scores_as_by_itself(metric, width):
    metric = load_metric(metric, **METRICS[metric])
    source = features(width)[::-1]  # rows in another order than those of the target
    shared = SharedTarget(metric, TARGET, folds=False)
    scored = shared(in_stimulus_coordinates(source, shared.metric.depends_on)).score
    alone = metric(source, TARGET)
    if alone.raw is not None:
        np.testing.assert_allclose(scored.raw, alone.raw, atol=1e-9, rtol=0)
    assert (float(scored), scored.error) == pytest.approx((float(alone), alone.error), abs=1e-9)
    assert scored.provenance == alone.provenance and scored.n_units == alone.n_units


@pytest.mark.slow
def test_sources_of_all_widths_share_one_program():
    metric = load_metric("ridge", **SPLITS)
    for folds, widths in ((True, (N, 61, 300, 1000, 4321)), (False, (17, 20, 32))):
        shared = SharedTarget(metric, TARGET, folds=folds)
        first, *others = (in_stimulus_coordinates(features(width), metric.depends_on) for width in widths)
        shared(first)
        with traces() as counted:
            for source in others:
                shared(source)
        assert not counted


@pytest.mark.slow
def test_coordinates_keep_what_a_metric_sees():
    values = features(500).values.astype(float)
    values[3] = 0.1  # the same in all units: no pattern, in any coordinates
    mirrored = in_stimulus_coordinates(assembly(values), "correlations").values
    others = np.arange(N) != 3
    np.testing.assert_allclose(np.corrcoef(mirrored[others]), np.corrcoef(values[others]), atol=1e-12)
    assert mirrored.shape == (N, N + 1) and not mirrored[3].any()
    for same in (values, mirrored):
        assert np.isnan(float(load_metric("rdm")(assembly(same), TARGET)))


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["ridge", "cka"])
def test_a_choice_within_a_fold_has_not_seen_its_test_stimuli(metric):
    metric = load_metric(metric, **METRICS[metric])
    shared = SharedTarget(metric, TARGET)
    of_similarities = KFold(10, shuffle=True, random_state=1)
    splits = metric.crossvalidation.of(TARGET) if metric.mapping is not None else list(of_similarities.split(TARGET))
    before = shared(features(32))
    changed = TARGET.copy(deep=True)
    test = splits[2][1]
    changed[test] = np.random.default_rng(5).normal(size=(len(test), 12))
    after = SharedTarget(metric, changed)(features(32))
    assert after.within[2] == pytest.approx(before.within[2], abs=1e-12)
    assert not np.array_equal(before.held_out[2], after.held_out[2])
    assert (np.delete(before.within, 2) != np.delete(after.within, 2)).all()


def test_the_better_layer_is_chosen_and_keeps_its_score_and_an_undefined_one_is_not():
    shared = SharedTarget(load_metric("ridge", **SPLITS), TARGET)
    silent = shared(assembly(np.zeros((N, 32))))
    assert np.isnan(float(silent.score))
    noise = shared(assembly(np.random.default_rng(7).normal(size=(N, 32))))
    right = shared(features(32))
    nested = nested_choice({"silent": silent, "noise": noise, "right": right}, TARGET)
    assert nested.chosen == ("right",) * 4 and float(nested.score) == float(right.score)
    xr.testing.assert_equal(nested.score.raw["neuroid_id"], right.score.raw["neuroid_id"])
    none = nested_choice({"silent": silent}, TARGET)
    assert none.chosen == ("",) * 4 and np.isnan(float(none.score))


def test_too_few_stimuli_for_splits_within_splits_is_said():
    few = TARGET[:12].assign_coords(object_name=("presentation", list("aabbccddeeff")))
    metric = load_metric("ridge", crossvalidation_kwargs={"splits": 2, "train_size": 0.5})
    with pytest.raises(ValueError, match=r"no splits within the 6 training stimuli .*nested=False"):
        SharedTarget(metric, few)
