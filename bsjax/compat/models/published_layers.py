"""Maps from regions to layers that are stored next to plugins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bsjax.core.discovery import Plugin, brainscore_plugins
from bsjax.models.region_layers import Layers, layers_by_region
from bsjax.models.registry import model_registry


def published_layers(identifier: str) -> Mapping[str, Layers] | None:
    """Region -> layers, from ``region_layer_map/<identifier>.json`` next to the model's plugin; None without one.

    Raises:
        ValueError: the file does not hold a map.

    Example:
        >>> published_layers("pixels") is None
        True
    """
    for plugin in _plugins_with(identifier):
        path = plugin.folder / "region_layer_map" / f"{identifier}.json"
        if path.is_file():
            return layers_by_region(path)
    return None


def _plugins_with(identifier: str) -> Iterator[Plugin]:
    registered = model_registry.plugin_of(identifier) if identifier in model_registry else None
    if registered is not None:
        yield registered
    # bsjax may have a model of this identifier, too.
    for plugin in brainscore_plugins():
        if any((each.registry, each.identifier) == ("model_registry", identifier) for each in plugin.declarations):
            yield plugin
