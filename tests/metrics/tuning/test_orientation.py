import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.metrics import compiled
from bsjax.metrics.tuning import (
    circular_variance,
    half_bandwidth,
    orthogonal_preferred_ratio,
    preferred_orientation,
)
from tests.support import tuning_definitions as definitions

THETA = definitions.ORIENTATIONS
SETTINGS = {"orientations": tuple(THETA.tolist())}
KERNELS = {
    kernel.__name__: compiled(kernel, **SETTINGS)
    for kernel in (circular_variance, half_bandwidth, preferred_orientation)
} | {"orthogonal_preferred_ratio": compiled(orthogonal_preferred_ratio)}


def run(name, curves):
    return np.asarray(KERNELS[name](jnp.asarray(curves)))


def curves_of(neurons=40):
    return np.random.default_rng(4).gamma(1.0, 9.0, (neurons, 12))


def test_undefined_is_nan():
    curves = curves_of()
    curves[1], curves[2, 3] = 0.0, np.nan
    for name in KERNELS:
        result = run(name, curves)
        assert np.isnan(result[2]), name
        assert np.isnan(result[1]) == (name != "preferred_orientation"), name


@pytest.mark.parametrize("name", ["circular_variance", "orthogonal_preferred_ratio"])
def test_gradients_are_finite_where_the_value_is_undefined(name):
    curves = curves_of()
    curves[0], curves[1] = 0.0, 3.0

    def total(curves):
        values = KERNELS[name](curves)
        return jnp.sum(jnp.where(jnp.isnan(values), jnp.zeros_like(values), values))

    gradient = jax.grad(total)(jnp.asarray(curves))
    assert jnp.isfinite(gradient).all() and jnp.any(gradient != 0)
