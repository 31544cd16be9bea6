"""Centres of receptive fields, beside a loop over units."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.metrics.tuning.receptive_fields import receptive_field_centres, receptive_field_maps

Y, X = np.array([-2.0, -1.0, 0.5, 1.0]), np.array([0.0, 1.0, 4.0])


def by_a_loop(maps):
    found = np.full((maps.shape[2], 2), np.nan)
    for unit in range(maps.shape[2]):
        inside = np.argwhere(maps[:, :, unit] > 0.05 * maps[:, :, unit].max())
        if len(inside):
            weights = maps[inside[:, 0], inside[:, 1], unit]
            row, column = (inside * weights[:, None]).sum(0) / weights.sum()
            found[unit] = np.interp(row, range(len(Y)), Y), np.interp(column, range(len(X)), X)
    return found


@pytest.mark.slow
def test_equals_a_loop_over_units():
    maps = np.maximum(np.random.default_rng(0).normal(size=(4, 3, 20)), 0)
    maps[:, :, 7] = 0  # silent
    found = receptive_field_centres(*map(jnp.asarray, (maps, Y, X)))
    assert jnp.isnan(found[7]).all()
    np.testing.assert_allclose(found, by_a_loop(maps), rtol=1e-12)


def test_weak_responses_are_left_out():
    maps = jnp.array([[1.0, 0.04], [0.0, 0.0]])[:, :, None]
    axis = jnp.array([0.0, 1.0])
    assert receptive_field_centres(maps, axis, axis).tolist() == [[0, 0]]
    assert float(receptive_field_centres(maps, axis, axis, threshold=0.01)[0, 1]) == pytest.approx(0.04 / 1.04)


def test_maps_are_the_greatest_responses_above_the_blank():
    rng = np.random.default_rng(1)
    responses, blank = rng.normal(size=(4, 3, 8, 5)).astype(np.float32), rng.normal(size=5).astype(np.float32)
    expected = np.maximum(np.maximum(responses, 0).max(2) - np.maximum(blank, 0), 0)
    np.testing.assert_array_equal(receptive_field_maps(jnp.asarray(responses), jnp.asarray(blank)), expected)


@pytest.mark.slow
def test_gradients_are_finite_also_of_silent_units():
    maps = jnp.asarray(np.random.default_rng(2).uniform(0, 1, (4, 3, 2)), jnp.float32).at[:, :, 1].set(0)

    def total(maps):
        return jnp.nansum(receptive_field_centres(maps, jnp.asarray(Y, jnp.float32), jnp.asarray(X, jnp.float32)))

    gradient = jax.grad(total)(maps)
    assert bool(jnp.isfinite(gradient).all()) and bool((gradient[:, :, 0] != 0).any())
