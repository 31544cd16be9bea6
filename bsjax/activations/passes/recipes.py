"""Recipes of layers, which determine their keys in the cache."""

import warnings
from collections.abc import Sequence
from importlib.metadata import version

from bsjax.activations.cache import Recipe
from bsjax.activations.inputs.shown_items import Item
from bsjax.activations.options import Options
from bsjax.activations.passes.runner import Runner
from bsjax.core.digests.arrays import Undigestible
from bsjax.core.identity.source import OF_ACTIVATIONS, own_source

# Libraries that decode and resize images.
_LIBRARIES = ("numpy", "pillow")


def recipes(runner: Runner, items: Sequence[Item], layers: Sequence[str], options: Options) -> dict[str, Recipe] | None:
    """The recipe of each layer; None, with a warning, if the model or its preprocessing cannot be identified.

    Raises:
        FileNotFoundError: an image does not exist.
    """
    try:
        model, preprocessing = runner.digests(options.version)
    except Undigestible as error:
        warnings.warn(
            f"activations of model {runner.identifier!r} are not kept, as a change of it could not be noticed: "
            f"{error}; or vouch for it by version='1', and raise that with every change",
            stacklevel=2,
        )
        return None
    shown = tuple(item.digest() for item in items)
    versions = ("bsjax", own_source(*OF_ACTIVATIONS)), *((library, version(library)) for library in _LIBRARIES)
    reduced = "" if options.reducer is None else options.reducer.digest()
    return {layer: Recipe(layer, model, preprocessing, reduced, shown, versions) for layer in layers}
