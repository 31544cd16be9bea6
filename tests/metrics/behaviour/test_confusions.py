"""Patterns of choices: against scikit-learn, SciPy, pandas, and the definitions written plainly."""

from functools import partial

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from scipy.stats import pearsonr
from sklearn.metrics import confusion_matrix

from bsjax.metrics import compiled
from bsjax.metrics.behaviour.confusions import (
    confusion_counts,
    confusion_halves_correlation,
    confusion_similarity,
    correlation_of_tasks,
    delta_reliability,
    delta_similarity,
    grouped_mean,
    task_halves_correlation,
)

CHOICES, OBSERVERS, SPLITS = 4, 5, 6


def people(seed, n=200):
    rng = np.random.default_rng(seed)
    return rng.integers(0, CHOICES, n), rng.integers(0, CHOICES, n), rng.integers(0, OBSERVERS, n)


def halves():
    return np.random.default_rng(0).random((SPLITS, OBSERVERS)).argsort(axis=1) < OBSERVERS // 2


def errors(truth, choice):
    counts = confusion_matrix(truth, choice, labels=np.arange(CHOICES))
    return counts[~np.eye(CHOICES, dtype=bool)]


def test_confusions_are_scikit_learns():
    truth, choice, _ = people(0)
    got = compiled(confusion_counts, choices=CHOICES)(truth, choice, np.ones(200))
    np.testing.assert_array_equal(got, confusion_matrix(truth, choice))


def test_confusion_similarity_correlates_the_errors_alone():
    (truth, choice, _), (other_truth, other_choice, _) = people(1), people(2, 300)
    kernel = compiled(confusion_similarity, choices=CHOICES)
    got = kernel(truth, choice, np.ones(200), other_truth, other_choice, np.ones(300))
    expected = pearsonr(errors(truth, choice), errors(other_truth, other_choice)).statistic
    assert got == pytest.approx(expected, abs=1e-12)
    # Right answers do not enter.
    more = np.concatenate([truth, np.zeros(50, int)]), np.concatenate([choice, np.zeros(50, int)])
    assert kernel(*more, np.ones(250), other_truth, other_choice, np.ones(300)) == pytest.approx(expected, abs=1e-12)


def test_without_errors_confusion_similarity_is_nan():
    truth, choice, _ = people(1)
    kernel = compiled(confusion_similarity, choices=CHOICES)
    assert np.isnan(kernel(truth, truth, np.ones(200), truth, choice, np.ones(200)))


def test_halves_of_confusions_are_pooled_over_their_observers():
    truth, choice, observer = people(3)
    first = halves()
    got = compiled(confusion_halves_correlation, choices=CHOICES)(observer, truth, choice, np.ones(200), first)
    for r, half in zip(got, first, strict=True):
        mine = half[observer]
        expected = pearsonr(errors(truth[mine], choice[mine]), errors(truth[~mine], choice[~mine])).statistic
        assert r == pytest.approx(expected, abs=1e-12)


def test_means_of_groups():
    _, group, _ = people(4)
    values, present = np.random.default_rng(0).normal(size=200), np.arange(200) % 3 > 0
    got = compiled(grouped_mean, groups=CHOICES + 1)(values, group, present)
    expected = pd.Series(values[present]).groupby(group[present]).mean()
    np.testing.assert_allclose(got[:CHOICES], expected, atol=1e-12)
    assert np.isnan(got[CHOICES])


def test_tasks_correlate_accuracies_of_the_stimuli_that_stand_for_them():
    task, right = people(5)[0], np.random.default_rng(0).random(200).round()
    source_task, source_right = people(6)[0] % 3, np.random.default_rng(1).random(200).round()
    there, stands_for = np.ones(200, bool), np.array([2, 0, 1, 0])
    kernel = compiled(correlation_of_tasks, source_tasks=3)
    source = source_right, source_task, there
    r, accuracies = kernel(source, (right, task, there), stands_for)
    model = pd.Series(source_right).groupby(source_task).mean().to_numpy()[stands_for]
    human = pd.Series(right).groupby(task).mean().to_numpy()
    np.testing.assert_allclose(accuracies, [model, human], atol=1e-12)
    assert r == pytest.approx(pearsonr(model, human).statistic, abs=1e-12)
    assert np.isnan(kernel(source, (right, task, task != 1), stands_for)[0])


def test_halves_of_tasks_are_over_the_tasks_that_both_have_done():
    task, _, observer = people(7)
    right, first = np.random.default_rng(0).random(200).round(), halves()
    present = ~((task == 1) & first[0][observer])  # nobody of the first half of the first split has done task 1
    got = compiled(task_halves_correlation, tasks=CHOICES)(observer, right, task, present, first)
    for i, (r, half) in enumerate(zip(got, first, strict=True)):
        tables = [
            pd.Series(right[present & side]).groupby(task[present & side]).mean()
            for side in (half[observer], ~half[observer])
        ]
        both = pd.concat(tables, axis=1).dropna()
        assert len(both) == (CHOICES - 1 if i == 0 else CHOICES)
        assert r == pytest.approx(pearsonr(both[0], both[1]).statistic, abs=1e-12)


def test_drops_are_compared_in_units_of_the_size_of_the_reference():
    drops, each, everyone = jnp.array([0.2, -0.2, 0.5]), jnp.eye(3, dtype=bool), jnp.ones(3, bool)
    for drop, expected in ((0.1, [0.5, 0.0, 0.2]), (0.3, [0.5, 0.0, 0.6]), (-0.1, [0.0, 0.5, 0.0])):
        np.testing.assert_allclose(compiled(delta_similarity)(jnp.array(drop), drops, everyone, each), expected)


def test_drops_are_compared_with_the_mean_of_each_half():
    rng = np.random.default_rng(0)
    drops, first = rng.uniform(0.1, 0.4, OBSERVERS), halves()
    there = np.arange(OBSERVERS) != 1
    known = np.where(there, drops, np.nan)
    got = compiled(delta_similarity)(jnp.array(0.2), known, there, first)
    means = np.array([[drops[half & there].mean(), drops[~half & there].mean()] for half in first])
    near = partial(np.maximum, 0)
    np.testing.assert_allclose(got, near(1 - np.abs(means[:, 0] - 0.2) / means[:, 0]))
    c = near(1 - np.abs(means[:, 0] - means[:, 1]) / means[:, 1])
    np.testing.assert_allclose(compiled(delta_reliability)(known, there, first), 2 * c / (1 + c))


def test_halves_without_a_drop_are_far_from_others_and_not_left_out():
    """Left out, the mean over the other halves would be too high."""
    drops, there = jnp.array([0.0, 0.2, 0.0, 0.4]), jnp.ones(4, bool)
    first = jnp.array([[True, False, True, False], [True, True, False, False]])
    np.testing.assert_allclose(compiled(delta_similarity)(jnp.array(0.1), drops, there, first), [0.0, 1.0])
    np.testing.assert_allclose(compiled(delta_reliability)(drops, there, ~first), [0.0, 0.0])
    nobody = compiled(delta_similarity)(jnp.array(0.1), 0.0 * drops, there, first)
    assert np.isnan(nobody).all()
