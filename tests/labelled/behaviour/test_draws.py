"""Metrics of behaviour in all draws at once: as if they were called again for each."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from bsjax import BehavioralAssembly, Resampling
from bsjax.engine.precision import precision
from bsjax.labelled.aggregate import nan_mean
from bsjax.labelled.behaviour.accuracy import Accuracy, ShapeBias
from bsjax.labelled.behaviour.agreement import AccuracyDistance, ErrorConsistency, KatoAccuracyDistance
from bsjax.labelled.behaviour.choice_signatures import I1, O2
from bsjax.labelled.metric import CalledWith, as_metric, scored
from bsjax.labelled.resampling.draws import in_draws
from bsjax.metrics import choice_consistency, choice_reliability, compiled
from tests.support.repeated_trials import repeated

STIMULI, SUBJECTS = 12, ["anna", "ben", "carl", "dora"]
OBJECTS, IMAGES, TRIALS = 3, 9, 120


def trials(observers, seed=0, **coords):
    rng = np.random.default_rng(seed)
    truth = np.tile(["cat", "dog", "elk", "dog"], STIMULI // 4 * observers)
    other = np.array(["cat", "dog", "elk", "", None], object)[rng.integers(0, 5, len(truth))]
    return BehavioralAssembly(
        np.where(rng.random(len(truth)) < 0.5, truth, other),
        coords={
            "stimulus_id": ("presentation", np.tile([f"image{i}" for i in range(STIMULI)], observers)),
            "truth": ("presentation", truth),
            "texture": ("presentation", np.roll(truth, 1)),
            "condition": ("presentation", np.tile(np.repeat(["clear", "noisy"], STIMULI // 2), observers)),
            **coords,
        },
        dims=["presentation"],
    )


@pytest.fixture(scope="module")
def sides():
    """A model and people, one of whom has not done a trial."""
    people = trials(len(SUBJECTS), 1, subject=("presentation", np.repeat(SUBJECTS, STIMULI)))
    order = np.random.default_rng(2).permutation(len(people))
    return trials(1), people.isel(presentation=order[order != 5])


def of_truth(people):
    return people, people.copy(data=people["truth"].values.astype(object))


def at_once(metric, *assemblies, plan):
    with in_draws(plan):
        return scored(metric, *assemblies).uncertainty


def assert_same(metric, *assemblies, plan):
    got, expected = (at_once(each, *assemblies, plan=plan) for each in (metric, lambda *given: metric(*given)))
    assert got.draws.dims == expected.draws.dims and got.plan == expected.plan
    np.testing.assert_allclose(got.draws, expected.draws, rtol=1e-9, atol=1e-9)
    assert np.isfinite(expected.draws).mean() > 0.8 and np.ptp(expected.draws.values[np.isfinite(expected.draws)]) > 0
    np.testing.assert_allclose(got.standard_error, expected.standard_error, rtol=1e-9)


@pytest.mark.parametrize("metric", [Accuracy, ShapeBias])
def test_one_model_is_drawn_by_the_stimuli_of_the_truth(sides, metric):
    model = sides[0]
    source = model.isel(presentation=np.random.default_rng(0).permutation(STIMULI))
    assert_same(metric(), source, of_truth(model)[1], plan=Resampling("stimuli", draws=10))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metric", "over"),
    [
        (Accuracy(), ("stimuli", "subjects")),
        (ErrorConsistency(), ("stimuli", "subjects")),
        (KatoAccuracyDistance(), "stimuli"),
        (partial(AccuracyDistance(), variables=("condition",)), "subjects"),
    ],
    ids=["accuracy", "kappa", "Kato's distance", "distance by condition"],
)
def test_draws_are_those_of_calls(sides, metric, over):
    if isinstance(metric, partial):
        assert isinstance(as_metric(metric), CalledWith)  # which has the draws of its metric
    given = of_truth(sides[1]) if isinstance(metric, Accuracy) else sides
    assert_same(metric, *given, plan=Resampling(over, draws=10))


def test_a_model_with_a_name_of_its_own_is_none_of_the_subjects(sides):
    model, people = sides
    named = model.assign_coords(subject=("presentation", ["model"] * STIMULI))
    plan = Resampling("subjects", draws=10)
    assert_same(ErrorConsistency(), named, people, plan=plan)
    expected = at_once(ErrorConsistency(), model, people, plan=plan)
    np.testing.assert_array_equal(at_once(ErrorConsistency(), named, people, plan=plan).draws, expected.draws)


def test_a_ceiling_over_subjects_pairs_no_copies_of_one(sides):
    people, plan = sides[1], Resampling(("stimuli", "subjects"), draws=10)
    ceiling = ErrorConsistency().ceiling
    draws = at_once(ceiling, people, plan=plan).draws
    drawn = plan.sample([people])
    held = pd.DataFrame(drawn.counts["subjects"], columns=drawn.ids["subjects"])

    def weighted(score, counts):
        raw = score.raw.mean("condition")
        weights = counts[raw["subject_left"].values].values * counts[raw["subject_right"].values].values
        weights = np.where(np.isfinite(raw), weights, 0)
        return np.average(np.nan_to_num(raw.values), weights=weights) if weights.any() else np.nan

    whole = ceiling(people)
    expected = [weighted(whole, counts) for _, counts in held.iterrows()]
    np.testing.assert_allclose(draws.sel(factor="subjects"), expected, atol=1e-9)
    for draw in range(3):
        times = drawn.counts["stimuli"][draw][drawn.codes("stimuli", people["stimulus_id"].values)]
        rows = np.repeat(np.arange(len(times)), times)
        copy = np.arange(len(rows)) - np.repeat(np.cumsum(times) - times, times)
        copied = people.isel(presentation=rows)
        names = [f"{name} {n}" for name, n in zip(copied["stimulus_id"].values, copy, strict=True)]
        score = ceiling(copied.assign_coords(stimulus_id=("presentation", names)))
        np.testing.assert_allclose(draws.sel(factor="stimuli")[draw], float(score), atol=1e-9)
        np.testing.assert_allclose(draws.sel(factor="both")[draw], weighted(score, held.iloc[draw]), atol=1e-9)


@pytest.fixture(scope="module")
def choices():
    rng = np.random.default_rng(0)
    names, ids = np.array(["dog", "cat", "elk"]), np.array([f"image{i}" for i in range(IMAGES)])
    stimulus = rng.integers(0, IMAGES, TRIALS)
    sample = stimulus % OBJECTS
    distractor = (sample + rng.integers(1, OBJECTS, TRIALS)) % OBJECTS
    chosen = names[np.where(rng.random(TRIALS) < 0.6 + 0.3 * np.sin(stimulus), sample, distractor)].astype(object)
    chosen[:4] = None
    shown = {"stimulus_id": ids[stimulus], "truth": names[sample], "sample_obj": names[sample]}
    shown |= {"dist_obj": names[distractor], "subject": rng.integers(0, 5, TRIALS)}
    coords = {name: ("presentation", labels) for name, labels in shown.items()}
    order = rng.permutation(IMAGES)
    probabilities = rng.dirichlet(np.ones(OBJECTS), IMAGES) + np.eye(OBJECTS)[order % OBJECTS]
    of_model = {"stimulus_id": ("presentation", ids[order]), "choice": ("choice", names)}
    return (
        BehavioralAssembly(probabilities, coords=of_model, dims=["presentation", "choice"]),
        BehavioralAssembly(chosen, coords=coords, dims=["presentation"]),
    )


def coded(target, images, objects):
    """The truth of the images, the trials as codes, and the halves that a score draws."""
    stimulus = pd.Index(images).get_indexer(target["stimulus_id"].values)
    truth = np.zeros(len(images), int)
    truth[stimulus] = pd.Index(objects).get_indexer(target["truth"].values)
    chosen = np.maximum(pd.Index(objects).get_indexer(target.values), 0)
    offers = [pd.Index(objects).get_indexer(target[name].values) for name in ("sample_obj", "dist_obj")]
    rng, first = np.random.RandomState(0), np.zeros((2, len(target)), bool)
    for half in first:
        order = np.arange(len(target))
        rng.shuffle(order)
        half[order[: len(target) // 2]] = True
    there = pd.notna(target.values)
    return truth, [stimulus, chosen, *offers], np.stack([first & there, ~first & there])


@pytest.mark.slow
@pytest.mark.parametrize("signature", [I1, O2])
def test_draws_of_a_signature_are_those_of_repeated_images_and_trials_in_the_same_halves(choices, signature):
    source, target = choices
    metric, plan = signature(), Resampling(("stimuli", "subjects"), draws=6)
    got = at_once(metric, source, target, plan=plan).draws
    limits = at_once(partial(metric.ceiling, skipna=True), target, plan=plan).draws
    drawn = plan.sample([target])
    images, objects = np.sort(source["stimulus_id"].values), np.sort(source["choice"].values)
    truth, codes, halves = coded(target, images, objects)
    order = pd.Index(source["stimulus_id"].values).get_indexer(images)
    model = source.values[order][:, pd.Index(source["choice"].values).get_indexer(objects)]
    kernel = compiled(choice_consistency, kind=metric.signature)
    of_halves = compiled(choice_reliability, kind=metric.signature, n_objects=OBJECTS)
    for pass_, together in plan.passes.items():
        for draw in range(plan.draws):
            of_images, of_trials = np.ones(IMAGES, int), np.ones(TRIALS, int)
            if "stimuli" in together:
                of_images = drawn.counts["stimuli"][draw][drawn.codes("stimuli", images)]
            if "subjects" in together:
                of_trials = drawn.counts["subjects"][draw][drawn.codes("subjects", target["subject"].values)]
            p, *copied = repeated(truth, codes, halves, of_images, of_trials, model, (IMAGES, 5 * TRIALS))
            with precision("float64"):
                r = kernel(p, copied[0], *copied[1], copied[2][0]).r
                limit = of_halves(copied[0], *copied[1], *copied[2]).r
            for found, expected in ((got, r), (limits, limit)):
                one = found.sel(factor=pass_)[draw]
                np.testing.assert_allclose(one, nan_mean(np.asarray(expected)), atol=1e-9)


@pytest.mark.slow
def test_a_draw_whose_first_half_lacks_what_the_second_defines_is_undefined_unless_that_is_left_out(choices):
    target = choices[1].isel(presentation=slice(80))
    ceiling, plan = O2().ceiling, Resampling("subjects", draws=12)
    with pytest.warns(UserWarning, match="5 of 12 draws have no value"):
        strict = at_once(ceiling, target, plan=plan).draws
    lenient = at_once(partial(ceiling, skipna=True), target, plan=plan).draws
    kept = np.isfinite(strict.values)
    assert 0 < kept.sum() < 12 and np.isfinite(lenient).all()
    np.testing.assert_array_equal(strict[kept], lenient[kept])
