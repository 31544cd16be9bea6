"""The files of a plugin: those of its folder, and the local modules that it imports."""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from bsjax.core.digests.arrays import file_digest
from bsjax.core.identity.code import is_own_file, plain_source
from bsjax.core.left_behind import files_in

# Of larger files, weights for example, what matters is noted when they are read.
_LARGEST_READ = 1 << 20


def digests_of_plugin(folder: str | Path) -> dict[str, str]:
    """The files of a plugin, and of what it imports that is not installed -> digests; of Python, without remarks.

    Args:
        folder: the plugin's.

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
    return {name: digest_of_file(path) for name, path in sorted(found.items())}


def digest_of_file(path: Path) -> str:
    """Of Python source without remarks, of other files whole; of large ones, whose reading is noted, the size."""
    if path.suffix == ".py":
        return hashlib.sha256(plain_source(path.read_text(encoding="utf-8", errors="replace")).encode()).hexdigest()[
            :32
        ]
    size = path.stat().st_size
    return f"{size} bytes" if size > _LARGEST_READ else file_digest(path)


def texts_of(folder: str | Path) -> list[str]:
    """The Python source in a folder."""
    return [path.read_text(encoding="utf-8", errors="replace") for path in files_in(folder, "**/*.py")]


def _imported(file: Path, plugin: Path) -> Iterator[tuple[Path, str]]:
    """Files of the modules that one imports, and their places."""
    for level, name in _names_in(file.read_bytes()):
        yield from _files_of_module(level, name, file, plugin)


@cache
def _names_in(source: bytes) -> list[tuple[int, str]]:
    """Modules that some source imports: by how many folders up, and the name; the names in them may be modules, too."""
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
    """The file of a module and those of the packages it is in, as far as they are no installed ones."""
    parts = name.split(".") if name else []
    if level:
        roots = [file.parents[level - 1]]
    else:
        roots = [Path(entry or ".") for entry in sys.path]
        # A plugin of Brain-Score names others by the package that it would lie in there.
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
