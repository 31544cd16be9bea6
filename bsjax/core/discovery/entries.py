"""Entries of a registry: what comes with bsjax, what running code has added, and what plugins declare."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

from bsjax.core.discovery.folders import Plugin, find_plugins, search_path
from bsjax.core.discovery.importing import explaining, import_plugin, loading

REGISTERS_FOR_OTHERS = True

Factory: TypeAlias = Callable[..., Any]


@dataclass
class Entry:
    """What an identifier stands for.

    Attributes:
        target: what builds it, or ``"package.module:attribute"`` naming that; None while the plugin that registers it
            has not been imported.
        summary: one line for listings.
        requires: the extras of bsjax that it needs.
        row: what the target is called with first, as one that builds several things is.
        by: the module that registered it, where that was no plugin.
        plugin: the plugin that registers it.
        rivals: plugins that claim the identifier too.
    """

    target: Factory | str | None
    summary: str
    requires: tuple[str, ...]
    row: object = None
    by: str = ""
    plugin: Plugin | None = None
    rivals: tuple[Plugin, ...] = ()


class Entries:
    """The entries of one registry.

    Args:
        kind: what is registered, for messages.
        plugins: the name by which plugins register, e.g. ``"model_registry"``; "" where they cannot.
    """

    def __init__(self, kind: str, plugins: str) -> None:
        self._kind = kind
        self._plugins = plugins
        self._entries: dict[str, Entry] = {}
        self._searched: str | None = None

    def all(self) -> dict[str, Entry]:
        """All of them, with those of the plugins, which are looked for again where the search path has changed."""
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
        """Add what is registered now. Running code replaces what is there; a plugin takes nothing from anybody else."""
        state, by = loading() if self._plugins else None, calling_module()
        if state is None or by.startswith("bsjax."):  # which a plugin may be the first to import
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
        """What an entry's identifier stands for; the plugin that has it is imported.

        Raises:
            ValueError: a plugin claims an identifier that is taken, or does not register what it declares.
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
        """What is wrong with plugins, as far as it can be told without running them."""
        if not self._plugins:
            return []
        claims = [self._two_claims(name, entry) for name, entry in self.all().items() if entry.rivals]
        return [plugin.note for plugin in find_plugins(search_path()) if plugin.note] + claims

    def _claim(self, identifier: str, entry: Entry, plugin: Plugin) -> None:
        before = self._entries.get(identifier)
        if before is None:
            self._entries[identifier] = entry
        elif before.plugin is not None and _same_source(before.plugin, plugin):
            if entry.target is not None:  # what it declared
                self._entries[identifier] = replace(entry, rivals=before.rivals)
        elif before.plugin is None and plugin.for_brainscore:
            return  # bsjax's own counts: it is the same experiment
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
    """Whether two plugins are one folder, or of one installed package."""
    return one.folder == other.folder or one.package == other.package != ""


def calling_module() -> str:
    """The module whose code registers: not one that does so for others, and says so by ``REGISTERS_FOR_OTHERS``."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_between(frame.f_globals):
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", ""))


def _is_between(module: dict[str, Any]) -> bool:
    return "REGISTERS_FOR_OTHERS" in module or module.get("__name__") in ("_collections_abc", "contextlib")
