"""Adapter of Keras models, through Keras's JAX backend."""

from __future__ import annotations

from typing import Any, Unpack

import jax

from bsjax.activations.extraction import ExtractedActivations
from bsjax.activations.inputs.preprocessing import Preprocessing, unit_preprocessing
from bsjax.activations.options import ExtractionOptions
from bsjax.adapters.jax.network import Forward, JaxNetwork
from bsjax.adapters.nested_outputs import named_layers
from bsjax.core.extras import import_extra

_ROOT = "output"


def from_keras(
    model: Any,
    identifier: str,
    preprocess: Preprocessing | None = None,
    **options: Unpack[ExtractionOptions],
) -> ExtractedActivations:
    """Make an activations model from a Sequential or functional Keras model.

    Layers are the model's layers, by name, and ``"output"``, the output of the whole model. If a layer returns several
    arrays, the first has the layer's name and each further one a name below it, ``layer.1``. If a layer is called
    several times, the first call counts. Layers inside a nested model are not available.

    The model runs compiled, in inference mode. Its weights are read at every run.

    Args:
        model: a ``keras.Sequential`` or functional ``keras.Model``, with ``KERAS_BACKEND=jax`` in the environment.
        identifier: name of the model.
        preprocess: list of uint8 ``(height, width, 3)`` images -> batch; by default the size of the model's input and
            values in [0, 1], ``(images, height, width, 3)``.
        **options: of the extraction, see :class:`~bsjax.activations.ExtractedActivations`.

    Raises:
        ImportError: Keras is not installed.
        ValueError: Keras uses another backend, or ``model`` is not such a model.

    Example:
        ``from_keras(keras.Sequential([keras.Input((32, 32, 3)), keras.layers.Conv2D(8, 3, name="conv")]), "net")``
    """
    keras = import_extra("keras", "keras")
    if keras.backend.backend() != "jax":
        raise ValueError(
            f"Keras computes with {keras.backend.backend()!r}: set KERAS_BACKEND=jax before keras is imported"
        )
    if not isinstance(model, keras.Model) or not getattr(model, "inputs", None):
        raise ValueError(
            f"from_keras takes a functional model, or a Sequential one that knows its input; got {type(model).__name__}"
        )
    outputs = {layer.name: layer.output for layer in model.layers if not isinstance(layer, keras.layers.InputLayer)}
    outputs.setdefault(_ROOT, model.outputs)
    recorder = keras.Model(model.inputs, outputs)

    def current() -> tuple[None, Any]:
        kinds = (recorder.trainable_variables, recorder.non_trainable_variables)
        return None, [[variable.value for variable in variables] for variables in kinds]

    def made_of() -> object:
        return keras.__version__, model.to_json(), [type(layer) for layer in model.layers]

    network = JaxNetwork(_forward(recorder, list(outputs)), current, model.name, made_of)
    return ExtractedActivations(identifier, network, preprocess or _preprocessing(model), **options)


def _forward(recorder: Any, order: list[str]) -> Forward:
    def forward(_structure: None, parameters: Any, batch: Any, _layers: object) -> dict[str, jax.Array]:
        found, _ = recorder.stateless_call(*parameters, batch, training=False)
        return {
            name: array
            for layer in order
            for name, array in named_layers(layer, found[layer], lambda value: isinstance(value, jax.Array)).items()
        }

    return forward


def _preprocessing(model: Any) -> Preprocessing:
    height, width, channels = (tuple(model.inputs[0].shape) + (None,) * 4)[1:4]
    if len(model.inputs) > 1 or height is None or height != width or channels != 3:
        raise ValueError(
            f"model {model.name!r} does not take square images of one size alone: give preprocess= for its "
            f"inputs {', '.join(str(each.shape) for each in model.inputs)}"
        )
    return unit_preprocessing(height)
