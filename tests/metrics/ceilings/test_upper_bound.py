"""An upper bound that no dissimilarity matrix exceeds: attacked, searched exhaustively, and by its definition."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.metrics import compiled, highest_similarity
from bsjax.metrics.ceilings.noise_ceiling import rdm_noise_ceiling
from bsjax.metrics.similarity.rdms.rdm_comparison import COMPARISONS
from tests.support import best_rdms

SLACK = 1e-6
SINGLE = [name for name, comparison in COMPARISONS.items() if comparison.of_single_pairs]
RANKED = ("spearman", "rho-a", "tau-a")
each_method = pytest.mark.parametrize("method", SINGLE)


def subjects(seed=0, s=4, stimuli=6, noise=1.0, ties=False):
    rng = np.random.default_rng(seed)
    m = stimuli * (stimuli - 1) // 2
    rdms = rng.random(m) + noise * rng.random((s, m))
    return np.round(3 * rdms) if ties else rdms


def upper(rdms, method, pooling="bound", where=None):
    kernel = compiled(rdm_noise_ceiling, method=method, pooling=pooling)
    return np.asarray(kernel(jnp.asarray(rdms), None if where is None else jnp.asarray(where)))[1]


@each_method
@pytest.mark.parametrize("ties", [False, True])
def test_no_rdm_that_is_found_beats_it(method, ties):
    rdms = subjects(int(ties), ties=ties)
    attacked = best_rdms.by_moves if method in RANKED else best_rdms.by_gradients
    reached, bound = attacked(rdms, method), upper(rdms, method).mean()
    assert reached <= bound + SLACK
    # The attack is worth the name, and the bound is near.
    assert reached >= bound - {"spearman": 0.03, "tau-a": 0.03}.get(method, 1e-4)


@pytest.mark.parametrize("ties", [False, True])
def test_all_orders_of_few_dissimilarities(ties):
    orders = best_rdms.weak_orders(6)
    assert len(orders) == 4683
    gaps = {method: [] for method in RANKED}
    for seed in range(6):
        rdms = subjects(seed, 3, stimuli=4, noise=2.0, ties=ties)
        for method in RANKED:
            best = best_rdms.mean_similarities(orders, rdms, method).max()
            gaps[method].append(upper(rdms, method).mean() - best)
    assert min(min(each) for each in gaps.values()) >= -1e-12
    assert max(gaps["rho-a"]) < 1e-12
    assert max(gaps["spearman"]) < 0.05 and max(gaps["tau-a"]) < 0.12


@pytest.mark.parametrize("method", ["corr", "cosine"])
def test_the_pool_attains_it_where_there_is_a_best_one(method):
    rdms = subjects(4)
    np.testing.assert_allclose(upper(rdms, method), upper(rdms, method, "matched"), atol=1e-12)


@pytest.mark.parametrize("method", RANKED)
def test_with_missing_pairs_it_is_a_bound_still(method):
    rdms, lacking = subjects(8, 3, stimuli=4, noise=2.0), 3
    where = np.ones(rdms.shape, bool)
    where[0, :lacking] = where[1, :lacking] = False
    orders = best_rdms.weak_orders(6)
    reached = [
        best_rdms.mean_similarities(orders[:, there], own[None, there], method)
        for own, there in zip(rdms, where, strict=True)
    ]
    bound = upper(np.where(where, rdms, np.nan), method, where=where)
    assert np.mean(reached, axis=0).max() <= bound.mean() + 1e-12
    if method != "tau-a":  # nobody else has the pairs of the last subject
        assert bound[2] == pytest.approx(1.0)


@pytest.mark.parametrize("method", RANKED)
def test_subjects_who_are_left_out_move_nothing(method):
    rdms = subjects(9)
    rdms[1, 3] = np.nan
    if method == "spearman":
        rdms[2] = 0.1
    gone = [1, 2] if method == "spearman" else [1]
    bound = upper(rdms, method)
    assert np.isnan(bound[gone]).all()
    np.testing.assert_allclose(np.delete(bound, gone), upper(np.delete(rdms, gone, axis=0), method), atol=1e-12)


def test_blocks_of_rows_are_the_whole():
    """More pairs than a block holds: as counted pair by pair."""
    rdms = subjects(10, 3, stimuli=25, ties=True)
    i, j = np.triu_indices(rdms.shape[1], 1)
    signs = np.sign(rdms[:, i] - rdms[:, j])
    expected = (signs * np.sign(signs.sum(axis=0))).mean(axis=1)
    np.testing.assert_allclose(upper(rdms, "tau-a"), expected, atol=1e-12)


def test_gradients_are_finite_also_where_vectors_cancel():
    one = subjects(11, 1)
    vectors = one - one.mean()
    gradient = jax.jit(jax.grad(lambda v: highest_similarity(v, None, jnp.ones(2, bool), method="corr").sum()))
    for other in (-vectors, vectors[:, ::-1]):
        pair = jnp.asarray(np.concatenate([vectors, other]) / np.linalg.norm(vectors))
        assert jnp.isfinite(gradient(pair)).all()
    assert (gradient(pair) != 0).any()
