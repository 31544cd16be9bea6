import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.metrics import compiled
from bsjax.metrics.tuning import sparseness, texture_modulation_index, variance_ratio

KERNELS = {kernel.__name__: compiled(kernel) for kernel in (sparseness, texture_modulation_index, variance_ratio)}


def run(name, *arrays):
    return np.asarray(KERNELS[name](*map(jnp.asarray, arrays)))


def rates():
    rng = np.random.default_rng(0)
    return rng.gamma(2.0, rng.uniform(1, 20, (20, 15, 1)), (20, 15, 15))


def test_silent_families_are_left_out():
    texture, noise = np.ones((20, 15)), np.full((20, 15), 3.0)
    texture[0, 4:], noise[0, 4:] = 0.0, 0.0
    texture[1], noise[1] = 0.0, 0.0
    index = run("texture_modulation_index", texture, noise)
    assert index[0] == -0.5 and np.isnan(index[1]) and (index[2:] == -0.5).all()


def test_extremes_of_the_variance_ratio():
    responses = rates()
    responses[0] = responses[0, :, :1]
    responses[1] = responses[1, :1]
    responses[2] = 12.3
    responses[3, 0, 0] = -1.0
    responses[4, 0, 0] = np.nan
    ratio = run("variance_ratio", responses)
    assert ratio[0] == pytest.approx(51) and ratio[1] == pytest.approx((-1 / 14 + 0.02) / (15 / 14 + 0.02))
    assert np.isnan(ratio[2:5]).all() and np.isfinite(ratio[5:]).all()


def test_no_response_has_no_sparseness():
    responses = rates().mean(axis=2)
    responses[1], responses[2, 0] = 0.0, np.nan
    assert np.flatnonzero(np.isnan(run("sparseness", responses))).tolist() == [1, 2]


@pytest.mark.parametrize("name", ["sparseness", "variance_ratio"])
def test_gradients_stay_finite(name):
    responses = rates()
    responses[0], responses[1], responses[2, :, 3] = 0.0, 5.0, 0.0
    arrays = responses if name == "variance_ratio" else responses.mean(axis=2)

    def total(arrays):
        values = KERNELS[name](arrays)
        return jnp.sum(jnp.where(jnp.isnan(values), jnp.zeros_like(values), values))

    gradient = jax.grad(total)(jnp.asarray(arrays))
    assert jnp.isfinite(gradient).all() and jnp.any(gradient != 0)
