"""One function of many inputs: all at once, in batches that fit into the device's memory, and one after the other."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.engine import batches
from bsjax.engine.batches import batched_map, sum_of_each
from bsjax.engine.programs.platforms import traced_for

INPUTS = (np.arange(35.0, dtype="float32").reshape(7, 5), jnp.arange(7, dtype=jnp.float32))
# A square and a sum are made of five numbers and one; a quarter of the memory is what there is room for.
BYTES_OF_ONE = 4 * (5 + 1)


def squares(one):
    row, factor = one
    return {"sum": factor * jnp.sum(row * row)}


def of(platform, function, memory, monkeypatch):
    monkeypatch.setattr(batches, "device_memory", lambda: memory)
    with traced_for(platform):
        made = jax.make_jaxpr(lambda inputs: function(squares, inputs))(INPUTS)
    return made, jax.core.eval_jaxpr(made.jaxpr, made.consts, *INPUTS)


@pytest.mark.parametrize("platform", ["cpu", "gpu", "tpu"])
@pytest.mark.parametrize("function", [batched_map, sum_of_each])
@pytest.mark.parametrize("at_a_time", [1, 3, 7])
def test_every_element_is_computed_once(monkeypatch, function, platform, at_a_time):
    made, (found,) = of(platform, function, 4 * 1.9 * BYTES_OF_ONE * at_a_time, monkeypatch)
    each = INPUTS[1] * (INPUTS[0] ** 2).sum(axis=1)
    np.testing.assert_allclose(found, each.sum() if function is sum_of_each else each, rtol=1e-6)
    loops = sum(equation.primitive.name == "scan" for equation in made.eqns)
    assert loops == (platform == "cpu" or at_a_time < 7)


def test_batches_are_of_one_size(monkeypatch):
    made, _ = of("gpu", batched_map, 4 * 2 * BYTES_OF_ONE * 4, monkeypatch)
    (loop,) = [equation for equation in made.eqns if equation.primitive.name == "scan"]
    assert loop.params["length"] == 2 and loop.outvars[0].aval.shape == (2, 4)
