"""Files of a plugin: those in its folder, and the local modules that it imports."""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from bsjax.core.identity.code import digest_without_remarks, is_own_file
from bsjax.core.left_behind import files_in

# Larger files, such as weights, are not read here: they are noted when the plugin reads them.
_LARGEST_READ = 1 << 20


def digests_of_plugin(folder: str | Path) -> dict[str, str]:
    """Compute digests of the files of a plugin and of the local modules that it imports: path -> digest.

    Comments and docstrings of Python files do not count.

    Args:
        folder: folder of the plugin.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as root:
        ...     folder = Path(root, "plugin")
        ...     folder.mkdir()
        ...     _ = Path(root, "helpers.py").write_text("SCALE = 2")
        ...     _ = Path(folder, "__init__.py").write_text("from helpers import SCALE")
        ...     sys.path.insert(0, root)
        ...     found = digests_of_plugin(folder)
        ...     sys.path.remove(root)
        ...     sorted(found)
        ['__init__.py', 'helpers.py']
    """
    folder = Path(folder)
    own = [path for path in files_in(folder, "**/*") if "__pycache__" not in path.relative_to(folder).parts]
    found = {str(path.relative_to(folder)): path for path in own}
    left = [path for path in own if path.suffix == ".py"]
    seen = {*own}
    while left:
        for path, place in _imported(left.pop(), folder):
            if path not in seen:
                seen.add(path)
                left.append(path)
                found[place] = path
    return {name: _digest(path) for name, path in sorted(found.items())}


def _digest(path: Path) -> str:
    """The digest of a file; for a large one its size, since its content is noted when it is read."""
    size = path.stat().st_size
    return f"{size} bytes" if size > _LARGEST_READ and path.suffix != ".py" else digest_without_remarks(path)


def texts_of(folder: str | Path) -> list[str]:
    """Read all Python files in a folder."""
    return [path.read_text(encoding="utf-8", errors="replace") for path in files_in(folder, "**/*.py")]


def _imported(file: Path, plugin: Path) -> Iterator[tuple[Path, str]]:
    """The files of the modules that a file imports, and their names."""
    for level, name in _names_in(file.read_bytes()):
        yield from _files_of_module(level, name, file, plugin)


@cache
def _names_in(source: bytes) -> list[tuple[int, str]]:
    """The imports of some source: relative level and dotted name, whose last part may be a module or a name in one."""
    names: dict[tuple[int, str], None] = {}
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {(0, alias.name): None for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = f"{node.module}." if node.module else ""
            names |= {(node.level, f"{base}{alias.name}"): None for alias in node.names}
    return [*names]


def _files_of_module(level: int, name: str, file: Path, plugin: Path) -> Iterator[tuple[Path, str]]:
    """The file of a module and those of its parent packages, unless they are installed."""
    parts = name.split(".") if name else []
    if level:
        roots = [file.parents[level - 1]]
    else:
        roots = [Path(entry or ".") for entry in sys.path]
        # A Brain-Score plugin imports others by their names in Brain-Score's package.
        if parts[1:2] and (plugin.parents[1] / parts[1]).is_dir():
            roots, parts = [plugin.parents[1]], parts[1:]
    for root in roots:
        place = root.joinpath(*parts[:1])
        if not place.is_dir() and not place.with_suffix(".py").is_file():
            continue
        if not is_own_file(str(place)):
            return
        for n in range(0 if level else 1, len(parts) + 1):
            place, name = root.joinpath(*parts[:n]), "/".join(parts[:n])
            for path, known in ((place / "__init__.py", f"{name}/__init__.py"), (Path(f"{place}.py"), f"{name}.py")):
                if path.is_file():
                    yield path, known
        return
