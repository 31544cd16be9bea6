"""Accuracy, error consistency, accuracy distance and their kin, on labelled trials."""

import math

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from bsjax import BehavioralAssembly
from bsjax.labelled.behaviour.accuracy import Accuracy
from bsjax.labelled.behaviour.agreement import (
    AccuracyDistance,
    ErrorConsistency,
    KatoAccuracyDistance,
    KatoErrorConsistency,
    model_vs_human,
)
from bsjax.labelled.behaviour.search_asymmetry import ValueDelta
from tests.oracle.cases import assemblies


def toy():
    """Three subjects, nine images: A has 5 right, B 3, C all."""
    answers = {
        "A": "dog cat chair cat dog dog dog dog chair",
        "B": "cat cat chair cat dog cat chair cat cat",
        "C": "dog cat chair dog cat chair dog cat chair",
    }
    shown = {"truth": ["dog", "cat", "chair"] * 3, "animacy": ["animate", "animate", "inanimate"] * 3}
    shown |= {"stimulus_id": np.arange(9), "condition": np.repeat([1, 2, 3], 3)}
    coords = {name: ("presentation", np.tile(each, 3)) for name, each in shown.items()}
    coords["subject"] = "presentation", np.repeat(list(answers), 9)
    return BehavioralAssembly(" ".join(answers.values()).split(), coords=coords, dims=["presentation"])


def trials(seed=0, subjects=4):
    """Choices of a model and of several subjects on the same images in three conditions; some right, some wrong."""
    arguments = {"seed": seed, "n_images": 12, "n_subjects": subjects, "categories": 3}
    return [side.astype(object) for side in assemblies({"builder": "labelled_trials", "arguments": arguments}).values()]


def shuffled(assembly, seed=1):
    return assembly.isel(presentation=np.random.default_rng(seed).permutation(assembly.sizes["presentation"]))


def without(assembly, keep):
    return assembly.isel(presentation=np.flatnonzero(keep))


def kappa(source, target):
    """Of the trials of ``target``, matched by stimulus."""
    answers = dict(zip(source["stimulus_id"].values, source.values == source["truth"].values, strict=True))
    mine = [answers[i] for i in target["stimulus_id"].values]
    return cohen_kappa_score(mine, target.values == target["truth"].values)


# -- known values


def test_values_of_brain_scores_own_tests():
    distance = AccuracyDistance()(toy().sel(subject="B"), toy(), ("condition", "animacy"))
    assert distance.value == pytest.approx(0.69444444, abs=1e-6)
    score = ErrorConsistency().ceiling(toy())
    assert score.value == pytest.approx(-0.1333333, abs=1e-6)  # Brain-Score gives 0.1333333: it takes the sign away
    assert score.error == pytest.approx(0.2799417, abs=1e-6)
    pairs = list(zip(score.raw["subject_left"].values, score.raw["subject_right"].values, strict=True))
    assert pairs == [("A", "B"), ("A", "C"), ("B", "C")] and score.n_units == 3


@pytest.mark.parametrize(("a", "b", "expected"), [(1.25, 1.25, 1.0), (1.5, 1, 0.6065), (1, -1, 0.1353), (-5, 5, 0.0)])
def test_value_delta(a, b, expected):
    score = ValueDelta()(a, b)
    assert score.value == pytest.approx(expected, abs=5e-4) == ValueDelta()(b, a).value
    assert score.error is None and score.raw.values.tolist() == [a, b]
    assert ValueDelta(scale=0.75)(a, b).value == pytest.approx(math.exp(-0.75 * abs(a - b)))


# -- labels, not positions


@pytest.mark.parametrize("metric", [ErrorConsistency, AccuracyDistance])
def test_the_order_of_rows_does_not_matter(metric):
    source, people = trials()
    for score in (lambda a, b: metric()(a, b), lambda a, b: metric().ceiling(b)):
        there, moved = score(source, people), score(shuffled(source).expand_dims("choice"), shuffled(people, 2))
        np.testing.assert_array_equal(there.raw.values, moved.raw.values)
        assert there.value == moved.value


