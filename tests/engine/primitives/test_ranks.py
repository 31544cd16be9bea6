import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from bsjax.engine.primitives.ranks import _MANY, _PART, _double_ranks_of, ranks, ranks_of_pairs
from tests.support.memory_held import most_held


def test_ranks_keep_the_digits_of_float64_in_a_large_program():
    # Large enough that the host call runs on another thread, where the local float64 context is off.
    n = 1_000_000
    order = np.random.default_rng(0).permutation(n)
    got = jax.jit(lambda v: ranks(1.0 * v))(jnp.asarray(1.0 + 1e-12 * order))
    np.testing.assert_array_equal(got, order + 1.0)


def test_ranks_of_rows_equal_those_of_each():
    rows = jnp.asarray(np.random.default_rng(0).integers(0, 9, (4, 25)).astype(float))
    by_row = jnp.stack([ranks(row) for row in rows])
    np.testing.assert_array_equal(ranks(rows), by_row)
    np.testing.assert_array_equal(jax.vmap(ranks)(rows), by_row)


def test_ranks_of_pairs_are_those_of_either_vector_in_one_order():
    x, y = np.random.default_rng(0).integers(0, 9, (2, 40)).astype(float)
    where = np.arange(40) % 3 > 0
    expected = np.zeros((2, 40))
    expected[:, where] = [scipy.stats.rankdata(side[where]) for side in (x, y)]
    for implementation in (ranks_of_pairs, ranks_of_pairs.plain):
        got = np.stack(implementation(jnp.asarray(x), jnp.asarray(y), jnp.asarray(where)))
        np.testing.assert_array_equal(got[:, np.lexsort(got)], expected[:, np.lexsort(expected)])


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["spread", "tied", "clustered", "masked", "infinite"])
@pytest.mark.parametrize("parts", [0, 3])
def test_the_order_of_many_numbers_is_exact(parts, kind, dtype):
    rng = np.random.default_rng(0)
    n = parts * _PART + 3 if parts else _MANY + 3
    x = rng.normal(size=n)
    if kind == "tied":
        x = x.round(2)
    elif kind == "clustered":  # nearly all of them within one step
        x[1:] *= 1e-12
        x[0] = 1e3
    elif kind == "masked":
        x[rng.random(n) < 0.3] = np.inf
    elif kind == "infinite":
        x[0], x[1] = -np.inf, np.inf
    x = x.astype(dtype)
    np.testing.assert_array_equal(ranks(jnp.asarray(x)), scipy.stats.rankdata(x))


@pytest.mark.slow
@pytest.mark.parametrize("n", [_MANY, 2 * _PART])
def test_among_many_numbers_nan_is_last(n):
    x = np.random.default_rng(0).normal(size=n)
    expected = np.append(scipy.stats.rankdata(x), n + 1.0)
    np.testing.assert_array_equal(ranks(jnp.asarray(np.append(x, np.nan))), expected)


def test_ranking_takes_memory_for_a_part_at_a_time():
    x = np.random.default_rng(0).normal(size=6 * _PART)
    # The ranks themselves are half as large as the numbers; all at once would take six times the numbers.
    assert most_held(lambda: _double_ranks_of(x)) < 2.8 * x.nbytes
