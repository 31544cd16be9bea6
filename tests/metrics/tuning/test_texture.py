import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bsjax.metrics import compiled
from bsjax.metrics.tuning import sparseness, texture_modulation_index, variance_ratio

KERNELS = {kernel.__name__: compiled(kernel) for kernel in (sparseness, texture_modulation_index, variance_ratio)}


def run(name, *arrays):
    return np.asarray(KERNELS[name](*map(jnp.asarray, arrays)))


def rates(seed=0, shape=(20, 15, 15)):
    rng = np.random.default_rng(seed)
    return rng.gamma(2.0, rng.uniform(1, 20, (shape[0], shape[1], 1)), shape)


@given(st.integers(1, 15))
def test_sparseness_of_a_share_of_the_stimuli(driven):
    responses = np.zeros((20, 15))
    responses[:, :driven] = 7.0
    assert run("sparseness", responses)[0] == pytest.approx((1 - driven / 15) / (1 - 1 / 15), abs=1e-12)


@given(st.floats(-1.0, 1.0))
def test_the_modulation_index_of_families_that_agree(index):
    noise = np.tile(np.arange(1.0, 16.0), (20, 1)) * (1 - index)
    texture = np.tile(np.arange(1.0, 16.0), (20, 1)) * (1 + index)
    assert run("texture_modulation_index", texture, noise)[0] == pytest.approx(index)


def test_silent_families_are_left_out():
    texture, noise = np.ones((20, 15)), np.full((20, 15), 3.0)
    texture[0, 4:], noise[0, 4:] = 0.0, 0.0
    texture[1], noise[1] = 0.0, 0.0
    index = run("texture_modulation_index", texture, noise)
    assert index[0] == -0.5 and np.isnan(index[1]) and (index[2:] == -0.5).all()


@given(st.floats(0.1, 3.0), st.floats(0.1, 3.0))
def test_the_variance_ratio_of_known_components(of_families, of_samples):
    """Deviations that are orthogonal, with just the sums of squares that the components ask for."""
    wave = np.tile([1.0, -1.0], 8)[:15] * np.tile([1.0, 1.0, -2.0, 0.5, 3.0], 3)
    wave = (wave - wave.mean()) / wave.std(ddof=1)
    # Mean squares: samples**2 within families, samples**2 + 15 families**2 between them.
    between = wave * np.sqrt(of_families**2 + of_samples**2 / 15)
    y = 20 + between[:, None] + of_samples * wave[None, :]
    counts = ((y**2 - 1) / (2 * y)) ** 2  # y = sqrt(x) + sqrt(x + 1), solved for x
    v_families, v_samples = np.array([of_families**2, of_samples**2]) / (of_families**2 + of_samples**2)
    expected = (v_families + 0.02) / (v_samples + 0.02)
    assert run("variance_ratio", np.tile(10 * counts, (20, 1, 1)))[0] == pytest.approx(expected, rel=1e-9)


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
    responses = rates(4)
    responses[0], responses[1], responses[2, :, 3] = 0.0, 5.0, 0.0
    arrays = responses if name == "variance_ratio" else responses.mean(axis=2)

    def total(arrays):
        values = KERNELS[name](arrays)
        return jnp.sum(jnp.where(jnp.isnan(values), jnp.zeros_like(values), values))

    gradient = jax.grad(total)(jnp.asarray(arrays))
    assert jnp.isfinite(gradient).all() and jnp.any(gradient != 0)
