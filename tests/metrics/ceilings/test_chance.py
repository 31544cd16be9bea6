import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.metrics import compiled, rdm_noise_ceiling, shuffled_agreement

S, N = 4, 7
# Of ranks, of values, and of whole matrices.
KINDS = ("spearman", "corr", "whitened_cosine", "bures")
UPPER = np.triu_indices(N, 1)


def subjects():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(N, 4)) + rng.normal(size=(S, N, 4))
    return np.linalg.norm(points[:, :, None] - points[:, None], axis=-1)


def orders(draws):
    return np.random.default_rng(0).permuted(np.tile(np.arange(N), (draws, S, 1)), axis=-1)


def agreement(rdms, permutations, method):
    return np.asarray(compiled(shuffled_agreement, method=method)(jnp.asarray(rdms), jnp.asarray(permutations)))


def lower(rdms, method):
    pairs = jnp.asarray(rdms[:, *UPPER])
    return float(jnp.mean(compiled(rdm_noise_ceiling, method=method, pooling="matched")(pairs)[0]))


@pytest.mark.parametrize("method", ["corr", "tau-a"])
def test_is_the_lower_bound_of_the_rdms_of_shuffled_stimuli(method):
    rdms, permutations = subjects(), orders(3)
    found = agreement(rdms, permutations, method)
    for draw, order in zip(found, permutations, strict=True):
        moved = np.stack([rdm[np.ix_(places, places)] for rdm, places in zip(rdms, order, strict=True)])
        assert draw == pytest.approx(lower(moved, method), abs=1e-12)


@pytest.mark.parametrize("method", ["spearman", "rho-a"])
def test_of_ranks_is_near_the_lower_bound(method):
    rdms = subjects()
    still = np.tile(np.arange(N), (1, S, 1))
    assert agreement(rdms, still, method)[0] == pytest.approx(lower(rdms, method), abs=0.03)


@pytest.mark.parametrize("method", KINDS)
def test_the_same_order_for_all_subjects_changes_nothing(method):
    order = np.tile(np.random.default_rng(1).permutation(N), (1, S, 1))
    still = np.tile(np.arange(N), (1, S, 1))
    both = agreement(subjects(), np.concatenate([order, still]), method)
    assert both[0] == pytest.approx(both[1], abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["spearman", "bures"])
def test_a_subject_with_nan_is_left_out(method):
    rdms = subjects()
    rdms[1, 2, 3] = rdms[1, 3, 2] = np.nan
    permutations = orders(3)
    expected = agreement(np.delete(rdms, 1, axis=0), np.delete(permutations, 1, axis=1), method)
    np.testing.assert_allclose(agreement(rdms, permutations, method), expected, atol=1e-12)
    rdms[0, 0, 1] = rdms[2, 0, 1] = np.nan
    rdms[0, 1, 0] = rdms[2, 1, 0] = np.nan
    assert np.isnan(agreement(rdms, permutations, method)).all()
