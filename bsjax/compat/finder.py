"""Imports of Brain-Score's packages, answered by modules that stand in for them.

What stands in for a name is in the table of :mod:`bsjax.compat.names`. Nothing here is at work before it is installed.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from bsjax.compat.names import MODULES, PACKAGES, Refused, is_folder, table_of, target_of
from bsjax.core.discovery import KINDS

_LIBRARY = "brainscore_vision"


class StandIn(ModuleType):
    """A module of Brain-Score's: its names are those of the table, and looked up when they are first used."""

    def __getattr__(self, name: str) -> Any:
        target = None if name.startswith("__") else target_of(self.__name__, name)
        if target is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if isinstance(target, Refused):
            raise ImportError(f"{self.__name__}.{name} has no meaning in bsjax: {target.instead}", name=self.__name__)
        module, _, attribute = target.partition(":")
        found = importlib.import_module(module)
        value = getattr(found, attribute) if attribute else found
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *MODULES.get(self.__name__, {})})


class _StandInLoader(Loader):
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        names = MODULES.get(module.__name__, {})
        module.__dict__["__all__"] = [name for name, to in names.items() if name != "*" and not isinstance(to, Refused)]


class Finder(MetaPathFinder):
    """Finds the modules that stand in for Brain-Score's, and the plugins in folders of its layout.

    A plugin's folder is a package below ``brainscore_vision.models``, ``.benchmarks``, ``.metrics`` or ``.data``, as it
    is in the reference, so that plugins import each other.

    Args:
        answers: whether to answer the code in this file.
        plugin_folders: the folders that hold plugins of a kind (``models``), now.
    """

    def __init__(self, answers: Callable[[str], bool], plugin_folders: Callable[[str], Sequence[Path]]) -> None:
        self._answers = answers
        self._plugin_folders = plugin_folders

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """As every finder; None leaves a module to the others."""
        if fullname.partition(".")[0] not in PACKAGES or not self._answers(_asking()):
            return None
        folders = list(path or ())
        library, _, kind = fullname.rpartition(".")[0].partition(".")
        if library == _LIBRARY and kind in KINDS:
            folders += map(str, self._plugin_folders(kind))
        found = PathFinder.find_spec(fullname, folders) if folders else None
        if found is not None or table_of(fullname) is None:
            return found
        return ModuleSpec(fullname, _StandInLoader(), is_package=is_folder(fullname))


def really_installed() -> list[str]:
    """Those of the packages that are installed, so that nothing needs to stand in for them."""
    return [name for name in PACKAGES if PathFinder.find_spec(name) is not None]


def _asking() -> str:
    """The file of the code whose ``import`` is answered; "" where none is seen."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if file != __file__ and not file.startswith("<frozen ") and file != importlib.__file__:
            return file
        frame = frame.f_back
    return ""
