import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from bsjax.metrics import compiled
from bsjax.metrics.similarity.rdms.rdm_comparison import (
    COMPARISONS,
    compare_all_rdm_vectors,
    compare_rdm_vectors,
)

SINGLE = [name for name, comparison in COMPARISONS.items() if comparison.of_single_pairs]
M = 20
each_method = pytest.mark.parametrize("method", SINGLE)


def draw(rows=3, m=M, ties=False):
    rng = np.random.default_rng(0)
    a = rng.normal(size=(rows, m)) + 1.0
    b = a + rng.normal(size=(rows, m))
    return (np.round(a), np.round(b)) if ties else (a, b)


def tau_a(a, b):
    upper = np.triu_indices(len(a), 1)
    signs = [np.sign(v[:, None] - v[None, :])[upper] for v in (a, b)]
    return (signs[0] * signs[1]).sum() / len(upper[0])


def rho_a(a, b):
    ranks = [scipy.stats.rankdata(v) - (len(v) + 1) / 2 for v in (a, b)]
    return 12 * (ranks[0] @ ranks[1]) / (len(a) ** 3 - len(a))


BY_DEFINITION = {
    "corr": lambda a, b: np.corrcoef(a, b)[0, 1],
    "cosine": lambda a, b: a @ b / np.sqrt((a @ a) * (b @ b)),
    "spearman": lambda a, b: scipy.stats.spearmanr(a, b).statistic,
    "rho-a": rho_a,
    "tau-a": tau_a,
}


def compare(a, b, method, where=None):
    return np.asarray(compiled(masked, method=method)(jnp.asarray(a), jnp.asarray(b), where))


def masked(a, b, where, *, method):
    return compare_rdm_vectors(a, b, method=method, where=where)


@each_method
def test_a_mask_equals_a_subset(method):
    a, b = draw(ties=True)
    where = np.random.default_rng(1).random(a.shape) < 0.7
    got = compare(np.where(where, a, np.nan), np.where(where, b, 1e6), method, jnp.asarray(where))
    expected = [BY_DEFINITION[method](p[w], q[w]) for p, q, w in zip(a, b, where, strict=True)]
    np.testing.assert_allclose(got, expected, atol=1e-12)


@pytest.mark.slow
@each_method
def test_a_nan_that_counts_makes_its_row_undefined_and_no_other(method):
    a, b = draw()
    b[1, 4] = np.nan
    np.testing.assert_array_equal(np.isnan(compare(a, b, method)), [False, True, False])
    every = compiled(compare_all_rdm_vectors, method=method)(jnp.asarray(a), jnp.asarray(b))
    np.testing.assert_array_equal(np.isnan(every), np.array([[False, True, False]] * 3))


@each_method
@pytest.mark.parametrize("constant", [0.0, 0.1])
def test_a_constant_rdm(method, constant):
    a, b = draw()
    a[0] = constant
    got = compare(a, b, method)
    if method in ("rho-a", "tau-a"):  # nothing is ordered: 0 by definition
        assert abs(got[0]) < 1e-30
    elif method != "cosine" or constant == 0:
        assert np.isnan(got[0])
    assert np.isfinite(got[1:]).all()


@pytest.mark.parametrize("method", ["corr", "cosine"])
@pytest.mark.parametrize("scale", [1e-15, 1e15])
def test_small_and_large_dissimilarities_do_not_overflow_in_float32(method, scale):
    a, b = draw()
    got = compiled(compare_rdm_vectors, method=method)(
        jnp.asarray(scale * a, "float32"), jnp.asarray(scale * b, "float32")
    )
    np.testing.assert_allclose(got, compare(a, b, method), atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tau_a_of_many_pairs_is_exact_in_a_thread_without_float64(dtype):
    # 9000 pairs of dissimilarities have 4e7 pairs: more than float32 counts, and their number passes a host call.
    a, b = draw(rows=1, m=9000)
    expected = scipy.stats.kendalltau(a[0], b[0]).statistic
    got = compiled(compare_rdm_vectors, method="tau-a")(jnp.asarray(a, dtype), jnp.asarray(b, dtype))
    np.testing.assert_allclose(got[0], expected, atol=1e-12 if dtype == "float64" else 1e-6)
