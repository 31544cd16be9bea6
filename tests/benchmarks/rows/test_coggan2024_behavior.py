"""Occluded objects: trials in the shape of the published ones, correlations by pandas and numpy."""

import numpy as np
import pandas as pd
import pytest

from bsjax import load_benchmark
from bsjax.labelled.behaviour.condition_accuracies import ConditionAccuracySimilarity
from tests.support import served_data as served
from tests.support.people import answering, behaviour

IDENTIFIER = "tong.Coggan2024_behavior-ConditionWiseAccuracySimilarity"
CLASSES = np.array(["bear", "bison", "hare"])
TYPES, COLORS, PEOPLE, EACH = ["bars", "blobs", "mesh"], ["black", "white"], 4, 12
KEY = ["occluder_type", "occluder_color"]


@pytest.fixture(scope="module")
def table():
    """One row a trial: each person has images of their own, twelve of each occluder and some without."""
    rng = np.random.default_rng(0)
    hard = dict(zip([(t, c) for t in TYPES for c in COLORS], [0.95, 0.8, 0.7, 0.55, 0.4, 0.3], strict=True))
    kinds = [*(kind for kind in hard for _ in range(EACH)), *[("unoccluded", "none")] * 5]
    rows = [(f"sub-{who}", *kind) for who in range(PEOPLE) for kind in kinds]
    table = pd.DataFrame(rows, columns=["subject", *KEY])
    table["stimulus_id"] = [f"image{row:03d}" for row in range(len(table))]
    table["visibility"] = np.where(table["occluder_type"] == "unoccluded", 1.0, 0.4)
    table["object_class"] = CLASSES[rng.integers(0, 3, len(table))]
    share = [hard.get(kind, 0.99) for kind in zip(table["occluder_type"], table["occluder_color"], strict=True)]
    table["human_accuracy"] = (rng.random(len(table)) < share).astype(int)
    right = rng.random(len(table)) < 0.3 + 0.6 * np.array(share)
    shift = np.where(right, 0, rng.integers(1, 3, len(table)))
    table["model"] = CLASSES[(np.searchsorted(CLASSES, table["object_class"]) + shift) % 3]
    return table


@pytest.fixture(scope="module")
def people(table):
    answers = np.where(table["human_accuracy"], table["object_class"], "none of them")
    return behaviour(answers, stimulus_id=table["stimulus_id"], human_accuracy=table["human_accuracy"])


def accuracies(table):
    rows = table[table["visibility"] < 1].assign(model=table["model"] == table["object_class"])
    return (rows.groupby(["subject", *KEY])[name].mean().unstack("subject") for name in ("model", "human_accuracy"))


@pytest.mark.slow
def test_score_and_ceiling_as_by_hand(serve, table, people):
    columns = {name: table[name] for name in ("subject", "object_class", "visibility", *KEY)}
    serve("Coggan2024_behavior", people, served.stimuli_of(len(table), **columns))
    serve("Coggan2024_behavior_fitting", stimuli=served.stimuli_of(6, "learned", image_label=[*CLASSES] * 2))
    benchmark = load_benchmark(IDENTIFIER)
    score = benchmark(answering(table, CLASSES, np.where(table["model"].to_numpy()[:, None] == CLASSES, 0.5, 0.25)))
    model, human = accuracies(table)
    each = [np.corrcoef(model[who], human[who])[0, 1] for who in human]
    others = [np.corrcoef(human[who], human.drop(columns=who).mean(axis=1))[0, 1] for who in human]
    np.testing.assert_allclose(score.unceiled.raw, each, atol=1e-6)
    np.testing.assert_allclose(benchmark.ceiling.raw, others, atol=1e-6)
    assert benchmark.ceiling.error == pytest.approx(np.std(others, ddof=1) / 2, rel=1e-5)
    assert float(score) == pytest.approx((np.mean(each) / np.mean(others)) ** 2, rel=1e-5)


def test_order_does_not_matter_and_undefined_people_are_counted(people, table):
    metric, choices = ConditionAccuracySimilarity(), behaviour(table["model"], stimulus_id=table["stimulus_id"])
    of_stimuli = ["subject", "object_class", "visibility", *KEY]
    merged = people.assign_coords({name: ("presentation", table[name].to_numpy()) for name in of_stimuli})
    shuffled = choices[np.random.default_rng(1).permutation(len(choices))]
    assert float(metric(shuffled, merged)) == float(metric(choices, merged))
    perfect = np.where(table["subject"] == "sub-0", 1, table["human_accuracy"])
    score = metric(choices, merged.assign_coords(human_accuracy=("presentation", perfect)))
    assert np.isnan(score.raw.values[0]) and (score.n_units, score.n_undefined) == (4, 1)
