"""Import hook that provides stand-in modules for Brain-Score's packages.

:mod:`bsjax.compat.names` has the table of names and their replacements. The hook has no effect until it is installed.
"""

import importlib
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import Distribution
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from bsjax.compat.names import PACKAGES, Refused, names_of, nearest_names, table_of, target_of
from bsjax.core.discovery import KINDS, plugins_under

_LIBRARY = "brainscore_vision"


class StandIn(ModuleType):
    """A module of Brain-Score, whose names are taken from the table and looked up on first use."""

    def __getattr__(self, name: str) -> Any:
        target = None if name.startswith("__") else target_of(self.__name__, name)
        if target is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if isinstance(target, Refused):
            near = [] if name in names_of(self.__name__) else nearest_names(self.__name__, name)
            raise ImportError(
                f"{self.__name__}.{name} has no meaning in bsjax: {target.instead}"
                + (f"; or was {near[0]} meant?" if near else ""),
                name=self.__name__,
            )
        module, _, attribute = target.partition(":")
        found = importlib.import_module(module)
        value = getattr(found, attribute) if attribute else found
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *names_of(self.__name__)})


class _StandInLoader(Loader):
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        module.__dict__["__all__"] = [
            each for each in sorted(names_of(name)) if not isinstance(target_of(name, each), Refused)
        ]


class Finder(MetaPathFinder):
    """Finds the stand-ins for Brain-Score's modules, and plugins in folders of its layout.

    A plugin's folder is a package below ``brainscore_vision.models``, ``.benchmarks``, ``.metrics`` or ``.data``, as in
    the reference, so that plugins can import each other.

    Args:
        answers: whether to provide the modules to the code in a file.
        plugin_folders: the current folders of plugins of a kind (``models``).
    """

    def __init__(self, answers: Callable[[str], bool], plugin_folders: Callable[[str], Sequence[Path]]) -> None:
        self._answers = answers
        self._plugin_folders = plugin_folders

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module, as every finder; None leaves it to the other finders."""
        if fullname.partition(".")[0] not in PACKAGES or not self._answers(_asking()):
            return None
        parent, _, name = fullname.rpartition(".")
        library, _, kind = parent.partition(".")
        of_plugins = library == _LIBRARY and kind.partition(".")[0] in KINDS
        if of_plugins:
            folders = [*(path or ()), *map(str, self._plugin_folders(kind) if kind in KINDS else ())]
            found = PathFinder.find_spec(fullname, folders) if folders else None
            if found is not None:
                return found
        if table_of(fullname) is not None:
            # All stand-ins are packages, so that imports of their missing submodules come here.
            return ModuleSpec(fullname, _StandInLoader(), is_package=True)
        near = nearest_names(parent, name)
        if near or (table_of(parent) is not None and not of_plugins):
            hint = f"; nearest: {', '.join(near)}" if near else "; docs/brainscore-names.md has its names"
            raise ImportError(f"{parent} of Brain-Score has no {name}{hint}", name=parent)
        return None


def really_installed() -> list[str]:
    """The packages that are actually installed, so that stand-ins would replace them.

    A folder with such a name in the working directory or above it holds plugins, as does one without ``__init__.py``.
    """
    elsewhere = [path for path in sys.path if path and not Path.cwd().is_relative_to(Path(path).resolve())]
    specs = {name: PathFinder.find_spec(name, elsewhere) for name in PACKAGES}
    return [
        name
        for name, spec in specs.items()
        if (spec is not None and spec.origin) or any(Distribution.discover(name=name, path=elsewhere))
    ]


def folders_with_plugins() -> list[Path]:
    """The working directory and the folders of ``sys.path`` that hold plugins in Brain-Score's layout."""
    places = dict.fromkeys([Path.cwd(), *(Path(path) for path in sys.path if path)])
    return [path for path in places if (path / _LIBRARY).is_dir() and plugins_under(path)]


def _asking() -> str:
    """The file of the code that runs the ``import``; "" if it cannot be found."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if file != __file__ and not file.startswith("<frozen ") and file != importlib.__file__:
            return file
        frame = frame.f_back
    return ""
