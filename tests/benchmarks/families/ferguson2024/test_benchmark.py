"""Search asymmetries: trials in the shape of the published ones, integrals by numpy and pandas."""

import numpy as np
import pandas as pd
import pytest

from bsjax import BehavioralAssembly, load_benchmark
from bsjax.labelled.behaviour.search_asymmetry import AsymmetryDelta
from bsjax.labelled.settings import keep
from bsjax.models import PrecomputedFeatures
from tests.support import served_data as served
from tests.support.people import behaviour

IDENTIFIER, LAPSES = "Ferguson2024color-value_delta", 0.0578
NUMBERS = np.array([1, 5, 11])[np.arange(24) % 6 // 2]
TEXT = {1: "1.0", 5: "5.0", 11: "11.0"}


@pytest.fixture(scope="module")
def stimuli():
    return served.stimuli_of(48, image_number=[*range(24)] * 2, block=["first"] * 24 + ["second"] * 24)


@pytest.fixture(scope="module")
def people(stimuli):
    """Five people, three times each image, better in the second block the more items there are; and some practice."""
    rng = np.random.default_rng(0)
    rows = [(who, image) for who in range(5) for image in np.tile(np.arange(48), 3)]
    who, image = np.array(rows).T
    number, second = np.tile(NUMBERS, 2)[image], image >= 24
    correct = rng.random(len(rows)) < np.where(second, 0.9, 0.9 - 0.03 * number)
    practice = np.arange(len(rows)) % 20 == 0
    coords = {
        "stimulus_id": stimuli["stimulus_id"].to_numpy()[image],
        "participant_id": np.array([f"p{n}" for n in who]),
        "block": np.where(second, "second", "first"),
        "distractor_nums": np.array([TEXT[n] for n in number]),
        "correct": np.where(practice, 1 - correct, correct).astype(int),
        "trial_type": np.where(practice, "practice", "normal"),
    }
    return behaviour(coords["correct"], **coords)


@pytest.fixture(scope="module")
def answers(stimuli):
    rng = np.random.default_rng(1)
    oddball = np.clip(0.5 + np.where(np.arange(48) % 2, -0.2, 0.2) + 0.2 * rng.normal(size=48), 0, 1)
    coords = {name: ("presentation", stimuli[name].to_numpy()) for name in stimuli.columns}
    coords["image_label"] = ("presentation", ["oddball", "same"] * 24)
    coords["choice"] = ["same", "oddball"]
    values = np.stack([1 - oddball, oddball], axis=1)
    return BehavioralAssembly(values, coords, ["presentation", "choice"])


def integral(table):
    """By pandas: each person's accuracy, corrected; their means; the area between the blocks."""
    shares = table.groupby(["who", "block", "number"])["correct"].mean()
    means = ((shares - LAPSES / 2) / (1 - LAPSES)).groupby(["block", "number"]).mean().unstack()
    return np.trapezoid(means.loc["second"] - means.loc["first"], [1, 5, 11])


def as_table(people):
    names = {"participant_id": "who", "block": "block", "correct": "correct"}
    table = pd.DataFrame({new: people[old].values for old, new in names.items()})
    table["number"] = people["distractor_nums"].values.astype(float)
    return table[people["trial_type"].values == "normal"].reset_index(drop=True)


def of_model(answers, stimuli):
    chosen = answers.idxmax("choice").values
    right = chosen == np.where(stimuli["image_number"] % 2 == 0, "oddball", "same")
    return pd.DataFrame({"who": 0, "block": stimuli["block"], "number": np.tile(NUMBERS, 2), "correct": right})


@pytest.mark.slow
def test_score_as_by_hand(serve, stimuli, people, answers, same_as_published):
    serve("Ferguson2024_color", people, stimuli)
    serve("Ferguson2024_color_training_stimuli", stimuli=served.stimuli_of(4, "learned", image_number=range(4)))
    benchmark = load_benchmark(IDENTIFIER)
    score = benchmark(PrecomputedFeatures(answers, visual_degrees=8))
    integrals = integral(of_model(answers, stimuli)), integral(as_table(people))
    np.testing.assert_allclose(score.unceiled.raw, integrals)
    expected = np.exp(-0.75 * abs(integrals[0] - integrals[1]))
    assert float(score.unceiled) == pytest.approx(expected) and float(score) == pytest.approx(expected / 0.897)
    table = as_table(people)
    each = np.array([integral(table[table["who"] == who]) for who in pd.unique(table["who"])])
    assert score.unceiled.error == pytest.approx(0.75 * expected * each.std(ddof=1) / np.sqrt(5))
    assert score.ceiling.error == 0.072 and "authors" in score.ceiling.provenance["source"]
    assert benchmark.fitting_stimuli["image_label"].tolist() == ["oddball", "same"] * 2
    assert (score.provenance["n_stimuli"], benchmark.number_of_trials) == (48, 3)
    serve("Ferguson2024_color", people[people["trial_type"].values == "normal"], stimuli)
    # Brain-Score's takes the first choice for the oddball, and rounds its integrals to four digits.
    same_as_published(score, PrecomputedFeatures(answers[:, ::-1], visual_degrees=8), atol=1e-4)


def test_the_ceiling_from_the_trials(serve, stimuli, people):
    serve("Ferguson2024_color", people, stimuli)
    benchmark = load_benchmark(IDENTIFIER, ceiling="computed")
    keep(benchmark.metric, splits=12)
    table = as_table(people)
    expected = []
    for seed in range(12):
        order = np.random.RandomState(seed).permutation(len(table))
        halves = [integral(table.iloc[half]) for half in np.split(order, [len(table) // 2])]
        expected.append(np.exp(-0.75 * abs(halves[0] - halves[1])))
    np.testing.assert_allclose(benchmark.ceiling.raw, expected)
    assert float(benchmark.ceiling) == pytest.approx(np.mean(expected))
    assert benchmark.ceiling.error == pytest.approx(np.std(expected))


def test_people_who_have_not_done_everything_and_missing_answers(people):
    normal = people.isel(presentation=np.flatnonzero(people["trial_type"].values == "normal"))
    some = ~((normal["participant_id"].values == "p0") & (normal["block"].values == "second"))
    partly = normal.isel(presentation=np.flatnonzero(some))
    silent = partly.assign_coords(correct=partly["correct"].astype(float))
    silent["correct"].values[::7] = np.nan
    table = as_table(silent).dropna()
    score = AsymmetryDelta(LAPSES)(normal, silent)
    assert score.raw.values[1] == pytest.approx(integral(table)) and score.error > 0
