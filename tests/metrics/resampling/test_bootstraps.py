from itertools import permutations, product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from bsjax.metrics import cka, cka_biased, compiled, rdm_similarity
from bsjax.metrics import rdm as rdm_kernel
from bsjax.metrics.resampling.bootstraps import cka_bootstraps, rdm_bootstraps
from bsjax.metrics.resampling.weighted_rdms import compare_weighted_rdms
from tests.support.slopes import check_slope

pytestmark = pytest.mark.slow


def arrays(n, p, q):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, p)) + 1.0
    return x, x[:, : min(p, q)] @ rng.normal(size=(min(p, q), q)) + rng.normal(size=(n, q))


def drawn(n, draws):
    which = np.random.default_rng(1).integers(0, n, (draws, n))
    return which, jnp.asarray([np.bincount(draw, minlength=n) for draw in which])


def on_different_stimuli(x, y, draw):
    """Over all quadruples of places in a draw that hold four different stimuli."""
    k, ell = x @ x.T, y @ y.T
    quadruples = np.array([q for q in permutations(range(len(draw)), 4) if len(set(draw[list(q)])) == 4])
    i, j, q, r = draw[quadruples].T

    def hsic(a, b):
        return np.mean(a[i, j] * b[i, j] + a[i, j] * b[q, r] - 2 * a[i, j] * b[i, q])

    return hsic(k, ell) / np.sqrt(hsic(k, k) * hsic(ell, ell))


def test_unbiased_cka_leaves_copies_out():
    x, y = arrays(9, 3, 4)
    which, counts = drawn(9, 3)
    got = compiled(cka_bootstraps)(jnp.asarray(x), jnp.asarray(y), counts)
    np.testing.assert_allclose(got, [on_different_stimuli(x, y, draw) for draw in which], atol=1e-10)


def test_biased_cka_of_draws_equals_single_calls():
    x, y = map(jnp.asarray, arrays(300, 12, 5))  # more rows than one block
    which, counts = drawn(300, 4)
    got = compiled(cka_bootstraps, unbiased=False)(x, y, counts)
    one = compiled(cka_biased)
    np.testing.assert_allclose(got, [one(x[draw], y[draw]) for draw in which], atol=1e-12)


@pytest.mark.parametrize(
    ("bootstraps", "kernel"), [(cka_bootstraps, cka), (rdm_bootstraps, rdm_similarity)], ids=["cka", "rdm"]
)
def test_a_draw_without_copies_is_a_subset_and_what_it_lacks_may_be_anything(bootstraps, kernel):
    x, y = map(jnp.asarray, arrays(30, 12, 6))
    kept = np.arange(30) % 3 > 0
    got = compiled(bootstraps)(x.at[0].set(jnp.nan), y.at[3].set(2.0), jnp.asarray(kept, int)[None])
    np.testing.assert_allclose(got, [compiled(kernel)(x[kept], y[kept])], atol=1e-12)


@pytest.mark.parametrize("ties", [False, True])
def test_rdms_leave_pairs_of_a_stimulus_out(ties):
    x, y = arrays(20, 6, 5)
    if ties:  # of unit length without rounding, so that equal dissimilarities are equal in every digit
        patterns = np.array([p for p in product([-1.0, 1.0], repeat=4) if sum(p) == 0])
        x, y = (patterns[np.random.default_rng(seed).integers(0, len(patterns), 20)] for seed in range(2))
    which, counts = drawn(20, 5)
    got = compiled(rdm_bootstraps)(jnp.asarray(x), jnp.asarray(y), counts)
    expected = []
    for draw in which:
        i, j = np.triu_indices(20, 1)
        i, j = (draw[side][draw[i] != draw[j]] for side in (i, j))
        a, b = (np.asarray(rdm_kernel(jnp.asarray(v)))[i, j] for v in (x, y))
        expected.append(scipy.stats.spearmanr(a, b).statistic)
    np.testing.assert_allclose(got, expected, atol=1e-12)


def test_float32_agrees_with_float64():
    x, y = arrays(400, 50, 20)
    _, counts = drawn(400, 5)
    exact = compiled(rdm_bootstraps)(jnp.asarray(x), jnp.asarray(y), counts)
    coarse = compiled(rdm_bootstraps)(jnp.asarray(x, jnp.float32), jnp.asarray(y, jnp.float32), counts)
    assert coarse.dtype == jnp.float32
    np.testing.assert_allclose(coarse, exact, atol=1e-4)


def test_draws_share_one_pass_in_blocks_of_rows():
    n, draws, units = 2048, 200, 1500
    x, y = (jax.ShapeDtypeStruct((n, p), jnp.float64) for p in (units, 20))
    counts = jax.ShapeDtypeStruct((draws, n), jnp.int32)
    program = jax.jit(cka_bootstraps).lower(x, y, counts).compile()
    inputs = 8 * n * (units + 20 + draws)
    # And once more the features, less a centre that is near most stimuli.
    assert program.memory_analysis().temp_size_in_bytes < inputs + 8 * n * units + 4 * n * n


KERNELS = {
    **{f"rdm, {m}": (rdm_bootstraps, {"method": m}) for m in ("spearman", "rho-a", "corr")},
    "cka": (cka_bootstraps, {}),
    "cka, biased": (cka_bootstraps, {"unbiased": False}),
}


@pytest.mark.parametrize("name", KERNELS)
def test_weights_are_counts_and_have_derivatives(name):
    x, y = map(jnp.asarray, arrays(15, 6, 5))
    kernel, settings = KERNELS[name]
    _, counts = drawn(15, 2)
    program = compiled(kernel, **settings)
    np.testing.assert_allclose(program(x, y, counts.astype(float)), program(x, y, counts), atol=1e-12)
    weights = jnp.asarray(np.random.default_rng(2).random((2, 15)) + 0.5)
    check_slope(lambda weights: jnp.sum(kernel(x, y, weights, **settings)), weights, rtol=0, atol=1e-8)
    if name != "rdm, rho-a":  # which knows how many there are
        np.testing.assert_allclose(program(x, y, 1e-3 * weights), program(x, y, weights), atol=1e-10)


def test_what_takes_no_weights_is_refused():
    rdms, weights = jnp.ones((1, 6)), jnp.ones((1, 4))
    with pytest.raises(ValueError, match="comparison of RDMs 'tau-a'; they can in: spearman, rho-a, corr, cosine"):
        compare_weighted_rdms(rdms, rdms, weights, method="tau-a")