def test_accuracy_matches_assemblies_by_stimulus_and_arrays_by_order():
    source, _ = trials()
    truth = source.copy(data=source["truth"].values.astype(object))
    there = Accuracy()(source, truth)
    assert Accuracy()(shuffled(source), truth).value == there.value
    assert Accuracy()(source, source["truth"].values).value == there.value
    assert Accuracy()(shuffled(source), source["truth"].values).value != there.value


# -- sign, undefined values, ragged data


def test_undefined_conditions_are_nan_counted_and_left_out():
    source, people = trials()
    always = people.copy(data=np.where(people["condition"] == "cond1", people["truth"], people.values))
    perfect = source.copy(data=np.where(source["condition"] == "cond1", source["truth"], source.values))
    score = ErrorConsistency()(perfect, always)
    assert np.isnan(score.raw.values[1]).all() and np.isfinite(score.raw.values[[0, 2]]).all()
    assert (score.n_units, score.n_undefined) == (4, 4)
    assert score.value == pytest.approx(score.raw.values[[0, 2]].mean())


@pytest.mark.parametrize("metric", [ErrorConsistency, AccuracyDistance])
def test_subjects_may_have_done_different_trials(metric):
    source, people = trials()
    rng = np.random.default_rng(0)
    kept = without(people, (rng.random(people.sizes["presentation"]) < 0.8) | (people["subject"] == "sub0").values)
    score = metric()(source, kept)
    for s, subject in enumerate(["sub0", "sub1", "sub2", "sub3"]):
        own = kept.sel(subject=subject)
        mine = source.sel(stimulus_id=own["stimulus_id"].values.tolist())
        if metric is ErrorConsistency:
            expected = [kappa(mine, own.sel(condition=c)) for c in ("cond0", "cond1", "cond2")]
            np.testing.assert_allclose(score.raw.values[:, s], expected, atol=1e-12)
        else:
            p, q = ((a.values == a["truth"].values).mean() for a in (mine, own))
            assert score.raw.values[s] == pytest.approx(1 - abs(p - q) / max(q, 1 - q))


@pytest.mark.parametrize(("metric", "nothing"), [(ErrorConsistency, np.nan), (AccuracyDistance, None)])
def test_a_response_that_is_missing_is_a_trial_that_was_not_done(metric, nothing):
    source, people = trials()
    gone = np.arange(people.sizes["presentation"]) % 5 == 0
    gone[:36] = False  # the first subject has done all
    blank = people.copy(data=np.where(gone, nothing, people.values))
    np.testing.assert_array_equal(
        metric()(source, blank).raw.values, metric()(source, without(people, ~gone)).raw.values
    )


@pytest.mark.parametrize(
    ("metric", "plain"), [(KatoErrorConsistency, ErrorConsistency), (KatoAccuracyDistance, AccuracyDistance)]
)
def test_kato_drops_trials_without_an_answer_on_either_side(metric, plain):
    source, people = trials()
    blank_model, blank = np.arange(36) % 7 == 0, np.arange(144) % 5 == 0
    model = source.copy(data=np.where(blank_model, "NaN", source.values))
    humans = people.copy(data=np.where(blank, "", people.values))
    there = ~blank & ~np.tile(blank_model, 4)
    expected = plain()(without(source, ~blank_model), without(people, there))
    np.testing.assert_allclose(metric()(model, humans).raw.values, expected.raw.values, atol=1e-12)
    assert plain()(model, humans).value != pytest.approx(expected.value)  # there, no answer is a wrong one


def test_accuracy_distance_needs_the_truth_of_the_target_alone():
    source, people = trials()
    mistaken = source.assign_coords(truth=("presentation", np.full(36, "elk")))
    assert AccuracyDistance()(mistaken, people).value == AccuracyDistance()(source, people).value
    assert AccuracyDistance()(source.drop_vars("truth"), people).value == AccuracyDistance()(source, people).value


def told_otherwise(assembly, row, truth="yak"):
    truths = assembly["truth"].values.astype(object)
    truths[row] = truth
    return assembly.assign_coords(truth=("presentation", truths))


@pytest.mark.parametrize("metric", [ErrorConsistency, KatoAccuracyDistance])
def test_a_stimulus_has_one_truth(metric):
    """Where a model is judged by another truth than people are, no number says whether both are right."""
    source, people = trials()
    [row] = np.flatnonzero(source["stimulus_id"] == "im0004")
    with pytest.raises(ValueError, match=r"source and target give several truths for 1 stimulus_id \(im0004\)"):
        metric()(told_otherwise(source, row), people)
    with pytest.raises(ValueError, match=r"assembly gives several truths for 1 stimulus_id \(im0004\)"):
        metric().ceiling(told_otherwise(people, row))


