"""What plugins require: the lines of their ``requirements.txt``, and whether bsjax runs with them."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from bsjax.core.digests.arrays import file_digest
from bsjax.core.discovery import Plugin
from bsjax.core.discovery.declarations import BRAINSCORE
from bsjax.core.version import __version__

_NESTED = re.compile(r"(?:-r|--requirement)[\s=]*(.+)")
_BESIDE = re.compile(r"((?:-c|--constraint|-f|--find-links|-e|--editable)[\s=]+|(?=\.{1,2}(?:[/\\]|$)))(.+)")
# They stand for what bsjax is, or comes with.
_ANSWERED = frozenset(map(canonicalize_name, BRAINSCORE)) | {"bsjax"} | sys.stdlib_module_names


def requirements_of(plugin: Plugin) -> list[str]:
    """The lines of a plugin's ``requirements.txt`` that are to be installed; none where it has no such file.

    No other file is read: neither ``setup.py``, ``pyproject.toml`` nor ``environment.yml``. Files that are named by
    ``-r`` are read too. Paths beside the file are made absolute, with the digest of a file as a comment, so that other
    content is another line. What bsjax answers itself (Brain-Score's packages) or Python has (``collections``, which
    plugins require by mistake) is left out.

    Raises:
        OSError: the file, or one that it names by ``-r``, cannot be read.
        ValueError: bsjax cannot run with a version that is required.

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
        if required is not None:
            _check(required, line, path)
        if required is None or canonicalize_name(required.name) not in _ANSWERED:
            lines.append(line)
    return lines


@cache
def own_requirements() -> dict[str, Requirement]:
    """What bsjax itself requires here, without its extras, by name; nothing where it runs without being installed."""
    try:
        declared = map(Requirement, metadata.requires("bsjax") or ())
    except metadata.PackageNotFoundError:
        return {}
    here = [each for each in declared if each.marker is None or each.marker.evaluate({"extra": ""})]
    return {canonicalize_name(each.name): each for each in here}


def compatible(one: SpecifierSet, other: SpecifierSet) -> bool:
    """Whether some version is in both.

    The versions that they name are tried, with what comes right after each and the next of every part of it.

    Example:
        >>> compatible(SpecifierSet(">=2.0"), SpecifierSet("<2"))
        False
        >>> compatible(SpecifierSet(">=2.0"), SpecifierSet("!=2.0.*"))
        True
    """
    try:
        named = [Version(each.version.removesuffix(".*")) for each in (*one, *other)]
    except InvalidVersion:  # of ===, which takes any words
        return True
    tried = set(named)
    for version in named:
        parts = version.release
        after = [(*parts[:n], parts[n] + 1) for n in range(len(parts))]
        tried |= {Version(".".join(map(str, each))) for each in [(*parts, 0, 0, 1), *after]}
    both = one & other
    return not named or any(both.contains(version, prereleases=True) for version in tried)


def parsed(line: str) -> Requirement | None:
    """A line as a requirement; None of an option, a path or an address, whose name only the installer can tell.

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


def _check(required: Requirement, line: str, path: Path) -> None:
    name = canonicalize_name(required.name)
    own = Requirement(f"bsjax=={__version__}") if name == "bsjax" else own_requirements().get(name)
    if own is None or (required.marker is not None and not required.marker.evaluate()):
        return
    if not compatible(own.specifier, required.specifier):
        what = f"this is bsjax {__version__}" if name == "bsjax" else f"bsjax needs {own}"
        raise ValueError(f"{path} requires {line}, but {what}: no version is both, and nothing is installed")
