import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from bsjax.metrics import cka, cka_between_subjects, compiled, mean_over_pairs, rdms_between_subjects
from bsjax.metrics.similarity.rdms.rdm_comparison import COMPARISONS, compare_rdm_vectors

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


def test_gradients_of_the_error_are_finite():
    gradient = jax.jit(jax.grad(lambda x: mean_over_pairs(x).standard_error))
    for values in (np.ones((4, 4)), np.random.default_rng(0).random((4, 4))):
        assert jnp.isfinite(gradient(jnp.asarray(values))).all()


@pytest.mark.parametrize("method", [name for name, known in COMPARISONS.items() if known.of_single_pairs])
def test_rdms_pair_by_pair(method):
    rdms = np.random.default_rng(0).random((3, 15))
    found = np.asarray(compiled(rdms_between_subjects, method=method)(jnp.asarray(rdms)))
    assert np.isnan(np.diagonal(found)).all()
    one = compiled(compare_rdm_vectors, method=method)(jnp.asarray(rdms[0]), jnp.asarray(rdms[2]))
    assert found[0, 2] == found[2, 0] == pytest.approx(float(one), abs=1e-12)
    if method == "spearman":
        assert found[0, 1] == pytest.approx(scipy.stats.spearmanr(rdms[0], rdms[1]).statistic)


@pytest.mark.slow
@pytest.mark.parametrize("unbiased", [True, False])
def test_cka_is_that_of_each_pair_and_of_the_others_side_by_side(unbiased):
    values = responses()
    units = np.ones((S, P), bool)
    units[2, 3:] = False
    own = [jnp.asarray(x[:, u]) for x, u in zip(values, units, strict=True)]
    padded = values.copy()
    padded[2, :, 3:] = 1e3
    arrays = jnp.asarray(padded), jnp.asarray(units)
    pairs = np.asarray(compiled(cka_between_subjects, unbiased=unbiased)(*arrays))
    left_out = np.asarray(compiled(cka_between_subjects, how="leave_one_out", unbiased=unbiased)(*arrays))
    for i in range(S):
        others = jnp.concatenate([x for j, x in enumerate(own) if j != i], axis=1)
        assert left_out[i] == pytest.approx(float(compiled(cka, unbiased=unbiased)(own[i], others)), abs=1e-12)
        assert np.isnan(pairs[i, i])
    assert (
        pairs[1, 2] == pairs[2, 1] == pytest.approx(float(compiled(cka, unbiased=unbiased)(own[1], own[2])), abs=1e-12)
    )


def test_cka_of_large_responses_in_float32():
    values = 1e12 * responses()
    for how in ("pairwise", "leave_one_out"):
        kernel = compiled(cka_between_subjects, how=how)
        np.testing.assert_allclose(kernel(jnp.asarray(values, "float32")), kernel(jnp.asarray(values)), atol=1e-4)


def test_too_few_stimuli_and_another_how():
    assert np.isnan(compiled(cka_between_subjects, how="leave_one_out")(jnp.asarray(responses()[:, :3]))).all()
    with pytest.raises(ValueError, match="how must be pairwise or leave_one_out, got 'all'"):
        inspect.unwrap(cka_between_subjects)(jnp.asarray(responses()), how="all")
