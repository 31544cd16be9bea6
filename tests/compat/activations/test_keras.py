"""Wrappers of Keras models."""

import os
from pathlib import Path

import jax
import numpy as np
import pytest
from PIL import Image

from bsjax.compat.activations import keras as wrappers


@pytest.fixture(scope="module")
def keras():
    # Keras reads both when it is imported, and writes a file into its home.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERAS_BACKEND", "jax")
        patch.setenv("KERAS_HOME", str(Path(os.environ["BSJAX_HOME"]) / "keras"))
        return pytest.importorskip("keras")


@pytest.fixture
def as_lax_as_keras():
    with jax.numpy_rank_promotion("allow"), jax.numpy_dtype_promotion("standard"):
        yield


@pytest.fixture
def net(keras, as_lax_as_keras):
    keras.utils.set_random_seed(0)
    layers = [
        keras.Input((8, 8, 3)),
        keras.layers.Conv2D(4, 3, name="conv"),
        keras.layers.BatchNormalization(name="bn"),
        keras.layers.Dropout(0.5, name="drop"),
        keras.layers.Flatten(name="flat"),
        keras.layers.Dense(3, name="fc"),
    ]
    return keras.Sequential(layers, name="little")


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("images"), np.random.default_rng(0)
    made = [folder / f"{n}.png" for n in range(5)]
    for path in made:
        Image.fromarray(rng.integers(0, 256, (16, 24, 3), np.uint8)).save(path)
    return [str(path) for path in made]


def unit(paths):
    return wrappers.load_images(paths, 8) / 255


@pytest.mark.slow
def test_layers_are_what_the_model_computes(net, paths):
    wrapper = wrappers.KerasWrapper(net, unit, batch_size=2)
    found = wrapper(paths, ["fc", "conv"])
    images = unit(paths)
    conv = np.asarray(net.get_layer("conv")(images)).reshape(5, -1)
    np.testing.assert_allclose(found.values, np.hstack([net.predict_on_batch(images), conv]), atol=1e-5)
    assert found["neuroid_id"].values[0] == "little.fc.0" and found["stimulus_path"].values.tolist() == paths
    np.testing.assert_array_equal(wrapper(paths).values, found.sel(layer="fc").values)  # logits, the last layer
    assert wrapper.layers()["conv"] == (6, 6, 4) and wrapper.layers()["logits"] == (3,) and "little" in repr(wrapper)


def test_other_weights_are_another_model(net, paths):
    wrapper = wrappers.KerasWrapper(net, unit, "named")
    before = wrapper(paths, "fc")
    net.get_layer("fc").bias.assign([1.0, 2.0, 3.0])
    np.testing.assert_allclose(wrapper(paths, "fc").values - before.values, [[1, 2, 3]] * 5, atol=1e-5)
    assert wrapper.identifier == "named"


def test_a_subclass_is_known_by_its_own_code(net):
    class Doubled(wrappers.KerasWrapper):
        def get_activations(self, images, layer_names):
            return super().get_activations(2 * images, layer_names)

    digests = [cls(net, unit, "named").recipe_digest() for cls in (wrappers.KerasWrapper, Doubled)]
    assert None not in digests and digests[0] != digests[1]


def test_a_layer_that_is_not_there(net, paths):
    with pytest.raises(ValueError, match="'named' has no layer 'nowhere'; there are conv, bn"):
        wrappers.KerasWrapper(net, unit, "named").get_activations(unit(paths), ["nowhere"])


def test_images_are_those_of_keras(keras, paths):
    images = wrappers.load_images(paths, 8)
    nearest = [np.asarray(Image.open(path).resize((8, 8), Image.Resampling.NEAREST), np.float32) for path in paths]
    np.testing.assert_array_equal(images, nearest)
    np.testing.assert_allclose(wrappers.preprocess(paths, 8, mode="tf"), images / 127.5 - 1, atol=1e-6)
