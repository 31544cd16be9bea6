"""Every setting of every metric is in the provenance, and the provenance gives the metric back."""

import json
from inspect import Parameter, signature

import numpy as np
import pytest
import scipy.stats
import xarray as xr
from sklearn.linear_model import Ridge as SklearnRidge

from bsjax import Metric, list_metrics, load_metric, metric_registry, score_arrays
from bsjax.labelled import Provenance, Score
from bsjax.metrics.similarity.rdms.rdm import rdm_pairs

RDM = {"dissimilarity": "euclidean", "comparison": "corr"}
# What a metric cannot be made without.
NEEDED = {
    "estimator": SklearnRidge(2.0),
    "property_name": "osi",
    "factor": "shape",
    "bands": (2, 4),
    "image_types": ["w", "f"],
    "independent_variable": "offset",
    "baseline_condition": "alone",
    "test_condition": "crowded",
    "similarity_metric": load_metric("ks_similarity", property_name="osi"),
}
# Another value than the default of a setting, by its name, where half or more of a number will not do.
OTHER = {
    "crossvalidation_kwargs": {"splits": 5, "kfold": True, "stratification_coord": None},
    "search": "gradient",
    "kernels": ("linear", "rbf"),
    "rcond": 0.5,
    "solver": "nipals",
    "kernel": {name: "laplacian" if name == "kernel_cka" else "linear" for name in list_metrics()},
    "gamma": 0.3,
    "bands": (3, 3),
    "alphas": (0.5, 2.0),
    "regression_kwargs": {"alpha_per_target": True},
    "cv": 6,
    "estimator": SklearnRidge(3.0),
    "error": "jackknife",
    "dissimilarity": {name: "poisson" if name == "rdm_of_trials" else "euclidean" for name in list_metrics()},
    "noise": "diag",
    "comparison": "tau-a",
    "regression": "pls",
    "similarity_func": {"ks_similarity": max, "rsa_ceiling": scipy.stats.pearsonr, "gsn_rsa_ceiling": "tau-a"},
    "decoder": {"epochs": 3},
    "image_types": ["w", "i"],
    "threshold_accuracy": 0.75,
    "consistency_metric": load_metric("rdm", **RDM),
    "rdm": rdm_pairs,
    "pooling": "matched",
    "bound": "lower",
    "metric": "ridge",
    "how": "leave_one_out",
    "symmetric": {"cross_subject_consistency": False},
    "trials": 3,
    "similarity_metric": load_metric("ks_similarity", property_name="osi", ns=10),
    "sigma_k": [1.0, 1.0, 2.0],
}
# Brain-Score's arguments that can have one value only.
FIXED = {"comparison_coord", "neuroid_dim", "xarray_kwargs", "fit_function", "fit_inverse_function", "aggregate"}
# What a setting needs beside it.
WITH = {"sigma_k": {"comparison": "whitened_corr"}}
# Estimators and functions of others are recorded by name, and must be given anew.
OBJECTS = {"estimator", ("ks_similarity", "similarity_func")}


def settings(name):
    found = signature(metric_registry[name]).parameters.values()
    return {p.name: p.default for p in found if p.kind is not p.VAR_KEYWORD and p.name not in FIXED | {"dtype"}}


def made(name, **given):
    needed = {key: NEEDED[key] for key, default in settings(name).items() if default is Parameter.empty}
    return recorded(load_metric(name, **needed | given))


def recorded(metric):
    return vars(metric).get("forward", metric).provenance()


def again(provenance, *objects):
    given = {key: NEEDED.get(key) if key in objects else value for key, value in provenance.settings.items()}
    return load_metric(provenance.metric, **given, **provenance.seeds)


def others(name):
    for key, default in settings(name).items():
        value = OTHER[key] if key in OTHER else another(NEEDED[key] if default is Parameter.empty else default)
        yield key, value[name] if isinstance(value, dict) and name in value else value


def another(default):
    if isinstance(default, bool | str):
        return f"another {default}" if isinstance(default, str) else not default
    return default / 2 if isinstance(default, float) else default + 4


@pytest.mark.parametrize("name", list_metrics())
def test_each_setting_makes_another_provenance_which_gives_the_metric_back(name):
    base = made(name)
    variants = {"nothing": base, "seed": base}
    for key, value in others(name):
        variants[key] = made(name, **{key: value}, **WITH.get(key, {}))
        assert variants[key] != base, key
    if "crossvalidation_kwargs" in settings(name):
        variants["random_state"] = made(name, random_state=5)
        assert variants["random_state"].seeds["random_state"] == 5
        ten = made(name, crossvalidation_kwargs={"splits": 10})
        assert ten == base and made(name, crossvalidation_kwargs={"splits": 4}) != base
    for key, record in variants.items():
        if {key, (name, key), *base.settings} & OBJECTS:
            continue
        for read in (record, Provenance.from_dict(json.loads(json.dumps(record.to_dict())))):
            assert recorded(again(read)) == record, key


