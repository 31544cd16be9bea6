"""Steps of programs are counted as often as they run."""

from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.engine.host_calls import host_call
from bsjax.engine.programs.operations import Step, steps
from bsjax.engine.rates import seconds_of

X = jnp.ones((30, 20))
SQUARE = jnp.eye(30)


def operations(function, *arrays):
    counted = Counter()
    for step in steps(jax.make_jaxpr(function)(*arrays).jaxpr):
        counted[step.kind] += step.times * step.operations
    return +counted


def host_sort(x):
    return np.sort(x)


PRODUCT = 2 * 20 * 30 * 20
COUNTED = {
    "product": (lambda x: x.T @ x, {"product": PRODUCT}),
    "of a batch": (lambda x: jax.vmap(lambda a: a.T @ x)(jnp.stack([x] * 3)), {"product": 3 * PRODUCT}),
    "scan": (lambda x: jax.lax.map(lambda a: jax.jit(jnp.dot)(a.T, x), jnp.stack([x] * 7)), {"product": 7 * PRODUCT}),
    "the branch with less work": (
        lambda x: jax.lax.cond(x.sum() > 0, lambda: x.T @ (x @ x.T) @ x, lambda: x.T @ x),
        {"product": PRODUCT},
    ),
    "cholesky of a batch": (
        lambda x: jax.vmap(jnp.linalg.cholesky)(jnp.stack([SQUARE] * 2)),
        {"cholesky": 2 * 30**3 / 3},
    ),
    "eigenvectors": (lambda x: jnp.linalg.eigh(SQUARE)[1], {"eigh": 30**3}),
    "sort": (lambda x: jnp.sort(x.ravel()), {"sort": 600 * np.log2(600)}),
    "sort by NumPy": (
        lambda x: host_call(host_sort, x.ravel(), shape=(600,), dtype=x.dtype),
        {"host sort": 600 * np.log2(600)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTED)
def test_operations_are_those_of_the_formula(name):
    function, expected = COUNTED[name]
    assert operations(function, X) == pytest.approx(expected)


def test_what_is_read_where_it_is_computed_moves_no_bytes():
    moved = {
        name: sum(step.times * step.moved for step in steps(jax.make_jaxpr(function)(X).jaxpr))
        for name, function in {
            "plain": lambda x: x.T @ x,
            "shifted": lambda x: (x - 1.0).T @ x,
            "summed": lambda x: jnp.sum((x - 1.0) ** 2),
        }.items()
    }
    assert moved["shifted"] == moved["plain"] + X.nbytes
    assert moved["summed"] == X.nbytes + 4


def test_a_step_takes_as_long_as_its_operations_or_its_bytes():
    rates = {"product float32": 100.0, "memory": 10.0}
    by_arithmetic, by_memory = Step("product", "float32", 200.0, 1.0), Step("", "float32", 0.0, 30.0, times=2)
    assert seconds_of([by_arithmetic, by_memory], rates) == 2.0 + 6.0
