"""Derivatives against differences."""

import jax
import jax.numpy as jnp
import numpy as np


def check_slope(function, x, *, way=None, step=1e-5, rtol=1e-5, atol=1e-7):
    """The derivative of a function of an array along a way, a random one if None, is that of differences."""
    x = jnp.asarray(x)
    way = jnp.asarray(np.random.default_rng(1).normal(size=x.shape) if way is None else way)
    along = jax.jit(lambda t: function(x + t * way))
    measured = (along(step) - along(-step)) / (2 * step)
    np.testing.assert_allclose(jax.jit(jax.grad(along))(0.0), measured, rtol=rtol, atol=atol)
