"""Wrapper of Keras models."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from bsjax.activations.network import Batch
from bsjax.compat.activations.extractor import ActivationsExtractorHelper, CalledNetwork, Wrapper
from bsjax.compat.activations.overrides import overrides_of
from bsjax.core.extras import import_extra

_LOGITS = "logits"


def load_image(image_filepath: str, image_size: int) -> np.ndarray:
    """Read an image into a square, float32 ``(image_size, image_size, 3)``, values 0 to 255, by nearest neighbour.

    Raises:
        ImportError: Keras is not installed.
    """
    utils = import_extra("keras.utils", "keras")
    return utils.img_to_array(utils.load_img(image_filepath, target_size=(image_size, image_size)))


def load_images(image_filepaths: Sequence[str], image_size: int) -> np.ndarray:
    """Read images into squares, see :func:`load_image`."""
    return np.array([load_image(path, image_size) for path in image_filepaths])


def preprocess(image_filepaths: Sequence[str], image_size: int, *args: Any, **kwargs: Any) -> np.ndarray:
    """Read images into squares and apply ``preprocess_input`` of Keras's ImageNet networks, with its arguments."""
    preprocess_input = import_extra("keras.applications.imagenet_utils", "keras").preprocess_input
    return preprocess_input(load_images(image_filepaths, image_size), *args, **kwargs)


class KerasWrapper(Wrapper):
    """A Keras model as an activations model.

    Layers have their names in the model; ``logits`` is the last one. The model runs on Keras's current backend.

    Args:
        model: a functional ``keras.Model``, or a ``keras.Sequential`` with a known input.
        preprocessing: paths of images -> array.
        identifier: name of the model; by default its name in Keras.
        batch_size: number of images per batch.

    Raises:
        ImportError: Keras is not installed.
    """

    def __init__(
        self,
        model: Any,
        preprocessing: Callable[[list[str]], Any] | None,
        identifier: str | None = None,
        batch_size: int = 64,
    ) -> None:
        self._model = model
        self._recorders: dict[tuple[str, ...], Any] = {}
        network = _KerasNetwork(self)
        self._extractor = ActivationsExtractorHelper(
            self.get_activations, preprocessing, identifier or model.name, batch_size, network=network
        )
        self._extractor.insert_attrs(self)

    def __repr__(self) -> str:
        return repr(self._model)

    def get_activations(self, images: Any, layer_names: Sequence[str]) -> OrderedDict[str, np.ndarray]:
        """Activations of layers for a batch of preprocessed images."""
        keras = import_extra("keras", "keras")
        names = tuple(layer_names)
        if names not in self._recorders:
            outputs = [self._layer(name).output for name in names]
            # For a layer with several outputs, use the first.
            firsts = [each[0] if isinstance(each, (list, tuple)) else each for each in outputs]
            self._recorders[names] = keras.Model(self._model.inputs, firsts)
        found = self._recorders[names].predict_on_batch(np.asarray(images))
        arrays = found if isinstance(found, (list, tuple)) else [found]
        return OrderedDict(zip(names, map(np.asarray, arrays), strict=True))

    def _layer(self, name: str) -> Any:
        known = {layer.name: layer for layer in self._model.layers}
        if name not in known and name != _LOGITS:
            raise ValueError(f"model {self.identifier!r} has no layer {name!r}; there are {', '.join(known)}")
        return known.get(name, self._model.layers[-1])


class _KerasNetwork(CalledNetwork):
    channels_last = True

    def __init__(self, wrapper: KerasWrapper) -> None:
        super().__init__(wrapper.get_activations, self._names)
        self._wrapper = wrapper

    def _names(self) -> Iterable[str]:
        return [*(layer.name for layer in self._wrapper._model.layers), _LOGITS]

    def shapes(self, batch: Batch) -> Mapping[str, tuple[int, ...]]:
        """Shapes of the layers, from a single pass."""
        return {layer: output.shape for layer, output in self.run(batch, [*self._names()]).items()}

    def _content(self, batch: Batch) -> Any:
        """The structure, the weights, and the wrapper's code."""
        keras, model = import_extra("keras", "keras"), self._wrapper._model
        weights = [keras.ops.convert_to_numpy(weight.value) for weight in model.weights]
        settings = keras.__version__, keras.backend.backend(), str(keras.mixed_precision.dtype_policy().name)
        own = overrides_of(self._wrapper, apart=("_model", "_recorders", "_extractor"))
        classes = [type(layer) for layer in model.layers]
        return model.to_json(), weights, own, classes, settings, tuple(self.hooks.values())
