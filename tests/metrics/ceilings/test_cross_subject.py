import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from bsjax.metrics import cka, cka_between_subjects, compiled, mean_over_pairs, rdms_between_subjects
from bsjax.metrics.similarity.rdms.rdm_comparison import compare_rdm_vectors

S, N, P = 4, 12, 5


def responses():
    rng = np.random.default_rng(0)
    return rng.normal(size=(N, P)) + rng.normal(size=(S, N, P)) * np.arange(1, S + 1)[:, None, None]


def jackknife(similarity):
    """Leaves out subjects by deleting their row and column."""
    s = len(similarity)
    without = [np.delete(np.delete(similarity, i, 0), i, 1) for i in range(s)]
    mean, *left = (np.nanmean(values[~np.eye(len(values), dtype=bool)]) for values in (similarity, *without))
    return mean, s * mean - (s - 1) * np.array(left), np.sqrt((s - 1) * np.var(left))


@pytest.mark.parametrize("missing", [False, True], ids=["all pairs", "a pair without a value"])
def test_the_jackknife_leaves_out_each_subject_with_all_pairs(missing):
    values = np.random.default_rng(0).random((6, 6))
    values[0, 3] = np.nan if missing else 0.5
    found, (mean, pseudo, error) = compiled(mean_over_pairs)(jnp.asarray(values)), jackknife(values)
    np.testing.assert_allclose(found.mean, mean, atol=1e-12)
    if not missing:
        np.testing.assert_allclose(found.pseudo_values, pseudo, atol=1e-12)
        np.testing.assert_allclose(found.standard_error, error, atol=1e-12)
    again = compiled(mean_over_pairs)(jnp.asarray(np.pad(values, (0, 1), constant_values=np.nan)))
    np.testing.assert_allclose(again.mean, mean, atol=1e-12)
    np.testing.assert_allclose(again.standard_error, found.standard_error, atol=1e-12)
    assert np.isnan(again.pseudo_values[6]) and np.isfinite(error)


def test_gradients_of_the_error_are_finite():
    gradient = jax.jit(jax.grad(lambda x: mean_over_pairs(x).standard_error))
    for values in (np.ones((4, 4)), np.random.default_rng(0).random((4, 4))):
        assert jnp.isfinite(gradient(jnp.asarray(values))).all()


@pytest.mark.parametrize("method", ["spearman", "tau-a"])
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
    one = compiled(cka, unbiased=unbiased)
    own = [jnp.asarray(x[:, u]) for x, u in zip(values, units, strict=True)]
    padded = values.copy()
    padded[2, :, 3:] = 1e3
    arrays = jnp.asarray(padded), jnp.asarray(units)
    pairs = np.asarray(compiled(cka_between_subjects, unbiased=unbiased)(*arrays))
    left_out = np.asarray(compiled(cka_between_subjects, how="leave_one_out", unbiased=unbiased)(*arrays))
    for i in range(S):
        others = jnp.concatenate([x for j, x in enumerate(own) if j != i], axis=1)
        assert left_out[i] == pytest.approx(float(one(own[i], others)), abs=1e-12)
        assert np.isnan(pairs[i, i])
    assert pairs[1, 2] == pairs[2, 1] == pytest.approx(float(one(own[1], own[2])), abs=1e-12)


def test_cka_of_large_responses_in_float32():
    values = 1e12 * responses()
    for how in ("pairwise", "leave_one_out"):
        kernel = compiled(cka_between_subjects, how=how)
        np.testing.assert_allclose(kernel(jnp.asarray(values, "float32")), kernel(jnp.asarray(values)), atol=1e-4)


def test_too_few_stimuli_and_another_how():
    assert np.isnan(compiled(cka_between_subjects, how="leave_one_out")(jnp.asarray(responses()[:, :3]))).all()
    with pytest.raises(ValueError, match="how must be pairwise or leave_one_out, got 'all'"):
        inspect.unwrap(cka_between_subjects)(jnp.asarray(responses()), how="all")
