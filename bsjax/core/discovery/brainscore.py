"""Plugins written for Brain-Score, and their locations."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from bsjax.core.discovery import importing
from bsjax.core.discovery.folders import KINDS, Plugin, find_plugins, search_path


def brainscore_plugins() -> tuple[Plugin, ...]:
    """List the plugins for Brain-Score on the search path."""
    return _of(search_path())


def brainscore_folders(kind: str) -> list[Path]:
    """List the folders on the search path that contain Brain-Score plugins of a kind, such as ``"models"``.

    Example:
        >>> brainscore_folders("models")
        []
    """
    return list(dict.fromkeys(plugin.folder.parent for plugin in brainscore_plugins() if kind_of(plugin) == kind))


def is_in_brainscore_plugin(file: str) -> bool:
    """Check whether a source file is part of a Brain-Score plugin, or is the module that imports plugins."""
    return file == importing.__file__ or any(Path(file).is_relative_to(folder) for folder in _roots(search_path()))


@contextmanager
def as_plugin(module: str) -> Iterator[None]:
    """Attribute registrations to the plugin of a module, even if another plugin imports the module."""
    name = ".".join(module.split(".")[:3])
    plugin = next((each for each in brainscore_plugins() if each.module == name), None)
    if plugin is None:
        yield
    else:
        with importing.loading_as(plugin):
            yield


def kind_of(plugin: Plugin) -> str:
    """Get the kind of a plugin from the name of its parent folder; "" if that is not a kind."""
    kind = plugin.folder.resolve().parent.name
    return kind if kind in KINDS else ""


@cache
def _of(path: str) -> tuple[Plugin, ...]:
    return tuple(plugin for plugin in find_plugins(path) if plugin.for_brainscore)


@cache
def _roots(path: str) -> frozenset[Path]:
    return frozenset(folder for plugin in _of(path) for folder in (plugin.folder, plugin.folder.resolve()))
