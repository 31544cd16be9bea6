import jax.numpy as jnp
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

from bsjax.metrics import compiled
from bsjax.metrics.similarity.dimensionality import factor_shares, whole_units

shares = compiled(factor_shares, factors=3)


def pairs(seed=0, n=24, p=10):
    rng = np.random.default_rng(seed)
    factor = rng.permutation(np.r_[0, 1, 2, rng.integers(0, 3, n - 3)])
    common = rng.normal(size=(n, p)) * np.array([1.0, 0.5, 0.0])[factor][:, None] + 100.0
    return common + rng.normal(size=(n, p)), common + rng.normal(size=(n, p)), factor


def by_definition(a, b, factor):
    variance = np.concatenate([a, b]).var(axis=0).sum()
    scores = []
    for f in range(3):
        x, y = a[factor == f], b[factor == f]
        mean = (x.mean(0) + y.mean(0)) / 2
        scores.append(((x - mean) * (y - mean)).mean(0).sum() / variance)
    return softmax([*scores, 1.0])


@given(st.integers(0, 10_000))
def test_equals_the_definition(seed):
    a, b, factor = pairs(seed)
    np.testing.assert_allclose(shares(*map(jnp.asarray, (a, b, factor))), by_definition(a, b, factor), atol=1e-10)


@given(st.integers(0, 10_000), st.integers(1, 500))
def test_whole_units_round_down_and_leave_the_rest_to_the_last(seed, units):
    soft = softmax(np.random.default_rng(seed).normal(size=4))
    whole = whole_units(jnp.asarray(soft), units=units)
    np.testing.assert_allclose(whole[:-1], np.floor(soft[:-1] * units) / units)
    assert float(jnp.sum(whole)) == 1.0 or abs(float(jnp.sum(whole)) - 1.0) < 1e-12
