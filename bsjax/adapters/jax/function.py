"""Adapter of JAX functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Unpack

import jax

from bsjax.activations.extraction import ExtractedActivations
from bsjax.activations.inputs.preprocessing import Preprocessing, unit_preprocessing
from bsjax.activations.options import ExtractionOptions
from bsjax.adapters.jax.network import JaxNetwork

_ONLY = "output"


def from_jax(
    function: Callable[..., Any],
    identifier: str,
    preprocess: Preprocessing | None = None,
    parameters: Any = None,
    **options: Unpack[ExtractionOptions],
) -> ExtractedActivations:
    """Make an activations model from any traceable JAX function.

    Args:
        function: ``function(images)``, or ``function(parameters, images)`` if ``parameters`` are given. It returns an
            array (the layer ``"output"``) or a mapping of arrays, whose keys are the layers; nested mappings give
            dotted names. The first axis of every array is the image. Only what a requested layer needs is computed.
        identifier: name of the model.
        preprocess: list of uint8 ``(height, width, 3)`` images -> batch; by default 224 pixels with values in [0, 1],
            ``(images, 224, 224, 3)``. A tuple or dict of arrays is passed to the function unchanged.
        parameters: a pytree of arrays. Pass large arrays here rather than in the function's closure, where they would
            become constants of the compiled program.
        **options: of the extraction, see :class:`~bsjax.activations.ExtractedActivations`; the function is compiled
            once for each batch shape.

    Raises:
        ValueError: ``function`` is not callable.

    Example:
        >>> model = from_jax(lambda images: {"rgb": images.mean((1, 2)), "all": images.mean((1, 2, 3))}, "m")
        >>> model.layers()
        {'rgb': (3,), 'all': ()}
    """
    if not callable(function):
        raise ValueError(f"from_jax takes a function of images, got {type(function).__name__}")

    def forward(_structure: None, parameters: Any, batch: Any, _layers: object) -> dict[str, jax.Array]:
        return _named_arrays(identifier, function(batch) if parameters is None else function(parameters, batch))

    name = getattr(function, "__name__", type(function).__name__)
    network = JaxNetwork(forward, lambda: (None, parameters), name, lambda: function)
    return ExtractedActivations(identifier, network, preprocess or unit_preprocessing(), **options)


def _named_arrays(identifier: str, output: Any, prefix: str = "") -> dict[str, jax.Array]:
    if isinstance(output, jax.Array):
        return {prefix or _ONLY: output}
    if not isinstance(output, Mapping):
        where = f"as {prefix!r}" if prefix else "from its function"
        raise ValueError(
            f"model {identifier!r}: expected an array or a mapping of arrays {where}, got {type(output).__name__}"
        )
    return {
        name: array
        for key, value in output.items()
        for name, array in _named_arrays(identifier, value, f"{prefix}.{key}" if prefix else str(key)).items()
    }
