"""Every implementation of what orders numbers gives what the plain one gives, and its gradient."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.engine.primitives import concordance, ranks
from bsjax.engine.programs.platforms import PRIMITIVES

MODULES = {module.__name__ for module in (concordance, ranks)}

ROWS, N = 3, 40


def in_any_order(found):
    pairs = np.stack(found)
    return np.stack([row[:, np.lexsort(row)] for row in np.moveaxis(pairs, 1, 0)])


# How many vectors each takes, and what of its results is the same.
CASES = {"ranks": (1, np.asarray), "ranks_of_pairs": (2, in_any_order), "net_concordance": (2, np.asarray)}
NUMBERS = {
    "spread": lambda rng: rng.normal(size=(ROWS, N)),
    "tied": lambda rng: np.round(rng.normal(size=(ROWS, N))),  # with -0.0
    "infinite": lambda rng: np.where(rng.random((ROWS, N)) < 0.3, rng.choice([-np.inf, np.inf], (ROWS, N)), 1.0),
}
OWN = [
    pytest.param(name, implementation, id=f"{name}-{platform}")
    for name, made in PRIMITIVES.items()
    if made.plain.__module__ in MODULES
    for platform, implementation in made.own.items()
]


@pytest.mark.parametrize(("name", "implementation"), OWN)
@pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "numbers", ["tied", *(pytest.param(n, marks=pytest.mark.slow) for n in NUMBERS if n != "tied")]
)
def test_equals_the_plain_one(numbers, dtype, name, implementation):
    sides, result = CASES[name]
    rng = np.random.default_rng(0)
    vectors = [jnp.asarray(NUMBERS[numbers](rng), dtype) for _ in range(sides)]
    for where in (None, jnp.asarray(rng.random((ROWS, N)) < 0.7)):
        plain, own = (
            jax.jit(jax.vmap(function, in_axes=(*(0,) * sides, None if where is None else 0)))(*vectors, where)
            for function in (PRIMITIVES[name].plain, implementation)
        )
        np.testing.assert_array_equal(result(own), result(plain))
        assert {leaf.dtype for leaf in jax.tree.leaves((own, plain))} == {jnp.dtype(dtype)}


@pytest.mark.parametrize(("name", "implementation"), OWN)
def test_gradients_are_zero(name, implementation):
    vectors = jnp.asarray(np.random.default_rng(0).normal(size=(CASES[name][0], N)))
    for function in (PRIMITIVES[name].plain, implementation):
        total = jax.jit(jax.grad(lambda v, function=function: sum(map(jnp.sum, jax.tree.leaves(function(*v))))))
        np.testing.assert_array_equal(total(vectors), jnp.zeros_like(vectors))


def test_nan_is_last():
    x = np.random.default_rng(0).normal(size=N)
    x[::7] = np.nan
    missing, made = np.isnan(x), PRIMITIVES["ranks"]
    for implementation in (made.plain, *made.own.values()):
        got = np.asarray(jax.jit(implementation)(jnp.asarray(x)))
        np.testing.assert_array_equal(got[~missing], np.argsort(np.argsort(x[~missing])) + 1.0)
        assert got[missing].min() > got[~missing].max()
