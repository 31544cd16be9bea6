"""Every row against the survey of the reference, which the files ``reference_*.json`` hold."""

import ast
import json
import re
from pathlib import Path

import numpy as np
import pytest

from bsjax.benchmarks import benchmark_row
from bsjax.benchmarks.prepare.steps import STEPS

FACTS = [
    json.loads(line)
    for name in ("recordings", "behaviours")
    for line in Path(__file__).with_name(f"reference_{name}.json").read_text().splitlines()
]
# What the survey says by how it begins -> what a row says, where that is not the survey's first word.
KINDS = {
    "NeuralBenchmark": "neural",
    "TrainTestNeuralBenchmark": "train_test",
    "RSABenchmark": "rsa",
    "MultiSubjectNeuralBenchmark": "subjects_train_test",
    "_MultiSubjectRSABenchmark": "subjects_rsa",
    "_MultiSubjectCKABenchmark": "inter_subject",
    "PropertiesBenchmark": "properties",
}
METRICS = {
    "2AFC": "accuracy of a read-out",
    "CrossRegressedCorrelation(dual_ridge_cv": "ridgecv",
    "RDM": "rdm",
    "RSM": "rsm",
    "fraction of triplets": "same choices",
    "per-subject Pearson of 18": "condition_accuracy_similarity",
}
CEILINGS = {
    "LOO inter-subject": "each subject with the mean of the others",
    "leave-one-out": "each subject with the mean of the others",
    "NeuronalPropertyCeiling": "property_ceiling",
    "SplitHalfPredictorConsistency": "predictor_consistency",
    "ncsnr": "StoredNoiseCeiling",
    "pairwise inter-subject": "inter-subject",
    "reliability median": "MedianReliability",
}
NORMALISATIONS = {
    "score = raw^2": "explained_variance",
    "per subject r^2": "explained_variance",
    "per subject: (median": "explained_variance",
    "(raw/ceiling)^2": "squared_ceil_score",
    "(raw-1/3)/(ceiling-1/3)": "chance_corrected",
    "per split raw/sqrt(ceiling)": "each_split_over_sqrt_ceiling",
}
PENALTIES = {
    "ALPHA_LIST": None,  # those that the metric has by default
    "10^-10..10^10": tuple(10.0**exponent for exponent in range(-10, 11)),
    "23 values": (
        *(0.01, 0.1, 0.5, 1.0, 10.0, 50.0, 100.0, 500.0, 1000.0, 5000.0),
        *(start * factor for start in (1e4, 1e5) for factor in (1, 3.25, 5.5, 7.75)),
        *np.linspace(1e6, 1e7, 5).tolist(),
    ),
}
every_fact = pytest.mark.parametrize("fact", FACTS, ids=[fact["identifier"] for fact in FACTS])


def meant(words, table, otherwise):
    return next((name for start, name in table.items() if words.startswith(start)), otherwise)


@every_fact
def test_what_is_compared_and_how(fact):
    row, of_brains = benchmark_row(fact["identifier"]), "task" not in fact
    if of_brains and not fact["pattern"].startswith("custom"):
        assert row.kind == KINDS[fact["pattern"].replace("(", " ").split()[0]]
    metric = meant(fact["metric"], METRICS, fact["metric"].split()[0])
    assert row.metric == ("shape_bias" if fact["identifier"].endswith("shape_bias") else metric)
    stated, settings = fact.get("metric_kwargs") or {}, row.settings.get("metric_kwargs", {})
    for name in {"image_types", "baseline_condition", "threshold_accuracy"} & set(stated):
        assert np.array_equal(settings[name], stated[name])
    if row.metric == "value_delta":
        assert settings["lapse_rate"] == fact["notes"]["lapse_rate"]
    if "factor" in stated:
        assert row.settings["factor"] == stated["factor"]
    if "alphas" in stated and stated["alphas"] != "alpha=1":
        assert settings.get("alphas") == meant(stated["alphas"], PENALTIES, "")
    elif "alpha" in stated or "alphas" in stated:
        assert settings == {"alpha": 1.0}
    if "crossvalidation_kwargs" in stated:
        splits = stated["crossvalidation_kwargs"]
        assert row.settings["stratify"] == (splits["stratification_coord"] or False)
        assert row.settings.get("splits") == splits.get("splits")
        assert ("preprocess_indices" in row.settings) == ("preprocess_indices" in splits)
    if not of_brains:
        assert row.settings.get("task", "label") == fact["task"].partition("(")[0].split()[0]


@every_fact
def test_the_ceiling_and_its_use(fact):
    row, stated, of_brains = benchmark_row(fact["identifier"]), fact["ceiling"], "task" not in fact
    if "value" in stated:
        assert (row.ceiling, row.settings.get("ceiling_error")) == (stated["value"], stated.get("error"))
    else:
        assert row.ceiling == (meant(stated["method"], CEILINGS, stated["method"]) if of_brains else "own")
    settings = row.settings.get("ceiling_kwargs", {})
    assert settings.get("split_coord") == stated.get("kwargs", {}).get("split_coord")
    assert settings.get("skipna", False) == ("skipna=True" in stated["method"])
    normalisation = meant(fact["normalisation"], NORMALISATIONS, "ceil_score")
    if stated["method"] == "ncsnr" and "r^2" in fact["normalisation"]:
        normalisation = "squared_ceil_score"  # this ceiling is a correlation, for which r²/c would be wrong
    elif of_brains and fact["normalisation"].startswith("none"):
        normalisation = ""
    assert row.normalisation == normalisation


@every_fact
def test_facts_and_data(fact):
    row = benchmark_row(fact["identifier"])
    assert (row.version, row.parent) == (fact["version"], fact.get("parent", ""))
    assert row.region == fact.get("region", "").partition(" ")[0]
    if isinstance(fact.get("visual_degrees"), int | float):
        assert row.visual_degrees == fact["visual_degrees"]
    if isinstance(fact["number_of_trials"], int):
        assert row.number_of_trials == fact["number_of_trials"]
    bins = re.match(r"\[\(.*?\)\]", fact.get("timebins", ""))
    if fact.get("timebins", "").startswith("18 bins"):
        assert row.time_bins == tuple((start, start + 10) for start in range(70, 250, 10))
    else:
        assert list(row.time_bins) == ([] if bins is None else ast.literal_eval(bins[0]))
    if row.builder.startswith("bsjax.benchmarks.kinds.published_recordings"):
        steps = [row.settings.get(name, ()) for name in ("steps", "target_steps", "ceiling_steps")]
        assert {name for each in steps for name, *_ in each} <= set(STEPS)
        stated = re.split(r" / ", (fact.get("dataset") or "").partition(" (")[0])
        if stated[0].endswith("_train+test"):
            stated = [stated[0].removesuffix("+test"), stated[0].replace("train+test", "test")]
        named = list(dict.fromkeys(re.sub(r"sub-.*", "", name) for name in row.data))
        assert stated == [""] or named == [re.sub(r"sub-.*", "", name) for name in stated]


def test_the_facts_are_those_of_the_survey(shared_data):
    survey = shared_data.parent / "spec" / "benchmarks.json"
    if not survey.is_file():
        pytest.skip(f"no survey of the reference at {survey}")
    rows = {row["identifier"]: row for row in json.loads(survey.read_bytes())}
    assert len(FACTS) == len(rows) == 270
    for fact in FACTS:
        assert {name: rows[fact["identifier"]][name] for name in fact} == fact
