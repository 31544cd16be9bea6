"""Similarity matrices of responsive units, against plain NumPy."""

import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.engine.precision import precision
from bsjax.metrics import compiled
from bsjax.metrics.similarity.rdms.rsm import responsive_rsm


def selected_by_loop(x, threshold):
    """Units that vary, and respond far from zero, one by one."""
    varying = [column for column in x.T if column.std() > 0]
    spread = np.std([column.mean() for column in varying])
    kept = [column for column in varying if abs(column.mean()) > threshold * spread]
    return np.stack([(column - column.mean()) / column.std() for column in kept], axis=1)


@pytest.fixture
def responses():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(7, 300)) + rng.normal(size=300) ** 3
    x[:, 5] = 30.0  # constant: neither compared nor counted in the spread
    return x


def test_it_is_the_correlation_over_the_units_that_a_loop_selects(responses):
    kept = selected_by_loop(responses, 3.1)
    assert 2 < kept.shape[1] < 30
    with precision("float64"):
        got = np.asarray(compiled(responsive_rsm)(jnp.asarray(responses)))
    np.testing.assert_allclose(got, np.corrcoef(kept), atol=1e-12)


def test_without_a_responsive_unit_it_is_undefined():
    x = np.random.default_rng(0).uniform(-1, 1, size=(5, 40)).astype(np.float32)
    got = compiled(responsive_rsm, threshold=9.0)(jnp.asarray(x))
    assert got.dtype == jnp.float32 and bool(jnp.isnan(got).all())
