"""Entries of a registry, from bsjax itself, from running code, and from plugins."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from types import FrameType
from typing import Any, TypeAlias

from bsjax.core.discovery.folders import Plugin, find_plugins, search_path
from bsjax.core.discovery.importing import explaining, import_plugin, loading

REGISTERS_FOR_OTHERS = True

Factory: TypeAlias = Callable[..., Any]


@dataclass
class Entry:
    """An entry of a registry.

    Attributes:
        target: the factory, or ``"package.module:attribute"`` naming it; None until its plugin has been imported.
        summary: one line for listings.
        requires: the extras of bsjax that it needs.
        row: first argument of the factory, for a factory that builds several objects.
        takes_identifier: whether the identifier is that argument, as for a source or a table.
        by: the module that registered it, if that is not a plugin.
        plugin: the plugin that registers it.
        rivals: other plugins that register the same identifier.
    """

    target: Factory | str | None
    summary: str
    requires: tuple[str, ...]
    row: object = None
    takes_identifier: bool = False
    by: str = ""
    plugin: Plugin | None = None
    rivals: tuple[Plugin, ...] = ()


class Entries:
    """The entries of one registry.

    Args:
        kind: kind of entries, for messages.
        plugins: name under which plugins use the registry, e.g. ``"model_registry"``; "" if they cannot.
        replaceable: whether running code may replace entries of bsjax.
    """

    def __init__(self, kind: str, plugins: str, *, replaceable: bool) -> None:
        self._kind, self._replaceable = kind, replaceable
        self._plugins = plugins
        self._entries: dict[str, Entry] = {}
        self._searched: str | None = None

    def all(self) -> dict[str, Entry]:
        """Get all entries, including those of plugins, which are searched again if the search path has changed."""
        path = search_path() if self._plugins else None
        if path == self._searched:
            return self._entries
        self._searched = path
        plugins = find_plugins(path or "")
        here = {plugin.folder for plugin in plugins}
        for identifier, entry in list(self._entries.items()):
            entry.rivals = ()
            if entry.plugin is not None and (entry.target is None or entry.plugin.folder not in here):
                del self._entries[identifier]
        for plugin in plugins:
            for declared in plugin.declarations:
                if declared.registry == self._plugins:
                    self._claim(declared.identifier, Entry(None, declared.summary, (), plugin=plugin), plugin)
        return self._entries

    def add(self, identifier: str, entry: Entry) -> None:
        """Add an entry. Running code replaces existing entries; plugins cannot replace those of others.

        Raises:
            ValueError: running code registers an identifier of bsjax that is not replaceable.
        """
        state, by = loading() if self._plugins else None, calling_module()
        if state is None or by.startswith("bsjax."):  # a plugin may be the first to import a module of bsjax
            before = self._entries.get(identifier)
            theirs = before is not None and before.by.startswith("bsjax.") and not by.startswith("bsjax.")
            if before is not None and theirs and not self._replaceable:
                raise ValueError(f"{self._kind} {identifier!r} is bsjax's own ({before.by}): choose another identifier")
            entry.by = by
            self._entries[identifier] = entry
            return
        before = self.all().get(identifier)
        state.undo.append(partial(self._put_back, identifier, None if before is None else replace(before)))
        entry.plugin = state.plugin
        entry.summary = entry.summary or (before.summary if before else "")
        if callable(entry.target):
            entry.target = explaining(entry.target, state.plugin, f"{self._kind} {identifier!r}")
        self._claim(identifier, entry, state.plugin)

    def target(self, identifier: str, entry: Entry) -> Factory | str:
        """Get the factory of an entry, after the import of its plugin if necessary.

        Raises:
            ValueError: several plugins register the identifier, or a plugin does not register what it declares.
            ImportError: the plugin cannot be imported.
        """
        if entry.rivals:
            raise ValueError(self._two_claims(identifier, entry))
        if entry.target is None and entry.plugin is not None:
            import_plugin(entry.plugin, f"{self._kind} {identifier!r}")
            entry = self.all().get(identifier, entry)
        if entry.target is None:
            where = "" if entry.plugin is None else entry.plugin.where(identifier)
            raise ValueError(f"{self._kind} {identifier!r} is written in {where}, but running it does not register it")
        return entry.target

    def notes(self) -> list[str]:
        """List problems of plugins that are known without running them."""
        if not self._plugins:
            return []
        claims = [self._two_claims(name, entry) for name, entry in self.all().items() if entry.rivals]
        return [plugin.note for plugin in find_plugins(search_path()) if plugin.note] + claims

    def lacks_plugins(self) -> bool:
        """Whether plugins may register entries, and no folder of plugins is named."""
        return bool(self._plugins) and not search_path()

    def _claim(self, identifier: str, entry: Entry, plugin: Plugin) -> None:
        before = self._entries.get(identifier)
        if before is None:
            self._entries[identifier] = entry
        elif before.plugin is not None and _same_source(before.plugin, plugin):
            if entry.target is not None:  # the plugin now registers what it declared
                self._entries[identifier] = replace(entry, rivals=before.rivals)
        elif before.plugin is None and plugin.for_brainscore:
            return  # bsjax's own entry has precedence: it is the same experiment
        elif (before.plugin is not None or before.by.startswith("bsjax.")) and plugin not in before.rivals:
            before.rivals = (*before.rivals, plugin)

    def _put_back(self, identifier: str, before: Entry | None) -> None:
        if before is None:
            self._entries.pop(identifier, None)
        else:
            self._entries[identifier] = before

    def _two_claims(self, identifier: str, entry: Entry) -> str:
        first = f"bsjax itself ({entry.by})" if entry.plugin is None else entry.plugin.where(identifier)
        places = " and by ".join([first, *(rival.where(identifier) for rival in entry.rivals)])
        return f"{self._kind} {identifier!r} is registered by {places}: change the identifier in one of them"


def _same_source(one: Plugin, other: Plugin) -> bool:
    """Whether two plugins have the same folder or the same installed package."""
    return one.folder == other.folder or one.package == other.package != ""


def calling_module() -> str:
    """Find the module whose code registers, skipping intermediaries, which define ``REGISTERS_FOR_OTHERS``."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_between(frame):
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", ""))


def _is_between(frame: FrameType) -> bool:
    module = frame.f_globals
    if "REGISTERS_FOR_OTHERS" in module:
        return frame.f_code.co_name != "<module>"  # which registers what is its own
    return module.get("__name__") in ("_collections_abc", "contextlib")
