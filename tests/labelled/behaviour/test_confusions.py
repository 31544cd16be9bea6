"""Confusions, accuracies of tasks, and drops in accuracy, on labelled trials."""

import numpy as np
import pytest
from scipy.stats import pearsonr
from sklearn.metrics import confusion_matrix

from bsjax import BehavioralAssembly
from bsjax.labelled.behaviour.condition_accuracies import BakerAccuracyDelta
from bsjax.labelled.behaviour.confusions import ConfusionSimilarity, TasksConsistency

LABELS = np.array(["bear", "car", "dog", "plane"])
TASKS = {
    "control": ("control", "control"),
    "occlusion_few_large_blobs_high": ("occluder", "fewlarge-high"),
    "occlusion_few_large_deletion_high": ("occluder", "fewlarge-high"),
    "occlusion_many_small_partial_viewing_low": ("occluder", "manysmall-low"),
    "clutter_heavy": ("clutter", "heavy"),
    "scrambling_lowpass": ("phasescrambling", "lowpass"),
    "scrambling": ("phasescrambling", "control"),
}


def model(seed=0, n=210):
    rng = np.random.default_rng(seed)
    kinds = list(dict.fromkeys(TASKS.values()))
    kind, label = np.arange(n) % len(kinds), rng.integers(0, 4, n)
    probabilities = rng.random((n, 4))
    probabilities[np.arange(n), label] += 0.1 * kind
    manipulation, details = np.array(kinds)[kind].T
    shown = {"image_label": LABELS[label], "manipulation": manipulation, "manipulation_details": details}
    coords = {name: ("presentation", each) for name, each in {"stimulus_id": np.arange(n), **shown}.items()}
    return BehavioralAssembly(probabilities, coords=coords | {"choice": LABELS}, dims=["presentation", "choice"])


def people(seed=1, n=1500, subjects=8):
    """Everybody confuses a label with the next one, and more so in later tasks."""
    rng = np.random.default_rng(seed)
    task, label = rng.integers(0, len(TASKS), n), rng.integers(0, 4, n)
    guess = np.where(rng.random(n) < 0.5, (label + 1) % 4, rng.integers(0, 4, n))
    choice = np.where(rng.random(n) < 0.9 - 0.1 * task, label, guess)
    predictions = LABELS[choice].astype(object)
    predictions[::50] = "na"
    asked = {"task": np.array(list(TASKS))[task], "subject_id": rng.integers(0, subjects, n)}
    coords = {"image_label": LABELS[label], "prediction": predictions, **asked}
    coords = {name: ("presentation", each) for name, each in coords.items()}
    return BehavioralAssembly((choice == label).astype(int), coords=coords, dims=["presentation"])


def chosen(assembly):
    return LABELS[assembly.values.argmax(axis=1)]


def errors(assembly, choice):
    confusions = confusion_matrix(assembly["image_label"].values.astype(str), choice.astype(str), labels=LABELS)
    return confusions[~np.eye(4, dtype=bool)]


def test_confusion_similarity_is_the_correlation_of_the_errors():
    source, humans = model(), people()
    mine, theirs = errors(source, chosen(source)), errors(humans, humans["prediction"].values)
    score = ConfusionSimilarity()(source, humans)
    assert score.value == pytest.approx(pearsonr(mine, theirs).statistic, abs=1e-12)
    assert (score.n_units, score.n_undefined) == (1500, 30)  # "na" is no label
    assert ConfusionSimilarity()(source.transpose("choice", "presentation"), humans).value == score.value
    assert ConfusionSimilarity()(source.isel(choice=[2, 0, 3, 1]), humans).value == pytest.approx(score.value)
    right = source.copy(data=(source["image_label"].values[:, None] == LABELS).astype(float))
    assert np.isnan(ConfusionSimilarity()(right, humans).value)


def test_tasks_consistency_is_the_correlation_of_the_accuracies():
    source, humans = model(), people()
    parts = [source.sel(manipulation=kind).sel(manipulation_details=details) for kind, details in TASKS.values()]
    mine = [(chosen(part) == part["image_label"].values).mean() for part in parts]
    right = humans["prediction"].values == humans["image_label"].values
    theirs = [right[humans["task"].values == task].mean() for task in TASKS]
    score = TasksConsistency()(source, humans)
    assert score.value == pytest.approx(pearsonr(mine, theirs).statistic, abs=1e-12)
    order = [list(score.raw["task"].values).index(task) for task in TASKS]
    np.testing.assert_allclose(score.raw.values[:, order], [mine, theirs])


@pytest.mark.parametrize("metric", [ConfusionSimilarity, TasksConsistency])
def test_ceilings_are_seeded_halves_of_the_subjects(metric):
    humans = people()
    ceiling = metric().ceiling(humans)
    shuffled = humans.isel(presentation=np.random.default_rng(0).permutation(1500))
    assert metric().ceiling(shuffled).value == pytest.approx(ceiling.value, abs=1e-12)
    assert metric().ceiling(humans, random_state=1).value != ceiling.value
    assert ceiling.raw.shape == (100,) and metric().ceiling(humans, splits=7).raw.shape == (7,)
    r = ceiling.raw.values.mean()
    assert ceiling.value == pytest.approx(2 * r / (1 + r)) and r < ceiling.value <= 1
    assert metric(dtype="float32").ceiling(humans).value == pytest.approx(ceiling.value, abs=1e-5)


