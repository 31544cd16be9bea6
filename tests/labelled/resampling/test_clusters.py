"""Stimuli of one object are drawn together where responses cluster by objects."""

import numpy as np
import pytest

from bsjax import Resampling, load_ceiling, load_metric
from bsjax.benchmarks.uncertainty import with_error_over_stimuli
from bsjax.labelled.metric import scored
from bsjax.labelled.resampling.clusters import clustered_by
from bsjax.labelled.resampling.draws import in_draws
from tests.support.responses import assembly

pytestmark = pytest.mark.slow


def responses(values, objects=None, trials=1, units="n"):
    n = len(values) // trials
    coords = {} if objects is None else {"object_name": ("presentation", np.tile(objects, trials))}
    coords["repetition"] = ("presentation", np.repeat(np.arange(trials), n))
    return assembly(values, [f"image{i}" for i in np.tile(np.arange(n), trials)], units, **coords)


def of_objects(seed=0, count=8, each=5, within=0.5, trials=1):
    """Features and responses of stimuli that differ more between objects than within them."""
    rng = np.random.default_rng(seed)
    objects = np.repeat([f"object{i}" for i in range(count)], each)
    latent = np.repeat(rng.normal(size=(count, 6)), each, axis=0) + within * rng.normal(size=(count * each, 6))
    sides = []
    for units, n, width in (("m", 1, 12), ("n", trials, 9)):
        values = np.tile(latent @ np.random.default_rng(width).normal(size=(6, width)), (n, 1))
        sides.append(responses(values + rng.normal(size=values.shape), objects, n, units))
    return sides


def test_responses_cluster_by_objects_beyond_chance():
    _, target = of_objects()
    assert clustered_by(target) == "object_name"
    order = np.random.default_rng(1).permutation(40)
    assert clustered_by(target[order] * 1e9) == "object_name"
    noise = [responses(np.random.default_rng(i).lognormal(size=(40, 9)), np.arange(40) // 5) for i in range(200)]
    assert sum(clustered_by(each) is not None for each in noise) <= 8
    plain = target.values
    assert clustered_by(responses(plain)) is None  # no objects are named
    assert clustered_by(responses(plain, np.arange(40))) is None  # each stimulus is an object of its own
    assert clustered_by(responses(plain, ["all"] * 40)) is None
    assert clustered_by(responses(np.ones((40, 3)), target["object_name"].values)) is None
    gaps = plain.copy()
    gaps[3, 0] = np.nan
    assert clustered_by(responses(gaps, target["object_name"].values)) == "object_name"
    assert clustered_by(responses(np.full((40, 3), np.nan), target["object_name"].values)) is None
    _, trials = of_objects(trials=3)
    assert clustered_by(trials) == "object_name"
    assert clustered_by((10 * trials).astype(int)) == "object_name"  # as counts of spikes
    assert clustered_by(trials.astype(int).astype(str)) is None


def test_few_objects_say_nothing_of_others():
    _, target = of_objects(count=3)
    with pytest.warns(RuntimeWarning, match="responses cluster by object_name, of which there are 3"):
        assert clustered_by(target) is None
    with in_draws(Resampling.parse("stimuli/object_name:20")):  # which says that no others are meant
        assert scored(load_metric("cka", error="influence"), *of_objects(count=3)).uncertainty.dof


def test_draws_take_the_stimuli_of_an_object_together():
    source, target = of_objects()
    given = []
    for plan in ("stimuli", Resampling(groups="object_name"), Resampling(strata="object_name")):
        with in_draws(plan):
            given.append(scored(load_metric("cka"), source, target))
    default, groups, strata = given
    assert default.uncertainty.to_dict() == groups.uncertainty.to_dict() and default.uncertainty.dof == 7
    assert "of 8 whole groups by object_name" in default.error_kind
    assert strata.uncertainty.dof == 32 and strata.error < default.error
    with in_draws(Resampling(draws=20)):
        assert scored(load_metric("ridge", {"splits": 3, "train_size": 0.6}), source, target).uncertainty.dof == 7


def test_a_score_and_its_ceiling_are_drawn_by_the_same_objects():
    source, trials = of_objects(trials=4)
    averages = trials.groupby("stimulus_id").mean()
    averages = responses(averages.sel(stimulus_id=source["stimulus_id"].values).values, source["object_name"].values)
    metric = load_metric("cka")
    with in_draws(Resampling(draws=50)):
        score = scored(metric, source, averages)
        ceiling = scored(load_ceiling("internal_consistency", consistency_metric=metric), trials)
    assert score.uncertainty.plan == ceiling.uncertainty.plan


def test_the_error_of_a_similarity_is_that_of_other_objects():
    """Over data sets with other objects the scores spread as their errors say, and not half as much again."""
    metric = load_metric("rdm", error="jackknife")
    scores = [metric(*of_objects(seed)) for seed in range(25)]
    assert {score.uncertainty.dof for score in scores} == {7}
    assert "stimuli of one object_name together" in scores[0].error_kind
    spread, errors = np.std([float(score) for score in scores], ddof=1), [score.error for score in scores]
    assert 0.8 * spread < np.mean(errors) < 1.8 * spread


@pytest.mark.parametrize("what", ["rdm_of_trials", "gsn_rsa_ceiling", "internal_consistency"])
def test_jackknives_of_trials_leave_out_whole_objects(what):
    source, trials = of_objects(trials=3)
    score = {
        "rdm_of_trials": lambda: load_metric(what, error="jackknife")(source, trials),
        "gsn_rsa_ceiling": lambda: load_ceiling(what, draws=4)(trials),
        "internal_consistency": lambda: with_error_over_stimuli(load_ceiling(what), trials),
    }[what]()
    assert score.error_kind.endswith("jackknife of 8 groups, stimuli of one object_name together")
    assert score.uncertainty.dof == 7 and score.error > 0
