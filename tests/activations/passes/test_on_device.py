"""Activations that stay where JAX computes: the same numbers, and no way over the host."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.activations import Subsampling
from bsjax.adapters import from_jax, unit_preprocessing
from bsjax.labelled.align import finite_values

SIX = unit_preprocessing(6)


def layers(images):
    return {"map": images[:, ::2, 1:], "flat": images.mean((1, 2))}


@pytest.fixture
def model():
    return from_jax(layers, "net", SIX, batch_size=4, cache=None, keep_on_device=True)


def test_values_are_jax_arrays_until_they_are_asked_for(model, stimuli):
    shown = stimuli([4, 2, 9, 4, 0, 1, 2])
    on_device = model(shown, ["map", "flat"])
    on_host = model.with_options(keep_on_device=False)(shown, ["map", "flat"])
    assert isinstance(on_device.data, jax.Array) and isinstance(on_host.data, np.ndarray)
    assert on_device.dtype == np.float32
    np.testing.assert_array_equal(on_device.values, on_host.values)
    assert on_device["neuroid_id"].values.tolist() == on_host["neuroid_id"].values.tolist()
    assert isinstance(finite_values(on_device, "source"), jax.Array)


def test_values_that_are_not_finite_are_named(stimuli):
    model = from_jax(lambda x: jnp.log(x - x.max()), "net", SIX, cache=None, keep_on_device=True)
    with pytest.raises(ValueError, match="infinite values for 2 of 2"):
        model(stimuli([0, 1]), "output")
    for kept in (True, False):
        complex_values = from_jax(lambda x: x.astype(complex), "net", SIX, cache=None, keep_on_device=kept)
        with pytest.raises(ValueError, match="'output' of model 'net' gives complex64 values"):
            complex_values(stimuli([0]), "output")


def test_what_is_reduced_comes_to_the_host(model, stimuli):
    reduced = model.with_options(reducer=Subsampling(4))(stimuli([0, 1]), "map")
    assert isinstance(reduced.data, np.ndarray) and reduced.shape == (2, 4)
