"""Keras models on JAX."""

import os
from pathlib import Path

import jax
import numpy as np
import pytest

from bsjax.adapters import from_keras, unit_preprocessing
from tests.adapters.conftest import pixels_of


@pytest.fixture(scope="module")
def keras():
    # Keras reads both when it is imported, and writes a file into its home.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERAS_BACKEND", "jax")
        patch.setenv("KERAS_HOME", str(Path(os.environ["BSJAX_HOME"]) / "keras"))
        return pytest.importorskip("keras")


@pytest.fixture(autouse=True)
def as_lax_as_keras():
    with jax.numpy_rank_promotion("allow"), jax.numpy_dtype_promotion("standard"):
        yield


@pytest.fixture
def net(keras):
    keras.utils.set_random_seed(0)
    return keras.Sequential(
        [
            keras.Input((8, 8, 3)),
            keras.layers.Conv2D(4, 3, name="conv"),
            keras.layers.BatchNormalization(name="bn"),
            keras.layers.Dropout(0.5, name="drop"),
            keras.layers.Flatten(name="flat"),
            keras.layers.Dense(3, name="fc"),
        ]
    )


@pytest.mark.slow
def test_layers_and_activations_are_those_of_the_model(net, stimuli):
    model = from_keras(net, "net")
    assert list(model.layers()) == ["conv", "bn", "drop", "flat", "fc", "output"]
    assert model.layers()["conv"] == (6, 6, 4)
    shown = stimuli([0, 1, 2])
    batch = unit_preprocessing(8)(pixels_of(shown))
    np.testing.assert_allclose(model(shown, "output").values, net.predict(batch, verbose=0), atol=1e-5)
    drop, flat = (model(shown, name).values for name in ("drop", "flat"))
    np.testing.assert_array_equal(drop, flat)  # inference: no dropout


@pytest.mark.slow
def test_weights_are_read_when_the_model_runs(net, stimuli):
    model = from_keras(net, "net")
    before = model(stimuli([0]), "fc").values
    net.get_layer("fc").bias.assign_add([1.0, 2.0, 3.0])
    np.testing.assert_allclose(model(stimuli([0]), "fc").values, before + [1, 2, 3], atol=1e-5)


def test_a_functional_model_with_a_model_inside_several_inputs_and_outputs(keras, stimuli):
    inside = keras.Sequential([keras.Input((8, 8, 3)), keras.layers.Conv2D(2, 3)], name="inside")
    image, gain = keras.Input((8, 8, 3), name="image"), keras.Input((1, 1, 1), name="gain")
    scaled = keras.layers.Multiply(name="scaled")([image, gain])
    net = keras.Model([image, gain], [inside(scaled), scaled])
    model = from_keras(
        net, "net", lambda images: (unit_preprocessing(8)(images), np.full((len(images), 1, 1, 1), 2, np.float32))
    )
    assert model.layers() == {"scaled": (8, 8, 3), "inside": (6, 6, 2), "output": (6, 6, 2), "output.1": (8, 8, 3)}
    shown = stimuli([0, 1])
    np.testing.assert_array_equal(model(shown, "output.1").values, model(shown, "scaled").values)
    assert model(shown, "scaled").values.max() > 1
    with pytest.raises(ValueError, match="does not take square images of one size alone: give preprocess="):
        from_keras(net, "net")
