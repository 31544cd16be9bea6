"""Derivatives of coordinates of wide responses."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.engine.programs.platforms import traced_for
from bsjax.metrics.linalg.stimulus_axes import stimulus_axes


@pytest.mark.parametrize("platform", ["cpu", "gpu"])
@pytest.mark.parametrize("centred", [False, True])
def test_derivatives_are_those_of_inner_products(platform, centred):
    rng = np.random.default_rng(0)
    x, way, new = (rng.normal(size=(n, 10)) for n in (6, 6, 4))
    if centred:  # one axis is not needed
        x, way = x - x.mean(axis=0), way - way.mean(axis=0)

    def of_axes(step):
        axes, along = stimulus_axes(jnp.asarray(x + step * way))
        return jnp.sum(jnp.sin(new @ axes @ along.T))

    def of_products(step):
        return jnp.sum(jnp.sin(new @ (x + step * way).T))

    with traced_for(platform):
        (found, slope), (value, expected) = (jax.jit(jax.value_and_grad(of))(0.0) for of in (of_axes, of_products))
    np.testing.assert_allclose(found, value, rtol=1e-12)
    np.testing.assert_allclose(slope, expected, rtol=1e-9)
