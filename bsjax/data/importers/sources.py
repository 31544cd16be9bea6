"""The openly published data that can be imported: which files of which public repository, and their digests."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

from bsjax.core.discovery.families import family_files
from bsjax.core.left_behind import files_in
from bsjax.core.messages import some
from bsjax.core.registry import UnknownIdentifier, nearest

_OWN = (
    ". Files of your own are packaged: `bsjax data package` takes an assembly (.nc) and a table of stimuli (.csv, with "
    "the columns stimulus_id and filename); a table of a model's choices (.csv, with the columns stimulus_id and "
    "choice) is scored: `bsjax score --behaviour`"
)


@dataclass(frozen=True)
class SourceFile:
    """One file of a repository.

    Args:
        to: where it goes in the imported folder.
        path: where it lies in the repository.
        sha256: its digest; None where it is not known beforehand.
        optional: whether the data can be used without it.
    """

    to: str
    path: str
    sha256: str | None = None
    optional: bool = False


@dataclass(frozen=True)
class Loaded:
    """A data set or stimulus set that is loaded from imported files.

    Args:
        identifier: what it is loaded by.
        kind: "assembly" or "stimulus set".
        loader: ``"package.module:function"``; its argument ``folder`` is by default the imported one.
        summary: a line for lists.
        region: the brain regions in it.
    """

    identifier: str
    kind: str
    loader: str
    summary: str
    region: str = ""


@dataclass(frozen=True)
class Source:
    """A public repository, and what of it is imported.

    Args:
        name: what the import is called, e.g. "Geirhos2021".
        repository: "owner/name" at GitHub.
        licence: what the repository says of its licence.
        commits: which state of it to fetch; a file that one does not have, or has otherwise, is taken from the next.
        files: what is imported.
        others: patterns of further files that a folder may have beside these, without digests; ``{folder}`` stands for
            each folder of ``files``.
        loads: what is loaded from them.
    """

    name: str
    repository: str
    licence: str
    commits: tuple[str, ...]
    files: tuple[SourceFile, ...]
    others: tuple[str, ...] = ()
    loads: tuple[Loaded, ...] = ()

    @property
    def url(self) -> str:
        """The page of the repository."""
        return f"https://github.com/{self.repository}"


def source(name: str) -> Source:
    """What can be imported under a name.

    Raises:
        KeyError: nothing; the message has the nearest names.

    Example:
        >>> source("Kriegeskorte2008").url
        'https://github.com/rsagroup/rsatoolbox'
        >>> source("geirhos2021")
        Traceback (most recent call last):
        ...
        bsjax.core.registry.UnknownIdentifier: no data 'geirhos2021' to import; nearest: Geirhos2021; there are:
            Algonauts2019, Cowley2026, Geirhos2021, Kriegeskorte2008
    """
    known = sources()
    if name not in known:
        near = ", ".join(nearest(name, known))
        hint = f"nearest: {near}; " if near else ""
        own = _OWN if name.lower().endswith((".csv", ".nc")) else ""
        raise UnknownIdentifier(f"no data {name!r} to import; {hint}there are: {', '.join(source_names())}{own}")
    return known[name]


def source_names() -> list[str]:
    """What can be imported.

    Example:
        >>> source_names()
        ['Algonauts2019', 'Cowley2026', 'Geirhos2021', 'Kriegeskorte2008']
    """
    return list(sources())


def find_files(wanted: Source, folder: str | Path) -> dict[SourceFile, Path]:
    """Where the files of a source lie in a clone of its repository, or in any folder of it, or of the same layout.

    Raises:
        FileNotFoundError: files are missing; the message names them, and where to get them.

    Example:
        >>> find_files(source("Kriegeskorte2008"), "no/such/folder")
        Traceback (most recent call last):
        ...
        FileNotFoundError: no/such/folder lacks demos/92imageData/92_behavRDMs.mat,
            demos/92imageData/92_brainRDMs.mat, demos/92imageData/92_modelRDMs.mat of Kriegeskorte2008: get them with
            `git clone https://github.com/rsagroup/rsatoolbox`, or, with a network, `bsjax data import
            Kriegeskorte2008`
    """
    root = Path(folder).expanduser()
    found: dict[SourceFile, Path] = {}
    roots: dict[Path, None] = {}  # in the order in which they were found
    for file in wanted.files:
        places = [root / place for whole in (file.path, file.to) for place in _endings(whole)]
        place = next((place for place in places if place.is_file()), None)
        if place is None:
            continue
        found[file] = place
        if place.as_posix().endswith("/" + file.to):
            roots[place.parents[len(PurePosixPath(file.to).parts) - 1]] = None
    missing = [file.path for file in wanted.files if file not in found and not file.optional]
    if missing:
        raise FileNotFoundError(
            f"{folder} lacks {some(missing)} of {wanted.name}: get them with `git clone {wanted.url}`, or, with a "
            f"network, `bsjax data import {wanted.name}`"
        )
    return {**found, **_others(wanted, list(roots))}


def _endings(path: str) -> list[str]:
    """``a/b/c``, ``b/c``, ``c``: the folder may be that of the clone, or one in it."""
    parts = PurePosixPath(path).parts
    return ["/".join(parts[i:]) for i in range(len(parts))]


def _others(wanted: Source, roots: list[Path]) -> dict[SourceFile, Path]:
    known = {file.to for file in wanted.files}
    folders = dict.fromkeys(PurePosixPath(file.to).parent.name for file in wanted.files)
    others: dict[SourceFile, Path] = {}
    for root in roots:
        for pattern in (pattern.format(folder=folder) for pattern in wanted.others for folder in folders):
            for place in files_in(root, pattern):
                to = place.relative_to(root).as_posix()
                if to not in known:
                    known.add(to)
                    others[SourceFile(to, to, optional=True)] = place
    return others


@cache
def sources() -> dict[str, Source]:
    """All that can be imported, by name, as the families of benchmarks declare it in ``import.json``."""
    found = {}
    for family, path in family_files("import.json").items():
        row = json.loads(path.read_bytes())
        package = f"bsjax.benchmarks.families.{family}"
        found[row["name"]] = Source(
            row["name"],
            row["repository"],
            row["licence"],
            tuple(row["commits"]),
            tuple(SourceFile(to, **file) for to, file in row["files"].items()),
            tuple(row.get("others", ())),
            tuple(Loaded(**{**each, "loader": f"{package}.{each['loader']}"}) for each in row["loads"]),
        )
    return found
