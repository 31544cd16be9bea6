"""JAX functions."""

import jax
import jax.numpy as jnp
import numpy as np

from bsjax.adapters import from_jax, unit_preprocessing

EIGHT = unit_preprocessing(8)


def test_nested_mappings_give_dotted_layers(stimuli):
    model = from_jax(lambda x: {"a": {"b": x.mean((1, 2)), "c": x}, "d": x.max((1, 2))}, "net", EIGHT)
    assert model.layers() == {"a.b": (3,), "a.c": (8, 8, 3), "d": (3,)}
    activations = model(stimuli([0]), ["d", "a.b"])
    assert activations.values[0, :3].min() > activations.values[0, 3:].max()


def test_parameters_come_first_and_are_no_constants(stimuli):
    traces = []

    def scaled(parameters, images):
        traces.append(isinstance(parameters["scale"], jax.core.Tracer))
        return images.mean((1, 2)) * parameters["scale"]

    one, three = (
        from_jax(scaled, "net", EIGHT, parameters={"scale": jnp.float32(scale)}, cache=None)(
            stimuli([0, 1]), ["output"]
        )
        for scale in (1, 3)
    )
    np.testing.assert_allclose(three.values, 3 * one.values, rtol=1e-6)
    assert traces == [True, True]


def test_what_a_layer_does_not_need_is_not_computed(stimuli):
    ran = []

    def function(images):
        jax.debug.callback(lambda: ran.append("cheap"))

        def expensive(x):
            ran.append("expensive")
            return np.asarray(x)

        result = jax.pure_callback(expensive, jax.ShapeDtypeStruct(images.shape, images.dtype), images)
        return {"cheap": images.mean((1, 2)), "expensive": result}

    model = from_jax(function, "net", EIGHT)
    model(stimuli([0]), ["cheap"])
    jax.effects_barrier()
    assert ran == ["cheap"]
    model(stimuli([0]), ["expensive"])
    jax.effects_barrier()
    assert "expensive" in ran


def test_low_precision_outputs_come_as_float32(stimuli):
    activations = from_jax(lambda x: x.mean((1, 2)).astype(jnp.bfloat16), "net", EIGHT)(stimuli([0]), ["output"])
    assert activations.dtype == np.float32 and (activations.values > 0).all()


def test_parameters_are_counted():
    weights = {"a": np.zeros((3, 4)), "b": np.zeros(4)}
    model = from_jax(lambda weights, images: images, "weighted", parameters=weights)
    assert model.n_parameters == 16 and from_jax(lambda images: images, "pixels").n_parameters == 0
