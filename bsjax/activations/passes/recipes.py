"""Recipes of layers: what their activations are made of, whose digest is their key in the store."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from importlib.metadata import version

from bsjax.activations.inputs.shown_items import Item
from bsjax.activations.passes.runner import Runner
from bsjax.activations.reducers import Reducer
from bsjax.activations.store import Recipe
from bsjax.core.digests.values import Undigestible

# What decodes and resizes images, beside bsjax itself.
_LIBRARIES = ("bsjax", "numpy", "pillow")


def recipes(
    runner: Runner, items: Sequence[Item], layers: Sequence[str], reducer: Reducer | None
) -> dict[str, Recipe] | None:
    """The recipe of each layer; None, with a warning, where the content of the model or its preprocessing is not known.

    Raises:
        FileNotFoundError: an image is not there.
    """
    try:
        model, preprocessing = runner.digests()
    except Undigestible as error:
        runner.digest = None
        warnings.warn(
            f"activations of model {runner.identifier!r} are not kept, as a change of it could not be noticed: {error}",
            stacklevel=2,
        )
        return None
    runner.digest = model
    shown = tuple(item.digest() for item in items)
    versions = tuple((library, version(library)) for library in _LIBRARIES)
    reduced = "" if reducer is None else reducer.digest()
    return {layer: Recipe(layer, model, preprocessing, reduced, shown, versions) for layer in layers}
