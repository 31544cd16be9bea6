"""Vernier thresholds: data in the shape of the published ones."""

from dataclasses import replace

import numpy as np
import pytest

from bsjax import PropertyAssembly, load_benchmark
from bsjax.benchmarks import benchmark_row
from bsjax.benchmarks.families.malania2007.benchmark import threshold
from bsjax.labelled.behaviour.thresholds import MeanThreshold, Threshold
from tests.support import served_data as served
from tests.support.observers import VernierObserver, observed

OFFSETS = np.linspace(15.0, 375.0, 13)
CONDITIONS = ["short4", "long2"]
BASELINE = [100.0, 120.0, 90.0, 140.0, 110.0, 130.0]
SUBJECTS = list("ABCDEF")


def verniers(flankers, prefix):
    """Left and right offsets of each size; the images are grey."""
    offset, labels = np.repeat(OFFSETS, 2), ["left", "right"] * len(OFFSETS)
    return served.stimuli_of(
        len(offset), prefix, vernier_offset_arcsec=offset, image_label=labels, num_flankers=[flankers] * len(offset)
    )


def thresholds(values):
    return PropertyAssembly(values, coords={"subject": ("subject", SUBJECTS)}, dims=["subject"])


@pytest.fixture
def data(serve):
    """The sets of two conditions, and thresholds of six people, one of whom has not done those with flankers."""
    ratios = np.random.default_rng(0).uniform(1.2, 2.5, (len(CONDITIONS), 6))
    serve("Malania2007.vernier_only", thresholds(BASELINE))
    serve("Malania2007.vernier_only", stimuli=verniers(0, "vernier"))
    for condition, ratio in zip(CONDITIONS, ratios, strict=True):
        serve(f"Malania2007.{condition}", thresholds([*(np.array(BASELINE) * ratio)[:5], np.nan]))
        serve(f"Malania2007.{condition}", stimuli=verniers(2, condition))
        serve(f"Malania2007.{condition}_fit", stimuli=verniers(2, f"{condition}fit"))
    return ratios[:, :5]


def fitted(answers):
    return Threshold("vernier_offset_arcsec", threshold_accuracy=0.75).compute_threshold(answers)


def nearness(model, people):
    return np.mean([max(1 - abs(t - model) / t, 0) for t in people])


def left_out(people):
    """Each of the people against the others."""
    return np.mean([nearness(t, np.delete(people, i)) for i, t in enumerate(people)])


@pytest.mark.slow
def test_elevation_as_by_hand(data):
    benchmark = load_benchmark("Malania2007.short4-threshold_elevation")
    observer = VernierObserver({0: 100.0, 2: 170.0})
    score = benchmark(observer)
    answers = observed(benchmark, VernierObserver({0: 100.0, 2: 170.0}))
    elevation = fitted(answers["short4"]) / fitted(answers["vernier_only"])
    assert score.unceiled.provenance["threshold"] == pytest.approx(elevation, rel=1e-3)
    people = data[CONDITIONS.index("short4")]
    assert score.unceiled.raw["subject"].values.tolist() == SUBJECTS[:5]
    assert float(score.unceiled) == pytest.approx(nearness(elevation, people), rel=1e-3)
    assert float(benchmark.ceiling) == pytest.approx(left_out(people))
    assert float(score) == pytest.approx(float(score.unceiled) / float(benchmark.ceiling))
    varied = {"number_of_trials": 2, "require_variance": True}
    assert observer.started == [("probabilities", "Malania2007_short-4_fit", varied)]
    assert observer.looked == [("Malania2007_vernier-only", 10, True), ("Malania2007_short-4", 10, True)]
    assert score.provenance["n_stimuli"] == 2 * 26


@pytest.mark.slow
def test_acuity_is_the_mean_over_the_conditions(data):
    row = benchmark_row("Malania2007.vernieracuity-threshold")
    assert len(row.settings["conditions"]) == 9
    benchmark = threshold(replace(row, settings={**row.settings, "conditions": CONDITIONS}))
    observer = VernierObserver({0: 100.0})
    score = benchmark(observer)
    answers = observed(benchmark, VernierObserver({0: 100.0}))
    people = BASELINE[:5]
    expected = [nearness(fitted(answers[name]), people) for name in CONDITIONS]
    np.testing.assert_allclose(score.unceiled.raw, expected, atol=2e-3)
    assert float(score.unceiled) == pytest.approx(np.mean(expected), abs=1e-3)
    assert float(benchmark.ceiling) == pytest.approx(left_out(people))
    assert [fitting for _, fitting, _ in observer.started] == ["Malania2007_short-4_fit", "Malania2007_long-2_fit"]
    assert [shown for shown, _, _ in observer.looked] == ["Malania2007_vernier-only"] * 2


def test_conditions_that_one_has_not_done():
    people = PropertyAssembly(
        [[2.0, 4.0, np.nan], [4.0, 8.0, 2.0]],
        coords={"condition": ["a", "b"], "subject": ["p", "q", "r"]},
        dims=["condition", "subject"],
    )
    ceiling = MeanThreshold(Threshold("offset")).ceiling(people)
    np.testing.assert_allclose(ceiling.raw, [left_out(np.array([2.0, 4.0])), left_out(np.array([4.0, 8.0, 2.0]))])
