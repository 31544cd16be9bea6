"""The 127 benchmarks of behaviour and of what models can do, against the survey of the reference."""

import json
from collections import Counter
from pathlib import Path

import pytest

from bsjax import load_benchmark
from bsjax.benchmarks import Ceiling
from bsjax.benchmarks.ceilings import KnownCeiling
from bsjax.benchmarks.rows.tables import builtin_rows
from bsjax.labelled.behaviour.accuracy import Accuracy, ShapeBias, same_choices
from bsjax.labelled.behaviour.agreement import AccuracyDistance, ErrorConsistency
from bsjax.labelled.behaviour.choice_signatures import ChoiceSignature
from bsjax.labelled.behaviour.condition_accuracies import BakerAccuracyDelta, ConditionAccuracySimilarity
from bsjax.labelled.behaviour.confusions import ConfusionSimilarity, TasksConsistency
from bsjax.labelled.behaviour.search_asymmetry import AsymmetryDelta
from bsjax.labelled.behaviour.thresholds import MeanThreshold, ThresholdElevation

LINES = Path(__file__).with_name("reference_behaviours.json").read_text().splitlines()
REFERENCE = [json.loads(line) for line in LINES]
# What the survey calls a metric, by its first word.
METRICS = {
    "accuracy": Accuracy,
    "accuracy_distance": AccuracyDistance,
    "baker_accuracy_delta": BakerAccuracyDelta,
    "confusion_similarity": ConfusionSimilarity,
    "error_consistency": ErrorConsistency,
    "i2n": ChoiceSignature,
    "per-subject": ConditionAccuracySimilarity,
    "tasks_consistency": TasksConsistency,
    "threshold": MeanThreshold,
    "threshold_elevation": ThresholdElevation,
    "value_delta": AsymmetryDelta,
}
# By how the survey's formula begins; the clips that follow it there are not copied.
NORMALISATIONS = {
    "(raw/ceiling)^2": "squared_ceil_score",
    "(raw-1/3)/(ceiling-1/3)": "chance_corrected",
    "per split raw/sqrt(ceiling)": "each_split_over_sqrt_ceiling",
}


def test_there_are_127_and_none_is_left_out():
    ours = {name for name, row in builtin_rows().items() if row.kind in ("behavioural", "engineering")}
    assert ours == {fact["identifier"] for fact in REFERENCE} and len(ours) == 127
    tasks = Counter(fact["task"].partition("(")[0].split()[0] for fact in REFERENCE)
    assert tasks == {"label": 93, "probabilities": 33, "odd_one_out": 1}


@pytest.mark.parametrize("fact", REFERENCE, ids=lambda fact: fact["identifier"])
def test_it_is_as_in_the_reference(fact, without_network):
    benchmark = load_benchmark(fact["identifier"])
    assert benchmark.visual_degrees == fact.get("visual_degrees")
    assert benchmark.task.value == fact["task"].partition("(")[0].split()[0]
    check_metric(benchmark.metric, fact)
    check_ceiling(benchmark.ceiling_func, fact)
    formula = next((name for start, name in NORMALISATIONS.items() if fact["normalisation"].startswith(start)), None)
    assert benchmark.normalisation == (formula or "ceil_score")


def check_metric(metric, fact):
    stated = fact.get("metric_kwargs") or {}
    if fact["metric"].startswith("fraction of triplets"):
        assert metric is same_choices
        return
    kind = METRICS[fact["metric"].split()[0]]
    if fact["identifier"].endswith("shape_bias"):
        kind = ShapeBias
    assert type(metric) is kind
    if kind is BakerAccuracyDelta:
        assert metric.image_types == stated["image_types"]
    if kind is AsymmetryDelta:
        assert (metric.scale, metric.lapse_rate) == (stated["scale"], fact["notes"]["lapse_rate"])
    if kind is ThresholdElevation:
        assert metric.baseline_condition == stated["baseline_condition"]
        assert metric.test.level == stated["threshold_accuracy"] == metric.baseline.level
    if kind is MeanThreshold:
        assert metric.metric.level == stated["threshold_accuracy"]
    if kind is ChoiceSignature:
        assert metric.identifier == "i2n"


def check_ceiling(ceiling, fact):
    stated = fact["ceiling"]
    if "value" in stated:
        assert isinstance(ceiling, KnownCeiling) and ceiling.source
        assert (ceiling.value, ceiling.error) == (stated["value"], stated.get("error"))
        return
    assert isinstance(ceiling, Ceiling)
    if stated["method"] == "i2n.ceiling(skipna=True)":
        assert ceiling.method.func.__name__ == "ceiling" and ceiling.method.func.__self__.identifier == "i2n"
        assert ceiling.method.keywords == {"skipna": True}
    else:  # of the metric itself
        assert ceiling.method.__name__ == "ceiling"
        check_metric(ceiling.method.__self__, fact)


FACTS = (
    *("identifier", "pattern", "dataset", "stimulus_set", "task", "metric", "metric_kwargs", "ceiling"),
    *("normalisation", "visual_degrees", "place_on_screen", "number_of_trials", "parent", "version", "tests", "notes"),
)


def test_the_facts_are_those_of_the_survey(shared_data):
    survey = shared_data.parent / "spec" / "benchmarks.json"
    if not survey.is_file():
        pytest.skip(f"no survey of the reference at {survey}")
    rows = [row for row in json.loads(survey.read_bytes()) if row["task"] != "recording"]
    assert [{name: row[name] for name in FACTS if row.get(name) is not None} for row in rows] == REFERENCE
