"""Import of plugins under private names, which is undone completely if it fails."""

from __future__ import annotations

import functools
import hashlib
import importlib
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from bsjax.core.discovery.declarations import BRAINSCORE
from bsjax.core.discovery.failures import last_line_in, not_exiting
from bsjax.core.discovery.folders import KINDS, VARIABLE, Plugin
from bsjax.core.discovery.library_settings import settings_of

# The package that makes imports of Brain-Score plugins work; imported by name, since core must not depend on it.
_STANDS_IN = "bsjax.compat"
BY_ITSELF = ", or run it by itself: bsjax score --isolated"


@dataclass
class Loading:
    """A plugin that is being imported, and functions that undo its registrations."""

    plugin: Plugin
    undo: list[Callable[[], None]] = field(default_factory=list)


_LOADING: ContextVar[Loading | None] = ContextVar("loading", default=None)
_ONE_AT_A_TIME = threading.RLock()
_RUNNING: set[str] = set()


def loading() -> Loading | None:
    """Get the plugin that is being imported; None if there is none."""
    return _LOADING.get()


def import_plugin(plugin: Plugin, asked: str) -> None:
    """Import a plugin, which makes its registrations.

    A folder is imported as a package with a unique name, so that relative imports in it work. ``sys.path`` is not
    changed and nothing is installed. If the import fails, its modules and registrations are removed, and the next
    request tries again.

    Args:
        plugin: the plugin.
        asked: the requested entry, for messages, e.g. ``"benchmark 'Doe2026.V1-pls'"``.

    Raises:
        ImportError: the plugin cannot be imported; the message contains the file, line and reason, or the missing
            package.
    """
    name = plugin.module or _private_name(plugin.folder)
    if plugin.for_brainscore:
        importlib.import_module(_STANDS_IN).answer_plugins()
    with _ONE_AT_A_TIME:
        if name in _RUNNING:
            raise ImportError(f"{asked} is asked for by the plugin that registers it, {plugin.folder}, before it does")
        before = set(sys.modules) if plugin.module else set()
        _RUNNING.add(name)
        try:
            with loading_as(plugin), not_exiting(), settings_of(plugin):
                if plugin.module:
                    if plugin.for_brainscore:
                        _forget(name)
                    importlib.import_module(name)
                else:
                    _import_folder(plugin.folder, name)
        except BaseException as error:  # also undone after an interrupt
            for module in set(sys.modules) - before:
                if module == name or module.startswith(f"{name}."):
                    del sys.modules[module]
            if not isinstance(error, Exception):
                raise
            raise _explained(error, plugin, asked) from error
        finally:
            _RUNNING.discard(name)


@contextmanager
def loading_as(plugin: Plugin) -> Iterator[None]:
    """Attribute the registrations of a block to a plugin, and undo them if the block fails."""
    state = Loading(plugin)
    token = _LOADING.set(state)
    try:
        yield
    except BaseException:
        for undo in reversed(state.undo):
            undo()
        raise
    finally:
        _LOADING.reset(token)


def explaining(factory: Callable[..., Any], plugin: Plugin, asked: str) -> Callable[..., Any]:
    """Wrap the factory of a plugin, so that missing packages are explained as by :func:`import_plugin`.

    The factory cannot end the process by ``sys.exit``.
    """

    @functools.wraps(factory, updated=())
    def build(*args: Any, **kwargs: Any) -> Any:
        try:
            with not_exiting(), settings_of(plugin):
                return factory(*args, **kwargs)
        except ModuleNotFoundError as error:
            raise _explained(error, plugin, asked) from error

    return build


def _private_name(folder: Path) -> str:
    place = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:8]
    word = re.sub(r"\W", "_", folder.name)
    return f"bsjax_plugin_{word}_{place}"


def _import_folder(folder: Path, name: str) -> None:
    path = folder.resolve() / "__init__.py"
    spec = spec_from_file_location(name, path, submodule_search_locations=[str(path.parent)])
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be imported")
    _forget(name)
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)


def _forget(name: str) -> None:
    """Remove a module and its submodules from ``sys.modules``, so that they are imported again."""
    for loaded in [loaded for loaded in sys.modules if loaded == name or loaded.startswith(f"{name}.")]:
        del sys.modules[loaded]


def _explained(error: Exception, plugin: Plugin, asked: str) -> ImportError:
    where = f"{asked} of the plugin {plugin.folder}"
    if isinstance(error, ModuleNotFoundError) and error.name:
        missing = error.name.partition(".")[0]
        own = plugin.module or _private_name(plugin.folder)
        if error.name.startswith(f"{own}."):
            place = plugin.folder / error.name[len(own) + 1 :].replace(".", "/")
            return ImportError(f"{where} imports {place}.py, which is not there", name=error.name)
        if missing in BRAINSCORE:
            other = error.name.partition(".")[2]
            if other.partition(".")[0] in KINDS and "." in other:
                return ImportError(
                    f"{where} imports the plugin {other.replace('.', '/')}, which is not below a folder of ${VARIABLE}",
                    name=error.name,
                )
            return ImportError(
                f"{where} imports {error.name}, which bsjax has nothing for: see docs/brainscore-names.md",
                name=error.name,
            )
        lacking = f"{missing}, which is not installed"
        if error.name != missing:
            lacking = f"{error.name}, which the installed {missing} does not have"
        return ImportError(f"{where} needs {lacking}: {_remedy(missing, plugin, asked)}", name=missing)
    # The message of a syntax error already contains the location.
    line = "" if isinstance(error, SyntaxError) else last_line_in([plugin.folder], error)
    place = f"{line}: " if line else ""
    return ImportError(f"{where} cannot be imported: {place}{type(error).__name__}: {error}".rstrip(": "))


def _remedy(missing: str, plugin: Plugin, asked: str) -> str:
    """What to do about a missing package."""
    path = plugin.folder / "requirements.txt"
    if not path.is_file():
        return f"pip install {missing}, and name it in {path}"
    by_itself = BY_ITSELF if asked.startswith(("model ", "benchmark ")) else ""
    return f"install what its requirements.txt names: pip install -r {path}{by_itself}"
