"""One table of kernels: every row runs every check."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.metrics import (
    PLS,
    NeuronToNeuron,
    Ridge,
    cka,
    cka_biased,
    cross_validate,
    make_folds,
    pearson,
    rdm_similarity,
    split_half_consistency,
    train_test,
)

N, P, Q = 24, 8, 3
FOLDS = make_folds(N, [(np.r_[0:18], np.r_[18:24]), (np.r_[6:24], np.r_[0:6])])
FIRST = jnp.arange(4)[None, :, None] + jnp.zeros((1, 4, N // 2), int) < 2


TRACES: Counter = Counter()


@dataclass(frozen=True)
class Row:
    """A kernel of two arrays ``(N, P)`` and ``(N, Q)``.

    ``times_input`` bounds its temporary memory at 400 stimuli by 300 features and 20 targets, as a multiple of the
    inputs and one matrix of stimuli by stimuli; ``smooth`` says whether its gradient is not identically zero.
    """

    kernel: Callable[..., Any]
    settings: tuple[tuple[str, Any], ...] = ()
    times_input: float = 3.0
    smooth: bool = True

    def call(self, x, y):
        return self.kernel(x, y, **dict(self.settings))

    def jitted(self, x, y):
        """Compiled once for all checks."""
        return _jit(self)(x, y)


@cache
def _jit(row):
    def counted(x, y):
        TRACES[row, x.dtype] += 1
        return row.call(x, y)

    return jax.jit(counted)


def cross_validated(x, y, *, mapping):
    n = x.shape[0]
    rows = np.arange(n)
    folds = make_folds(n, [(np.setdiff1d(rows, rows[i::4]), rows[i::4]) for i in range(4)])
    return cross_validate(x, y, folds, mapping=mapping)


def fixed_split(x, y, *, mapping):
    cut = 3 * x.shape[0] // 4
    return train_test(x[:cut], x[cut:], y[:cut], y[cut:], mapping=mapping)


def consistency(x, y):
    """Trials whose two repetitions are the halves of the stimuli of ``x``; ``y`` weighs nothing."""
    half = x.shape[0] // 2
    trials = jnp.stack([x[:half], x[half:], x[:half] + x[half:], x[half:] ** 2]) + 0.0 * jnp.sum(y)
    first = jnp.broadcast_to((jnp.arange(4) < 2)[None, :, None], (2, 4, half))
    return split_half_consistency(trials, jnp.ones(trials.shape, bool), first)


TABLE = {
    "pearson": Row(lambda x, y: pearson(x[:, : y.shape[1]], y)),
    "cka": Row(cka),
    "cka_biased": Row(cka_biased),
    # Its two dissimilarity matrices, and each beside itself while the pairs are read.
    "rdm": Row(rdm_similarity, times_input=6.0, smooth=False),
    "internal_consistency": Row(consistency, times_input=8.0),
}
for name, mapping, times_input in [
    ("pls", PLS(4), 4.0),
    ("ridge", Ridge(1.0), 5.0),
    ("linear", Ridge(0.0), 5.0),
    ("neuron_to_neuron", NeuronToNeuron(), 4.0),
]:
    TABLE[name] = Row(cross_validated, (("mapping", mapping),), times_input)
    TABLE[f"{name}_split"] = Row(fixed_split, (("mapping", mapping),), times_input)

rows = pytest.mark.parametrize("row", TABLE.values(), ids=TABLE.keys())


def arrays(dtype="float64", seed=0, n=N, p=P, q=Q):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p)) + 1.0
    return jnp.asarray(x, dtype), jnp.asarray(x[:, :q] + 0.5 * rng.normal(size=(n, q)), dtype)


@rows
def test_compiled_equals_eager(row):
    x, y = arrays()
    np.testing.assert_allclose(row.jitted(x, y), row.call(x, y), atol=1e-10)


@rows
def test_batched_equals_a_loop(row):
    pairs = [arrays(seed=seed) for seed in range(3)]
    batched = jax.vmap(row.call)(jnp.stack([x for x, _ in pairs]), jnp.stack([y for _, y in pairs]))
    for got, pair in zip(batched, pairs, strict=True):
        np.testing.assert_allclose(got, row.jitted(*pair), atol=1e-9)


@rows
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_keeps_the_dtype(row, dtype):
    assert jax.eval_shape(row.call, *arrays(dtype)).dtype == dtype


@rows
def test_float32_agrees_with_float64(row):
    np.testing.assert_allclose(row.jitted(*arrays("float32")), row.jitted(*arrays("float64")), atol=1e-3)


@rows
def test_is_traced_once_for_a_shape_and_dtype(row):
    for seed in range(3):
        for dtype in ("float32", "float64"):
            row.jitted(*arrays(dtype, seed=seed))
    assert [TRACES[row, jnp.dtype(dtype)] for dtype in ("float32", "float64")] == [1, 1]


@rows
def test_gradients_are_finite_also_with_a_constant_unit_on_each_side(row):
    x, y = arrays()
    for given in ((x, y), (x.at[:, 0].set(2.0), y.at[:, 0].set(2.0))):
        gradients = jax.jit(jax.grad(lambda a, b: jnp.nansum(row.call(a, b)), argnums=(0, 1)))(*given)
        assert all(jnp.isfinite(g).all() for g in gradients)
    if row.smooth:
        assert (gradients[0] != 0).any()


@rows
def test_a_constant_unit_is_nan_or_left_out_and_never_spreads(row):
    x, y = arrays()
    got = np.atleast_1d(row.jitted(x, y.at[:, 0].set(2.0)))
    assert np.isfinite(got[..., 1:] if got.shape[-1] == Q else got).all()


@rows
def test_temporary_memory_is_bounded(row):
    n, p, q = 400, 300, 20
    compiled_program = jax.jit(row.call).lower(*arrays(n=n, p=p, q=q)).compile()
    allowed = row.times_input * 8 * (n * p + n * q + n * n)
    assert compiled_program.memory_analysis().temp_size_in_bytes <= allowed