def test_missing_predictions_are_left_out():
    source, humans = model(), people()
    blank = humans["prediction"].values.copy()
    blank[7::10] = np.nan
    there = humans.isel(presentation=np.flatnonzero(np.arange(1500) % 10 != 7))
    holes = humans.assign_coords(prediction=("presentation", blank))
    for metric in (ConfusionSimilarity(), TasksConsistency()):
        score = metric(source, holes)
        assert score.value == pytest.approx(metric(source, there).value, abs=1e-12)
        assert score.n_undefined >= 150
        assert metric.ceiling(holes).value == pytest.approx(metric.ceiling(there).value, abs=1e-12)


def test_messages_name_what_is_wrong():
    source, humans = model(), people()
    with pytest.raises(ValueError, match=r"1 label \(plane\) only in the truth of human_assembly"):
        ConfusionSimilarity()(source.isel(choice=[0, 1, 2]), humans)
    with pytest.raises(ValueError, match=r"1 task \(clutter_heavy -> clutter/heavy\)"):
        TasksConsistency()(source.isel(presentation=np.flatnonzero(source["manipulation"] != "clutter")), humans)
    with pytest.raises(ValueError, match="probabilities is NaN in 1 of 210 presentations"):
        holes = source.copy(deep=True)
        holes[3, 1] = np.nan
        ConfusionSimilarity()(holes, humans)


def test_a_stimulus_has_one_label():
    source, ids = model(), np.arange(210)
    right = source["image_label"].values
    wrong = np.where(ids == 7, np.where(right == "dog", "car", "dog"), right)
    shown = {"image_label": ("presentation", wrong), "stimulus_id": ("presentation", ids)}
    mistaken = people().isel(presentation=slice(0, 210)).assign_coords(shown)
    twice = mistaken.assign_coords(stimulus_id=("presentation", np.where(ids == 7, 8, ids)))
    for metric in (ConfusionSimilarity(), TasksConsistency()):
        with pytest.raises(ValueError, match=r"probabilities and human_assembly give several .* 1 stimulus_id \(7\)"):
            metric(source, mistaken)
        with pytest.raises(ValueError, match=r"assembly gives several truths for 1 stimulus_id \(8\)"):
            metric.ceiling(twice)


def test_names_of_other_behavioural_data():
    source, humans = model(), people()
    usual = {"image_label": "truth", "subject_id": "subject"}
    named = humans.copy(data=humans["prediction"].values).drop_vars("prediction").rename(usual)
    shown = source.rename({"image_label": "truth"})
    for metric in (ConfusionSimilarity(), TasksConsistency()):
        assert metric(shown, named).value == metric(source, humans).value
        assert metric.ceiling(named).value == metric.ceiling(humans).value
        copies = named["subject"].astype(str) + np.where(np.arange(1500) % 2, "", ", copy")
        twice = named.assign_coords(subject=copies, drawn_from_subject=("presentation", named["subject"].values))
        assert metric.ceiling(twice).value == metric.ceiling(named).value
        with pytest.raises(ValueError, match="prediction"):  # the values are whether answers are right
            metric.ceiling(humans.drop_vars("prediction"))


# -- drops in accuracy

ANIMALS = np.array(["cat", "dog", "elk"])


def animals(seed=0, n=90):
    rng = np.random.default_rng(seed)
    animal, kind = ANIMALS[np.arange(n) % 3], np.array(["w", "f", "o"])[np.arange(n) // 3 % 3]
    responses = np.where(rng.random(n) < np.where(kind == "w", 0.9, 0.6), animal, ANIMALS[rng.integers(0, 3, n)])
    shown = {"animal": ("presentation", animal), "image_type": ("presentation", kind)}
    return BehavioralAssembly(responses, coords=shown, dims=["presentation"])


def watchers(seed=1, subjects=11, n=60):
    rng = np.random.default_rng(seed)
    kind = np.tile(np.array(["w", "f", "o"])[np.arange(n) % 3], subjects)
    right = (rng.random(n * subjects) < np.where(kind == "w", 0.85, 0.6)).astype(float)
    names = np.repeat([f"p{i:02d}" for i in range(subjects)], n)
    coords = {"subject": ("presentation", names), "image_type": ("presentation", kind)}
    return BehavioralAssembly(right, coords=coords, dims=["presentation"])


def test_a_subject_without_an_image_type_is_left_out_of_every_half():
    source, target = animals(), watchers()
    kept = target.isel(presentation=np.flatnonzero(~((target["subject"] == "p04") & (target["image_type"] == "f"))))
    blank = target.copy(data=np.where((target["subject"] == "p04") & (target["image_type"] == "f"), np.nan, target))
    metric = BakerAccuracyDelta(["w", "f"])
    score = metric(source, kept)
    assert score.raw.shape == (100,) and (score.n_units, score.n_undefined) == (11, 1)
    assert score.error == pytest.approx(score.raw.values.std())
    np.testing.assert_array_equal(metric(source, blank).raw.values, score.raw.values)
    ceiling = metric.ceiling(kept)
    assert 0.5 < ceiling.value <= 1 and ceiling.value == pytest.approx(np.median(ceiling.raw))
    assert np.isnan(metric(source, target.copy(data=np.ones(660))).value)  # nobody loses anything


def test_an_animal_without_images_of_a_type_is_named():
    source, target = animals(), watchers()
    with pytest.raises(ValueError, match=r"no image of one of the image types \['w', 'f'\] for 1 animal \(dog\)"):
        gone = (source["animal"] == "dog") & (source["image_type"] == "f")
        BakerAccuracyDelta(["w", "f"])(source.isel(presentation=np.flatnonzero(~gone)), target)