def assembly(seed=0, n=40, **coords):
    values = np.random.default_rng(seed).normal(size=(n, 6))
    coords = {"stimulus_id": np.arange(n), "object_name": np.arange(n) % 2, **coords}
    return xr.DataArray(values, {k: ("presentation", v) for k, v in coords.items()}, ["presentation", "neuroid"])


TRIALS = assembly(n=40, stimulus_id=np.arange(40) % 20, repetition=np.arange(40) // 20)
PEOPLE = assembly().assign_coords(subject=("neuroid", list("aabbcc")))
HALVES = [assembly(n=30), assembly(1, n=10), assembly(2, n=30), assembly(3, n=10)]
SCORED = [
    ("reverse_pls", {"n_components": 3, "random_state": 2}, (assembly(), assembly(1))),
    ("dual_ridge_split", {"alpha": 2.0}, HALVES),
    ("internal_consistency", {"consistency_metric": load_metric("rdm", **RDM), "splits": 3}, (TRIALS,)),
    ("rsa_ceiling", {"bound": "lower", "similarity_func": "corr"}, (PEOPLE,)),
    ("cross_subject_consistency", {"metric": "ridge", "alpha": 3.0, "random_state": 2}, (PEOPLE,)),
]


@pytest.mark.parametrize(("name", "chosen", "data"), SCORED, ids=[row[0] for row in SCORED])
@pytest.mark.filterwarnings("ignore:.*(penalt|interpolat)")
def test_a_score_is_had_again_from_its_provenance(name, chosen, data):
    score = load_metric(name, **chosen)(*data)
    read = Score.from_dict(json.loads(json.dumps(score.to_dict()))).provenance
    twin = again(read)(*data)
    assert twin == score and twin.provenance == score.provenance
    assert set(chosen) <= {*read.settings, *read.seeds, *read.settings.get("metric", ())}


@pytest.mark.slow
def test_of_arrays_too():
    x, y = (np.random.default_rng(seed).normal(size=(50, 5)) for seed in range(2))
    score = score_arrays(x, y, "ridge", {"splits": 5}, alpha=2.0, random_state=4)
    read = score.provenance
    assert score_arrays(x, y, read.metric, **read.settings, **read.seeds).provenance == read
    with pytest.raises(ValueError, match="two seeds of the splits: 4 and 5; give one random_state"):
        score_arrays(x, y, "ridge", {"random_state": 5}, random_state=4)


def test_the_ceiling_of_a_metric():
    labels = {"stimulus_id": np.arange(40) // 4, "subject": list("abcd") * 10, "truth": ["dog"] * 20 + ["cat"] * 20}
    labels = {name: ("presentation", values) for name, values in labels.items()}
    trials = xr.DataArray(np.random.default_rng(0).choice(["dog", "cat"], 40), labels, ["presentation"])
    ceiling = load_metric("accuracy_distance").ceiling(trials, variables=["truth"])
    assert ceiling.provenance.metric == "accuracy_distance.ceiling"
    assert again(ceiling.provenance)(trials).provenance == ceiling.provenance
    assert load_metric("accuracy_distance").ceiling(trials).provenance != ceiling.provenance
    of_thresholds = load_metric("threshold", independent_variable="offset").ceiling([10.0, 20.0, 40.0], "drawn")
    made = of_thresholds.provenance
    assert (made.metric, made["left_out"], made["threshold_accuracy"]) == ("threshold.ceiling", "drawn", "inflection")
    assert again(made)([10.0, 20.0, 40.0]) == of_thresholds


def test_estimators_and_functions_are_recorded_by_what_they_are():
    assert made("regression").settings["estimator"] == "Ridge(alpha=2.0)"
    chosen = {"preprocess_indices": lambda train, test, assembly: (train, test)}
    record = made("ridge", crossvalidation_kwargs=chosen).settings["crossvalidation_kwargs"]["preprocess_indices"]
    assert "test_estimators_and_functions" in record and " at 0x" not in record


def test_a_metric_that_forgets_a_setting_has_no_provenance():
    class Forgetful(Metric):
        identifier = "forgetful"

        def __call__(self):
            return Score(1.0)

        def __init__(self, sharpness=1.0):
            self.sharp = sharpness

    with pytest.raises(ValueError, match="Forgetful must keep its setting 'sharpness' as the attribute 'sharpness'"):
        Forgetful().provenance()
