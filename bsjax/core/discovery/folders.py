"""Folders of plugins, in ``$BSJAX_PLUGINS`` and in installed packages with an entry point."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path

from bsjax.core.discovery.declarations import Declaration, read_declarations
from bsjax.core.left_behind import is_left_behind

VARIABLE = "BSJAX_PLUGINS"
ENTRY_POINTS = "bsjax.plugins"
KINDS = ("models", "benchmarks", "metrics", "data")
# The package of Brain-Score that contains its plugins by kind.
_LIBRARY = "brainscore_vision"


@dataclass(frozen=True)
class Plugin:
    """A plugin: a folder whose ``__init__.py`` registers something.

    Attributes:
        folder: the folder.
        declarations: registrations in its ``__init__.py`` with a literal identifier.
        note: a problem of the plugin, for listings; "" if there is none.
        package: the installed package that contains it; "" for a folder in ``$BSJAX_PLUGINS``.
        module: its module name in that package, or, for a Brain-Score plugin, in ``brainscore_vision``.
        for_brainscore: whether it is written for Brain-Score.
    """

    folder: Path
    declarations: tuple[Declaration, ...] = ()
    note: str = ""
    package: str = ""
    module: str = ""
    for_brainscore: bool = False

    def where(self, identifier: str) -> str:
        """Get the file and line at which the plugin registers an identifier."""
        lines = [declared.line for declared in self.declarations if declared.identifier == identifier]
        return f"{self.folder / '__init__.py'}" + (f" line {lines[0]}" if lines else "")


def search_path() -> str:
    """Get the folders in ``$BSJAX_PLUGINS``, each absolute, separated as in ``$PATH``."""
    named = os.environ.get(VARIABLE, "").split(os.pathsep)
    return os.pathsep.join(os.path.abspath(os.path.expanduser(name)) for name in named if name)


def use_plugins(folder: str | Path) -> None:
    """Prepend a folder to ``$BSJAX_PLUGINS``, for this process and its children.

    Raises:
        FileNotFoundError: there is no such folder.

    Example:
        >>> use_plugins("no/such/folder")
        Traceback (most recent call last):
        ...
        FileNotFoundError: there is no folder no/such/folder to find plugins in
    """
    if not Path(folder).is_dir():
        raise FileNotFoundError(f"there is no folder {folder} to find plugins in")
    there = [name for name in search_path().split(os.pathsep) if name]
    os.environ[VARIABLE] = os.pathsep.join(dict.fromkeys([str(Path(folder).resolve()), *there]))


@cache
def find_plugins(path: str) -> tuple[Plugin, ...]:
    """Find all plugins in the folders of a search path and in installed packages, without duplicates.

    An installed package declares its plugins by an entry point of the group ``bsjax.plugins`` that names the package.
    No plugin is run, and the result for each search path is cached in the process.

    Example:
        >>> [plugin.note for plugin in find_plugins("no/such/folder") if not plugin.package]
        ['BSJAX_PLUGINS names no/such/folder, which is no folder']
    """
    found: dict[Path, Plugin] = {}
    for name in filter(None, path.split(os.pathsep)):
        folder = Path(name).expanduser()
        plugins = plugins_under(folder) if folder.is_dir() else ()
        for plugin in plugins or (Plugin(folder, note=_nothing(folder)),):
            found.setdefault(plugin.folder.resolve(), plugin)
    for plugin in _installed():
        found.setdefault(plugin.folder.resolve(), plugin)
    return tuple(found.values())


def plugins_under(folder: Path, package: str = "") -> tuple[Plugin, ...]:
    """Find the plugins in a folder.

    These are the folder itself if it is a plugin, else its subfolders, and those in its folders ``benchmarks``,
    ``models``, ``metrics`` and ``data``. If it contains ``brainscore_vision``, only that is searched.

    Args:
        folder: the folder.
        package: the installed package of the folder.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     init = Path(folder) / "models" / "doe" / "__init__.py"
        ...     init.parent.mkdir(parents=True)
        ...     _ = init.write_text("from bsjax import model_registry\\nmodel_registry['doe'] = lambda: 1\\n")
        ...     [(plugin.folder.name, plugin.declarations[0].identifier) for plugin in plugins_under(Path(folder))]
        [('doe', 'doe')]
    """
    plugin = _plugin(folder, package, package)
    if plugin is not None:
        return (plugin,)
    if (folder / _LIBRARY).is_dir():  # a clone of Brain-Score's repository
        return plugins_under(folder / _LIBRARY)
    found = []
    for child in _folders(folder):
        below = [child]
        if child.name in KINDS and not _registers(child):
            below = list(_folders(child))
        for each in below:
            module = ".".join([package, *each.relative_to(folder).parts]) if package else ""
            found.append(_plugin(each, package, module))
    return tuple(plugin for plugin in found if plugin is not None)


def _nothing(folder: Path) -> str:
    what = "in which no __init__.py registers anything" if folder.is_dir() else "which is no folder"
    return f"{VARIABLE} names {folder}, {what}"


def _folders(folder: Path) -> Iterator[Path]:
    try:
        children = sorted(child for child in folder.iterdir() if child.is_dir())
    except OSError:  # no permission
        return
    yield from (child for child in children if not child.name.startswith("__") and not is_left_behind(child.name))


def _registers(folder: Path) -> bool:
    return _plugin(folder, "", "") is not None


def _plugin(folder: Path, package: str, module: str) -> Plugin | None:
    """The plugin in a folder; None if there is none."""
    path = folder / "__init__.py"
    try:
        if not path.exists():
            return None
    except OSError:  # no permission
        return None
    try:
        if not path.is_file():  # opening a pipe could block
            raise ValueError(f"{path} is no regular file")
        text = path.read_bytes()
        if b"_registry" not in text and b"register_mapping" not in text:
            return None
        found, hidden, for_brainscore = read_declarations(path)
    except (OSError, ValueError) as error:
        why = f"{path} cannot be read ({error.strerror})" if isinstance(error, OSError) else str(error)
        return Plugin(folder, (), f"{why}; nothing of this plugin is registered", package, module)
    if not found and not hidden:
        return None
    note = ""
    if hidden:
        lines = ", ".join(map(str, hidden))
        note = f"{path} registers identifiers that only running it tells (line {lines}): write each out as a string"
    kind = folder.resolve().parent.name
    if for_brainscore and kind in KINDS:
        module = f"{_LIBRARY}.{kind}.{folder.name}"
    return Plugin(folder, found, note, package, module, for_brainscore)


@cache
def _installed() -> tuple[Plugin, ...]:
    from importlib.metadata import entry_points

    plugins: list[Plugin] = []
    for package in dict.fromkeys(entry.module for entry in entry_points(group=ENTRY_POINTS)):
        folder = _folder_of(package)
        if folder is not None:
            plugins += plugins_under(folder, package)
    return tuple(plugins)


def _folder_of(package: str) -> Path | None:
    """The folder of a package; unlike ``importlib.util.find_spec``, this does not import parent packages."""
    spec, places, name = None, None, ""
    for part in package.split("."):
        name = f"{name}.{part}" if name else part
        spec = PathFinder.find_spec(name, places)
        if spec is None or spec.submodule_search_locations is None:
            return None
        places = list(spec.submodule_search_locations)
    return Path(places[0]) if places else None