def test_the_same_stimulus_may_be_another_trial_in_another_condition():
    source, people = trials()
    again = [
        side.assign_coords(stimulus_id=("presentation", [int(one[2:]) % 12 for one in side["stimulus_id"].values]))
        for side in (source, people)
    ]
    again = [told_otherwise(side, np.flatnonzero(side["condition"] == "cond1")) for side in again]
    source, people = (told_otherwise(side, np.flatnonzero(side["condition"] == "cond1")) for side in (source, people))
    assert ErrorConsistency()(*again).value == ErrorConsistency()(source, people).value


# -- errors


def test_accuracy_leaves_out_and_counts_what_has_no_response():
    score = Accuracy()(np.array(["a", None, "b", "c"], object), np.array(["a", "b", "x", np.nan], object))
    assert (score.value, score.n_units, score.n_undefined) == (0.5, 4, 2)
    assert math.isnan(Accuracy()([None], ["a"]).value)
    with pytest.raises(ValueError, match="give both as text"):
        Accuracy()(["0", "1"], [0, 1])


def test_messages_name_what_is_wrong():
    source, people = trials()
    metric = ErrorConsistency()
    with pytest.raises(ValueError, match=r"12 condition stimulus_id \(cond2 im0024, .*\) only in target. Select"):
        metric(source.sel(condition=["cond0", "cond1"]), people)
    with pytest.raises(ValueError, match=r"a ceiling needs at least two subjects; assembly has 1 subject \(sub1\)"):
        metric.ceiling(people.sel(subject="sub1"))
    with pytest.raises(ValueError, match=r"source shares no answer with target: it gives 1 answers \(n02084071\)"):
        metric(source.copy(data=np.full(source.shape, "n02084071")), people)
    with pytest.raises(ValueError, match=r"variables must be a sequence of coordinates, e.g. \('condition',\)"):
        AccuracyDistance()(source, people, "condition")


# -- the model-vs-human table


def test_the_table_has_the_four_means_of_every_experiment():
    experiments = {name: trials(seed) for seed, name in enumerate(["sketch", "edge"])}
    models, people = ({name: sides[i] for name, sides in experiments.items()} for i in (0, 1))
    table = model_vs_human(models, people)
    assert list(table.index) == ["sketch", "edge", "mean"]
    for name, (source, target) in experiments.items():
        row = table.loc[name]
        assert row["error_consistency"] == pytest.approx(ErrorConsistency()(source, target).value)
        assert row["ood_accuracy"] == pytest.approx(Accuracy()(source, source["truth"]).value)
        right = (target.values == target["truth"].values).reshape(4, 3, 12)
        own = (source.values == source["truth"].values).reshape(3, 12)
        assert row["observed_consistency"] == pytest.approx((right == own).mean())
        assert row["accuracy_difference"] == pytest.approx(((right.mean(-1) - own.mean(-1)) ** 2).mean())
    np.testing.assert_allclose(table.loc["mean"], table.iloc[:2].mean())


def test_the_table_names_the_experiment_that_cannot_be_compared():
    source, people = trials()
    with pytest.raises(ValueError, match=r"2 of them \(edge \(model only\), sketch \(people only\)\)"):
        model_vs_human({"edge": source}, {"sketch": people})
    with pytest.raises(ValueError, match="experiment edge: model and people hold different trials"):
        model_vs_human({"edge": source.sel(condition="cond0")}, {"edge": people})


def test_the_interval_of_a_ceiling_is_over_people_and_not_over_pairs():
    six, two = (ErrorConsistency().ceiling(trials(subjects=number)[1]) for number in (6, 2))
    known = six.sampling_uncertainty
    assert (known.dof, known.over) == (5, ("subjects",)) and "6 subjects of the mean over 15 pairs" in known.method
    # As Brain-Score's error, the spread of the pairs is what the score reports.
    assert six.error == pytest.approx(six.raw.values.std()) and two.sampling_uncertainty is None
