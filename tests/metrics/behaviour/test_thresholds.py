import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bsjax.metrics import compiled
from bsjax.metrics.behaviour.thresholds import leave_one_out_similarity, relative_similarity, threshold_elevation

THRESHOLDS = arrays(float, 5, elements=st.floats(0.1, 100.0))


@given(source=st.floats(0.1, 200.0), targets=THRESHOLDS)
def test_equals_the_definition(source, targets):
    got = compiled(relative_similarity)(jnp.full(5, source), jnp.asarray(targets))
    np.testing.assert_allclose(got, [max(1 - abs(t - source) / t, 0) for t in targets], atol=1e-12)


@given(targets=THRESHOLDS)
def test_leaving_out_each_subject_equals_a_loop(targets):
    got = compiled(leave_one_out_similarity)(jnp.asarray(targets), jnp.arange(5))
    others = [np.delete(targets, i) for i in range(5)]
    expected = [np.maximum(1 - np.abs(t - s) / t, 0).mean() for s, t in zip(targets, others, strict=True)]
    np.testing.assert_allclose(got, expected, atol=1e-12)


@pytest.mark.slow
def test_a_subject_without_a_threshold_is_left_out_of_all_means():
    with_nan = leave_one_out_similarity(jnp.array([10.0, jnp.nan, 20.0, 40.0]), jnp.arange(4))
    without = leave_one_out_similarity(jnp.array([10.0, 20.0, 40.0]), jnp.arange(3))
    np.testing.assert_allclose(with_nan, [without[0], np.nan, *without[1:]])
    assert jnp.isnan(leave_one_out_similarity(jnp.array([10.0, jnp.nan]), jnp.arange(2))).all()


@pytest.mark.parametrize("target", [0.0, -2.0, np.nan])
def test_without_a_positive_threshold_it_is_undefined_with_a_finite_gradient(target):
    value, slope = jax.value_and_grad(lambda s: relative_similarity(s, jnp.asarray(target)))(jnp.asarray(2.0))
    assert jnp.isnan(value) and slope == 0


def test_an_elevation_over_nothing_is_undefined():
    assert jnp.isnan(threshold_elevation(jnp.asarray(2.0), jnp.asarray(0.0)))
    assert jnp.isnan(threshold_elevation(jnp.asarray(jnp.nan), jnp.asarray(2.0)))
    assert all(jnp.isfinite(g) for g in jax.grad(threshold_elevation, (0, 1))(jnp.asarray(2.0), jnp.asarray(0.0)))
