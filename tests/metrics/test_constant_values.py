"""Values that do not vary but that no float holds exactly: centring leaves rounding of them, which is no signal."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bsjax import metrics
from bsjax.metrics.numerics import deviations

STIMULI, UNITS = 12, 40
# The same in all units, and of several sizes.
CONSTANTS = (lambda units: np.full(units, 0.1), lambda units: 10.0 ** np.linspace(-5, 5, units) / 3)
SIMILARITIES = {
    "cka": metrics.cka,
    "cka_cv": partial(metrics.similarity_on_subsets, similarity=metrics.cka, rotation_invariant=True),
    "cka on subsets as they are": partial(
        metrics.similarity_on_subsets, similarity=metrics.cka, rotation_invariant=False
    ),
    "cka_bootstraps": metrics.cka_bootstraps,
}


def others(dtype, stimuli=STIMULI):
    return jnp.asarray(np.random.default_rng(1).normal(size=(stimuli, 5)) + 1.0, dtype)


def choices_of(kernel, first=0):
    """A subset or a draw of nine stimuli from ``first`` on, as the kernel takes them."""
    if isinstance(kernel, partial) and kernel.func is metrics.similarity_on_subsets:
        return jnp.arange(first, first + 9, dtype=jnp.int32)[None], jnp.ones((1, 9), bool)
    if kernel is metrics.cka:
        return ()
    return (jnp.zeros((1, STIMULI), jnp.int32).at[0, first : first + 9].set(1).at[0, first + 1].set(2),)


@pytest.mark.slow
@pytest.mark.parametrize("name", SIMILARITIES)
def test_a_similarity_of_constant_responses_is_undefined_on_either_side(name):
    kernel = SIMILARITIES[name]
    y, chosen = others("float32"), choices_of(kernel)
    both = jax.jit(lambda x: (kernel(x, y, *chosen), kernel(y, x, *chosen)))
    for constants in CONSTANTS:
        values = both(jnp.asarray(np.tile(constants(UNITS), (STIMULI, 1)), "float32"))
        assert np.isnan(values).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, kernel in SIMILARITIES.items() if kernel is not metrics.cka])
def test_responses_that_are_constant_but_for_stimuli_that_are_not_drawn(name):
    kernel = SIMILARITIES[name]
    y = others("float32")
    without, with_it = choices_of(kernel, first=2), choices_of(kernel)
    # One call with both, so that the two stimuli are among those that are drawn by some.
    both = [jnp.concatenate(sides) for sides in zip(without, with_it, strict=True)]

    def total(x):
        values = kernel(x, y, *both)
        return jnp.nansum(values), values

    slope_and_values = jax.jit(jax.grad(total, has_aux=True))
    for constants in CONSTANTS:
        x = np.tile(constants(UNITS), (STIMULI, 1))
        x[:2] += np.random.default_rng(0).normal(size=(2, UNITS)) * np.abs(x).max()
        slope, values = slope_and_values(jnp.asarray(x, "float32"))
        np.testing.assert_array_equal(np.isnan(values), [True, False])
        assert np.isfinite(slope).all()


@pytest.mark.slow
@pytest.mark.parametrize("units", [4, 400])
def test_an_rdm_of_patterns_that_are_constant_over_units(units):
    x = jnp.asarray(np.random.default_rng(0).normal(size=(STIMULI, units)), "float32").at[3].set(0.1)
    draws = jnp.ones((2, STIMULI), jnp.int32).at[1, 3].set(0)
    np.testing.assert_array_equal(
        np.isnan(metrics.compiled(metrics.rdm_bootstraps)(x, others("float32"), draws)), [True, False]
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", SIMILARITIES)
def test_constant_units_beside_others_change_nothing(name):
    kernel = SIMILARITIES[name]
    x, y = (others("float32")[:, part] for part in (slice(0, 3), slice(2, 5)))
    chosen = choices_of(kernel)
    constants = jnp.asarray(np.tile(10.0 ** np.arange(4) / 3, (STIMULI, 1)), "float32")
    more = jnp.concatenate([constants, x, constants], axis=1)
    run = jax.jit(kernel)
    np.testing.assert_allclose(run(more, y, *chosen), run(x, y, *chosen), atol=2e-5)


@pytest.mark.parametrize("name", SIMILARITIES)
def test_a_small_variation_about_a_large_constant_is_no_rounding(name):
    kernel = SIMILARITIES[name]
    y = others("float64")
    chosen = choices_of(kernel)
    run = jax.jit(kernel)
    np.testing.assert_allclose(run(1.0 + 1e-6 * y, y, *chosen), run(y, y, *chosen), atol=1e-8)


def test_a_constant_unit_hides_no_dimension_of_smaller_units():
    rng = np.random.default_rng(0)
    a, b = (jnp.asarray(rng.normal(size=(20, 4)), "float32") for _ in range(2))
    factor = jnp.arange(20, dtype=jnp.int32) % 2
    large = jnp.full((20, 1), 1e8 / 3, "float32")
    shares = metrics.compiled(metrics.factor_shares, factors=2)
    with_it = shares(jnp.concatenate([large, a], axis=1), jnp.concatenate([large, b], axis=1), factor)
    np.testing.assert_allclose(with_it, shares(a, b, factor), atol=1e-5)


@pytest.mark.slow
@given(
    st.floats(1e-12, 1e12) | st.floats(-1e12, -1e-12),
    st.sampled_from([2, 7, 3000]),  # sizes that are compiled once
    st.sampled_from(["float32", "float64"]),
    st.booleans(),
)
def test_deviations_of_equal_values_are_exactly_zero(value, count, dtype, masked):
    where = jnp.asarray(np.arange(4096) < count)[:, None]
    x = jnp.where(where, jnp.full((4096, 1), value, dtype), jnp.zeros((4096, 1), dtype))
    found = (
        metrics.compiled(deviations, axis=0)(x, where)
        if masked
        else metrics.compiled(deviations, where=None, axis=0)(x[:count])
    )
    assert found.constant.all() and not found.values.any()
