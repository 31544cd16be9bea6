import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.metrics import compiled, spearman_brown, spearman_brown_bias
from bsjax.metrics import split_half_consistency as kernel
from bsjax.metrics.ceilings.consistency import complete_split_half_consistency

split_half_consistency = compiled(kernel)


def trials(r=6, n=20, u=4):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, u)) + rng.normal(size=(r, n, u))


def label_halves(r, n):
    rng = np.random.default_rng(0)
    first = np.zeros((3, r, n), bool)
    for split in first:
        split[rng.permutation(r)[: r // 2]] = True
    return first


def by_definition(values, present, first):
    values = np.where(present, values, np.nan)
    result = []
    for half in first:
        a, b = (np.nanmean(np.where(h[:, :, None], values, np.nan), axis=0) for h in (half, ~half))
        r = np.array([np.corrcoef(p, q)[0, 1] for p, q in zip(a.T, b.T, strict=True)])
        result.append(2 * r / (1 + r))
    return np.array(result)


def ragged():
    rng = np.random.default_rng(1)
    present = np.broadcast_to(np.arange(8)[:, None] < rng.integers(5, 9, 20), (8, 20))[:, :, None].repeat(4, 2).copy()
    present[0, 3, 1] = False
    return trials(r=8), present, (np.arange(8)[None, :, None] % 2 == 0) & np.ones((2, 8, 20), bool)


@pytest.mark.parametrize("recording", [(trials(), np.ones((6, 20, 4), bool), label_halves(6, 20)), ragged()])
def test_equals_the_definition(recording):
    values, present, first = recording
    given = jnp.asarray(np.where(present, values, np.nan)), jnp.asarray(present), jnp.asarray(first)
    np.testing.assert_allclose(split_half_consistency(*given), by_definition(*recording), atol=1e-12)


def test_spearman_brown_of_a_part_and_back():
    r = jnp.linspace(0.0, 1.0, 9)
    for factor in (1.0, 2.5, 20.0):
        back = spearman_brown(spearman_brown(r, factor=factor), factor=1.0 / factor)
        np.testing.assert_allclose(back, r, atol=1e-9)


def test_spearman_brown_at_minus_one_is_undefined_with_a_finite_gradient():
    assert jnp.isnan(spearman_brown(jnp.asarray(-1.0)))
    assert jnp.isfinite(jax.grad(lambda r: spearman_brown(r))(jnp.asarray(-1.0)))


def test_complete_trials_need_no_means():
    values, first = trials(r=7), label_halves(7, 20)
    constant = jnp.asarray(values).at[:, :, 1].set(0.1)
    one, all_of_them = constant, jnp.ones(values.shape, bool)
    got = compiled(complete_split_half_consistency)(one, jnp.asarray(first[:, :, 0]))
    np.testing.assert_allclose(got, split_half_consistency(one, all_of_them, jnp.asarray(first)), atol=1e-12)
    assert jnp.isnan(got[:, 1]).all() and jnp.isfinite(got[:, 0]).all()


def test_memory_where_no_trial_is_missing():
    values = jax.ShapeDtypeStruct((10, 640, 168), jnp.float64)
    first = jax.ShapeDtypeStruct((10, 10), jnp.bool_)
    program = compiled(complete_split_half_consistency).lower(values, first).compile()
    assert program.memory_analysis().temp_size_in_bytes < 1.5 * 8 * values.size


@pytest.mark.parametrize("r", [0.2, 0.6])
def test_the_bias_of_the_correction_is_that_of_normal_responses(r):
    n, samples = 100, 40_000
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, samples, n)).astype("float32")
    b = r * a + np.sqrt(1 - r**2).astype("float32") * b
    a, b = (side - side.mean(axis=1, keepdims=True) for side in (a, b))
    found = (a * b).sum(axis=1) / np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    corrected = 2 * found / (1 + found)
    error = corrected.std() / np.sqrt(samples)
    bias = float(compiled(spearman_brown_bias)(jnp.asarray(r), n))
    assert corrected.mean() - 2 * r / (1 + r) == pytest.approx(bias, abs=4 * error + 10 / n**2)


def test_the_bias_is_undefined_where_the_correction_is_and_for_a_single_stimulus():
    found = compiled(spearman_brown_bias)(jnp.array([-1.0, 0.5, 0.5, 1.0]), jnp.array([10.0, 10.0, 1.0, 10.0]))
    np.testing.assert_array_equal(np.isnan(found), [True, False, True, False])
    assert found[3] == 0.0
    gradient = jax.jit(jax.grad(lambda r: jnp.nansum(spearman_brown_bias(r, 10))))(jnp.array([-1.0, 0.5]))
    assert jnp.isfinite(gradient).all()
