"""Open data that can be imported: the files of each public repository, and their digests."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

from bsjax.core.discovery.families import family_files
from bsjax.core.left_behind import files_in
from bsjax.core.messages import some
from bsjax.core.registry import UnknownIdentifier, hint

_OWN = (
    ". Files of your own are packaged: `bsjax data package` takes an assembly (.nc) and a table of stimuli (.csv, with "
    "the columns stimulus_id and filename); a table of a model's choices (.csv, with the columns stimulus_id and "
    "choice) is scored: `bsjax score --behaviour`"
)


@dataclass(frozen=True)
class SourceFile:
    """One file of a repository to import.

    Args:
        to: its path in the imported folder.
        path: its path in the repository.
        sha256: its digest; None if unknown beforehand.
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
        identifier: the identifier to load it by.
        kind: "assembly" or "stimulus set".
        loader: ``"package.module:function"``; its argument ``folder`` defaults to the imported folder.
        summary: one line for lists.
        region: its brain regions.
    """

    identifier: str
    kind: str
    loader: str
    summary: str
    region: str = ""


@dataclass(frozen=True)
class Source:
    """A public repository and the files to import from it.

    Args:
        name: name of the import, e.g. "Geirhos2021".
        repository: "owner/name" at GitHub.
        licence: the licence that the repository states.
        commits: commits to download from; a file that is missing or different at one is taken from the next.
        files: the files to import.
        others: patterns of further files without known digests that a folder may have; ``{folder}`` stands for each
            folder of ``files``.
        loads: the data sets and stimulus sets that are loaded from the files.
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
    """The source of imported data with a given name.

    Raises:
        KeyError: the name is unknown; the message lists the nearest names.

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
        near = hint(name, known)
        own = _OWN if name.lower().endswith((".csv", ".nc")) else ""
        raise UnknownIdentifier(f"no data {name!r} to import{near}; there are: {', '.join(source_names())}{own}")
    return known[name]


def source_names() -> list[str]:
    """Names of the data that can be imported.

    Example:
        >>> source_names()
        ['Algonauts2019', 'Cowley2026', 'Geirhos2021', 'Kriegeskorte2008']
    """
    return list(sources())


def find_files(wanted: Source, folder: str | Path) -> dict[SourceFile, Path]:
    """Locate the files of a source in a clone of its repository, in any subfolder of it, or in the same layout.

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
    roots: dict[Path, None] = {}  # in the order of discovery
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
    """``a/b/c``, ``b/c``, ``c``: the user's folder may be the clone or a subfolder of it."""
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
    """All sources by name, as the families of benchmarks declare them in ``import.json``."""
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
