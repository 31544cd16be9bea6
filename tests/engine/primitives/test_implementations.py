"""Every implementation of what orders numbers gives what the plain one gives, and its gradient."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.engine.primitives.concordance import net_concordance
from bsjax.engine.primitives.ranks import ranks, ranks_of_pairs

ROWS, N = 3, 40


def in_any_order(found):
    pairs = np.stack(found)
    return np.stack([row[:, np.lexsort(row)] for row in np.moveaxis(pairs, 1, 0)])


# How many vectors each takes, and what of its results is the same.
CASES = {ranks: (1, np.asarray), ranks_of_pairs: (2, in_any_order), net_concordance: (2, np.asarray)}
NUMBERS = {
    "tied": lambda rng: np.round(rng.normal(size=(ROWS, N))),  # with -0.0
    "infinite": lambda rng: np.where(rng.random((ROWS, N)) < 0.3, rng.choice([-np.inf, np.inf], (ROWS, N)), 1.0),
}
each = pytest.mark.parametrize(
    ("made", "implementation"),
    [pytest.param(made, own, id=f"{made.__name__}-{name}") for made in CASES for name, own in made.own.items()],
)


@each
@pytest.mark.parametrize(("numbers", "dtype"), [("tied", "float32"), ("infinite", "float64")])
def test_equals_the_plain_one(numbers, dtype, made, implementation):
    sides, result = CASES[made]
    rng = np.random.default_rng(0)
    vectors = [jnp.asarray(NUMBERS[numbers](rng), dtype) for _ in range(sides)]
    for where in (None, jnp.asarray(rng.random((ROWS, N)) < 0.7)):
        plain, own = (
            jax.jit(jax.vmap(function, in_axes=(*(0,) * sides, None if where is None else 0)))(*vectors, where)
            for function in (made.plain, implementation)
        )
        np.testing.assert_array_equal(result(own), result(plain))
        assert {leaf.dtype for leaf in jax.tree.leaves((own, plain))} == {jnp.dtype(dtype)}


@each
def test_gradients_are_zero(made, implementation):
    vectors = jnp.asarray(np.random.default_rng(0).normal(size=(CASES[made][0], N)))
    for function in (made.plain, implementation):
        total = jax.jit(jax.grad(lambda v, function=function: sum(map(jnp.sum, jax.tree.leaves(function(*v))))))
        np.testing.assert_array_equal(total(vectors), jnp.zeros_like(vectors))


def test_nan_is_last():
    x = np.random.default_rng(0).normal(size=N)
    x[::7] = np.nan
    missing = np.isnan(x)
    for implementation in (ranks.plain, *ranks.own.values()):
        got = np.asarray(jax.jit(implementation)(jnp.asarray(x)))
        np.testing.assert_array_equal(got[~missing], np.argsort(np.argsort(x[~missing])) + 1.0)
        assert got[missing].min() > got[~missing].max()
