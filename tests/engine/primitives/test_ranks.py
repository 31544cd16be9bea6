import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from bsjax.engine.primitives.ranks import _PART, double_ranks, ranks, ranks_of_pairs
from bsjax.engine.primitives.row_pairs import numbers_of_pairs
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


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tied", "masked", "infinite", "nan"])
def test_the_order_of_many_numbers_is_exact(kind):
    rng = np.random.default_rng(0)
    x = rng.normal(size=3 * _PART + 3).round(2)
    if kind == "masked":
        x[rng.random(len(x)) < 0.3] = np.inf
    elif kind == "infinite":
        x[0], x[1] = -np.inf, np.inf
    expected = scipy.stats.rankdata(x)
    if kind == "nan":  # is last
        x, expected = np.append(x, np.nan), np.append(expected, len(x) + 1.0)
    np.testing.assert_array_equal(ranks(jnp.asarray(x)), expected)


def test_ranking_takes_memory_for_a_part_at_a_time():
    x = np.random.default_rng(0).normal(size=6 * _PART)
    # The ranks themselves are half as large as the numbers; all at once would take six times the numbers.
    assert most_held(lambda: double_ranks(np.empty(0, bool), x, x[:0])) < 2.8 * x.nbytes


@pytest.mark.slow
def test_numbers_that_may_be_one_tie():
    # Of the pairs of 5 rows, in the order of the platform.
    x = np.array([1.0, 1.0 + 1e-9, 2.0, 2.0 - 1e-9, 2.0 + 5e-9, 3.0, 3.0 + 1e-9, 3.0 + 2e-9, 3.0 + 3e-9, 4.0])
    errors = np.full(5, 0.5e-9)
    expected = [1.5, 1.5, 3.5, 3.5, 5, 6, 7, 8, 9, 10]  # what reaches from 3 on is wider than one number can be off
    order = np.random.default_rng(0).permutation(10)
    where = np.ones(10, bool)
    where[order == 9] = False
    for implementation in (ranks, ranks.plain):
        np.testing.assert_array_equal(implementation(jnp.asarray(x), None, jnp.asarray(errors)), expected)
        got = implementation(jnp.asarray(x[order]), jnp.asarray(where), jnp.asarray(errors))
        np.testing.assert_array_equal(got, np.where(where, np.array(expected)[order], 0.0))
    for implementation in (ranks_of_pairs, ranks_of_pairs.plain):
        off = jnp.asarray(errors)
        got = np.stack(implementation(jnp.asarray(x), jnp.asarray(-x), None, (off, off)))
        np.testing.assert_array_equal(got[0][np.argsort(got[0])], sorted(expected))
        np.testing.assert_array_equal(got.sum(axis=0), 11.0)


def test_each_number_may_be_off_by_the_errors_of_its_rows():
    errors = np.array([1e-12, 1e-12, 1e-12, 1e-2, 1e-2])
    for implementation in (ranks, ranks.plain):
        left, right = (np.asarray(side) for side in numbers_of_pairs(5))
        loose = (left > 2) & (right > 2)
        x = np.where(loose, 7.0, np.arange(10.0))
        x[np.flatnonzero(~loose)[:2]] = 5.0, 5.0 + 1e-6
        got = np.asarray(jax.jit(implementation)(jnp.asarray(x), None, jnp.asarray(errors)))
        mixed = (left > 2) | (right > 2)
        first, second = np.flatnonzero(~loose)[:2]
        assert (got[first] == got[second]) == (mixed[first] or mixed[second])


@pytest.mark.slow
def test_nan_that_counts_is_last_and_ties_with_nan():
    x, where = jnp.asarray([np.nan, 1.0, np.nan, 5.0, np.inf, 0.0]), jnp.array([1, 1, 1, 1, 1, 0], bool)
    for implementation in (ranks, ranks.plain):
        np.testing.assert_array_equal(implementation(x, where), [4.5, 1, 4.5, 2, 3, 0])
        np.testing.assert_array_equal(implementation(x[:2], jnp.array([True, False])), [1.0, 0.0])


@pytest.mark.slow
def test_many_numbers_tie_across_parts():
    rng = np.random.default_rng(0)
    n = 1700  # rows, of more pairs than two parts
    levels = rng.integers(0, 9, n * (n - 1) // 2).astype(float)
    x = levels * (1.0 + rng.choice([-1e-15, 0.0, 1e-15], len(levels)))
    got = ranks(jnp.asarray(x), None, jnp.full(n, 1e-13))
    np.testing.assert_array_equal(got, scipy.stats.rankdata(levels))
