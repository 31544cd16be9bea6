"""Requirements of plugins: the lines of their ``requirements.txt``, and whether bsjax can run with them."""

import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from bsjax.core.digests.arrays import file_digest
from bsjax.core.discovery import Plugin
from bsjax.core.discovery.declarations import BRAINSCORE
from bsjax.core.version import __version__

_NESTED = re.compile(r"(?:-r|--requirement)[\s=]*(.+)")
_BESIDE = re.compile(r"((?:-c|--constraint|-f|--find-links|-e|--editable)[\s=]+|(?=\.{1,2}(?:[/\\]|$)))(.+)")
# Requirements that bsjax or Python itself provides.
_ANSWERED = frozenset(map(canonicalize_name, BRAINSCORE)) | {"bsjax"} | sys.stdlib_module_names


def requirements_of(plugin: Plugin) -> list[str]:
    """The lines of a plugin's ``requirements.txt`` that are to be installed; an empty list if there is no such file.

    ``setup.py``, ``pyproject.toml`` and ``environment.yml`` are not read. Files named by ``-r`` are. Paths that exist
    relative to the file are made absolute, with the digest of a file appended as a comment, so that changed content
    gives a different line. Requirements that bsjax provides (Brain-Score's packages) and modules of the standard
    library (``collections``, listed by mistake) are left out.

    Raises:
        OSError: the file, or one named by ``-r``, cannot be read.
        ValueError: another version of bsjax is required.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "requirements.txt"
        ...     _ = path.write_text("timm>=1.0  # the network\\nbrainio\\n")
        ...     requirements_of(Plugin(Path(folder)))
        ['timm>=1.0']
    """
    path = plugin.folder / "requirements.txt"
    lines = []
    for line in _lines(path) if path.is_file() else ():
        required = parsed(line)
        if required is None or canonicalize_name(required.name) not in _ANSWERED:
            lines.append(line)
        elif required.name == "bsjax" and not (
            required.marker or required.specifier.contains(__version__, prereleases=True)
        ):
            raise ValueError(f"{path} requires {line}, but this is bsjax {__version__}, and nothing is installed")
    return lines


@cache
def own_requirements() -> dict[str, Requirement]:
    """The requirements of bsjax itself on this platform, without extras, by name; empty if bsjax is not installed."""
    try:
        declared = map(Requirement, metadata.requires("bsjax") or ())
    except metadata.PackageNotFoundError:
        return {}
    here = [each for each in declared if each.marker is None or each.marker.evaluate({"extra": ""})]
    return {canonicalize_name(each.name): each for each in here}


def parsed(line: str) -> Requirement | None:
    """A line as a requirement; None for an option, path or address, whose package name only the installer can tell.

    Example:
        >>> parsed("timm>=1.0 --hash=sha256:0").name, parsed("-e ./package")
        ('timm', None)
    """
    try:
        return Requirement(line.partition(" --")[0])
    except InvalidRequirement:
        return None


def _lines(path: Path) -> Iterator[str]:
    text = path.read_text(encoding="utf-8-sig", errors="replace").replace("\\\n", "")
    for line in (re.sub(r"(^|\s)#.*$", "", line).strip() for line in text.splitlines()):
        nested, beside = _NESTED.fullmatch(line), _BESIDE.fullmatch(line)
        if nested:
            yield from _lines(path.parent / nested[1])
        elif beside and (path.parent / beside[2]).exists():
            there = (path.parent / beside[2]).resolve()
            yield f"{beside[1]}{there}" + (f"  # {file_digest(there)}" if there.is_file() else "")
        elif line:
            yield line
