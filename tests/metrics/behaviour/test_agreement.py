"""Agreement of choices trial by trial: against scikit-learn and the definitions written plainly."""

from itertools import product

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from bsjax.metrics import compiled
from bsjax.metrics.behaviour.agreement import accuracy, accuracy_distance, agreement, error_consistency, value_delta

CONDITIONS, SOURCES, TARGETS, TRIALS = 3, 2, 4, 30


def answers(seed=0, trials=TRIALS):
    rng = np.random.default_rng(seed)
    right = [(rng.random((CONDITIONS, n, trials)) < 0.6).astype(float) for n in (SOURCES, TARGETS)]
    present = [rng.random(side.shape) < 0.8 for side in right]
    return *right, *present


def each_pair(source, target, source_present, target_present):
    for c, s, t in product(range(CONDITIONS), range(SOURCES), range(TARGETS)):
        both = source_present[c, s] & target_present[c, t]
        yield (c, s, t), source[c, s][both], target[c, t][both]


def test_error_consistency_is_cohens_kappa_of_being_right():
    arrays = answers()
    got = compiled(error_consistency)(*arrays)
    assert got.shape == (CONDITIONS, SOURCES, TARGETS)
    for where, a, b in each_pair(*arrays):
        assert got[where] == pytest.approx(cohen_kappa_score(a, b), abs=1e-12)


def test_everything_else_by_its_definition():
    arrays = answers(1)
    got = compiled(agreement)(*arrays)
    for where, a, b in each_pair(*arrays):
        p, q = a.mean(), b.mean()
        expected = {
            "source_accuracy": p,
            "target_accuracy": q,
            "observed_consistency": (a == b).mean(),
            "accuracy_distance": 1 - abs(p - q) / max(q, 1 - q),
            "squared_difference": (p - q) ** 2,
        }
        for name, value in expected.items():
            assert getattr(got, name)[where] == pytest.approx(value, abs=1e-12), name


@pytest.mark.parametrize("level", [0.0, 1.0])
def test_kappa_of_two_who_are_always_right_or_always_wrong_is_nan_and_of_nobody_else(level):
    source, target, source_present, target_present = answers()
    source[1, 0], target[1, 2] = level, level
    kappa = np.array(compiled(error_consistency)(source, target, source_present, target_present))
    assert np.argwhere(np.isnan(kappa)).tolist() == [[1, 0, 2]]
    assert kappa[1, 0, 0] == pytest.approx(0)  # against a subject who errs: no agreement beyond chance


def test_a_third_of_the_trials_is_always_right_also_in_float32():
    """Sums of zeros and ones are exact: 1/3 + 1/3 + 1/3 is not."""
    ones, there = jnp.ones((1, 1, 3), jnp.float32), jnp.ones((1, 1, 3), bool)
    assert np.isnan(compiled(error_consistency)(ones, ones, there, there)).all()


def test_without_a_common_trial_nothing_is_defined():
    source, target, source_present, target_present = answers()
    target_present[0, 1] = ~source_present[0, 0]
    for values in compiled(agreement)(source, target, source_present, target_present):
        assert np.isnan(values[0, 0, 1])
        assert np.isfinite(np.delete(np.asarray(values)[:, 0], 1, axis=1)).all()


def test_what_is_not_present_may_hold_anything():
    source, target, source_present, target_present = answers()
    expected = compiled(agreement)(source, target, source_present, target_present)
    source, target = np.where(source_present, source, np.nan), np.where(target_present, target, 7.0)
    for got, value in zip(compiled(agreement)(source, target, source_present, target_present), expected, strict=True):
        np.testing.assert_array_equal(got, value)


@given(seed=st.integers(0, 1000))
def test_both_sides_may_be_exchanged(seed):
    source, target, source_present, target_present = answers(seed)
    there = compiled(agreement)(source, target, source_present, target_present)
    back = compiled(agreement)(target, source, target_present, source_present)
    for name in ("observed_consistency", "error_consistency", "squared_difference"):
        np.testing.assert_allclose(getattr(there, name), np.swapaxes(getattr(back, name), 1, 2), atol=1e-12)


@given(seed=st.integers(0, 1000))
def test_kappa_lies_between_minus_one_and_one_and_below_what_is_observed(seed):
    got = compiled(agreement)(*answers(seed))
    assert (np.abs(got.error_consistency) <= 1 + 1e-12).all()
    assert (got.error_consistency <= got.observed_consistency + 1e-12).all()


def test_independent_observers_have_no_consistency_beyond_chance():
    rng = np.random.default_rng(0)
    source, target = ((rng.random((1, 1, 100_000)) < p).astype(float) for p in (0.7, 0.4))
    there = np.ones(source.shape, bool)
    assert abs(compiled(error_consistency)(source, target, there, there).item()) < 0.01


def test_accuracy_distance_is_of_the_targets_scale():
    source, target = np.zeros((1, 4)), np.array([[1.0, 1.0, 1.0, 0.0]])
    there = np.ones((1, 4), bool)
    assert compiled(accuracy_distance)(source, target, there, there).item() == 0.0
    assert compiled(accuracy_distance)(target, source, there, there).item() == pytest.approx(0.25)


def test_accuracy_is_the_mean_of_what_counts():
    right, _, present, _ = answers(3)
    present[0, 1] = False
    got = np.asarray(compiled(accuracy)(right, present))
    assert np.isnan(got[0, 1])
    expected = np.where(present, right, np.nan)
    np.testing.assert_allclose(got[1:], np.nanmean(expected[1:], axis=-1))


@pytest.mark.parametrize(
    ("a", "b", "expected"), [(1.25, 1.25, 1.0), (1.5, 1.0, 0.6065), (1.0, -1.0, 0.1353), (-5.0, 5.0, 0.0)]
)
def test_value_delta(a, b, expected):
    assert compiled(value_delta)(jnp.array(a), jnp.array(b)) == pytest.approx(expected, abs=5e-4)
    assert compiled(value_delta)(jnp.array(b), jnp.array(a)) == pytest.approx(expected, abs=5e-4)
    assert np.isnan(compiled(value_delta)(jnp.array(a), jnp.array(jnp.nan)))
