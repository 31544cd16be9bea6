import inspect

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bsjax.metrics import cka_between_subjects, compiled, mean_over_pairs

S, N, P = 4, 12, 5


def responses(seed=0, s=S):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(N, P)) + rng.normal(size=(s, N, P)) * np.arange(1, s + 1)[:, None, None]


def jackknife(similarity):
    """Leaves out subjects by deleting their row and column."""
    mean, *without = (
        values[~np.eye(len(values), dtype=bool)]
        for values in (
            similarity,
            *(np.delete(np.delete(similarity, i, 0), i, 1) for i in range(len(similarity))),
        )
    )
    left, s = np.array([np.nanmean(each) for each in without]), len(similarity)
    return (
        np.nanmean(mean),
        s * np.nanmean(mean) - (s - 1) * left,
        np.sqrt((s - 1) / s * ((left - left.mean()) ** 2).sum()),
    )


@settings(max_examples=10)
@given(st.integers(0, 10_000), st.booleans())
def test_the_jackknife_leaves_out_each_subject_with_all_pairs(seed, symmetric):
    values = np.random.default_rng(seed).random((6, 6))
    values = values + values.T if symmetric else values
    found, (mean, pseudo, error) = compiled(mean_over_pairs)(jnp.asarray(values)), jackknife(values)
    np.testing.assert_allclose(found.mean, mean, atol=1e-12)
    np.testing.assert_allclose(found.pseudo_values, pseudo, atol=1e-12)
    np.testing.assert_allclose(found.pseudo_values.mean(), mean, atol=1e-12)
    np.testing.assert_allclose(found.standard_error, error, atol=1e-12)


def test_pairs_without_a_value_and_subjects_without_a_pair():
    values = np.random.default_rng(0).random((5, 5))
    values[0, 3] = np.nan
    found, (mean, _, error) = compiled(mean_over_pairs)(jnp.asarray(values)), jackknife(values)
    np.testing.assert_allclose(found.mean, mean, atol=1e-12)
    more = np.full((6, 6), np.nan)
    more[:5, :5] = values
    again = compiled(mean_over_pairs)(jnp.asarray(more))
    np.testing.assert_allclose(again.mean, mean, atol=1e-12)
    np.testing.assert_allclose(again.standard_error, found.standard_error, atol=1e-12)
    assert np.isnan(again.pseudo_values[5]) and np.isfinite(error)


@pytest.mark.parametrize("subjects", [1, 2])
def test_too_few_subjects_for_an_error(subjects):
    found = compiled(mean_over_pairs)(jnp.full((subjects, subjects), 0.5))
    assert np.isnan(found.standard_error)
    assert np.isnan(found.mean) if subjects == 1 else float(found.mean) == 0.5


def test_cka_of_large_responses_in_float32():
    values = 1e12 * responses()
    for how in ("pairwise", "leave_one_out"):
        kernel = compiled(cka_between_subjects, how=how)
        np.testing.assert_allclose(kernel(jnp.asarray(values, "float32")), kernel(jnp.asarray(values)), atol=1e-4)


def test_too_few_stimuli_and_another_how():
    assert np.isnan(compiled(cka_between_subjects, how="leave_one_out")(jnp.asarray(responses()[:, :3]))).all()
    with pytest.raises(ValueError, match="how must be pairwise or leave_one_out, got 'all'"):
        inspect.unwrap(cka_between_subjects)(jnp.asarray(responses()), how="all")
