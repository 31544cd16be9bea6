"""Data on a lab's disk, possibly with errors, to be checked, packaged, or viewed."""

import hashlib
import json
import os
import tempfile
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from bsjax.core.digests.files import note_of
from bsjax.core.files import write_atomically
from bsjax.core.left_behind import files_in
from bsjax.core.messages import counted, some
from bsjax.data.files.archives import leads_outside
from bsjax.data.files.netcdf import read_assembly
from bsjax.data.files.stimulus_files import stimulus_paths_in, stimulus_table
from bsjax.data.publishing.packaging import package_data_assembly_locally, package_stimulus_set_locally, packages_folder
from bsjax.data.types.assemblies import DataAssembly, resolve_assembly_class
from bsjax.data.types.stimuli import StimulusSet

MANIFEST = ".package.json"
"""Suffix of the manifest next to packaged files."""

_COLUMNS = {
    "stimulus_id": "give each stimulus an id in stimulus_id",
    "filename": "and in filename the name of its file, as seen from the folder of files",
}
_DIGEST = "sha256"  # digest of the manifest's content
_FILES = ("csv_path", "zip_path", "path")


def find_files(paths: Iterable[str | Path]) -> tuple[list[Path], list[Path]]:
    """The tables (.csv) and assemblies (.nc) among files and in folders.

    Raises:
        FileNotFoundError: a path does not exist, or a folder has neither.
        ValueError: a file is of another kind.

    Example:
        >>> find_files(["nowhere.csv"])
        Traceback (most recent call last):
        ...
        FileNotFoundError: there is no nowhere.csv
    """
    found: list[Path] = []
    for path in map(Path, paths):
        if not path.exists():
            raise FileNotFoundError(f"there is no {path}")
        inside = files_in(path) if path.is_dir() else [path]
        here = [file for file in inside if file.suffix.lower() in (".csv", ".nc") and file.is_file()]
        if not here:
            kind = FileNotFoundError if path.is_dir() else ValueError
            raise kind(f"{path} is no table of stimuli (.csv) or assembly (.nc), and holds none")
        found += here
    tables = [path for path in found if path.suffix.lower() == ".csv"]
    return tables, [path for path in found if path not in tables]


def read_draft_stimuli(csv_path: str | Path, folder: str | Path | None = None) -> StimulusSet:
    """Read a stimulus set from its table, with the columns ``stimulus_id`` and ``filename``, and a folder of files.

    Missing files and repeated ids are left to ``check_stimulus_set``. If file names include subfolders, the column
    ``filename`` is dropped, and the packaged files are named after the ids.

    Args:
        csv_path: the table.
        folder: the folder of the files; by default that of the table.

    Raises:
        FileNotFoundError: the table is missing.
        ValueError: the table is invalid, was changed after bsjax wrote it, lacks ``filename``, or has names that lead
            out of the folder.
    """
    csv_path = Path(csv_path)
    folder = csv_path.parent if folder is None else Path(folder)
    table = stimulus_table(csv_path)
    lacks = {name: advice for name, advice in _COLUMNS.items() if name not in table}
    if lacks:
        has = f"columns present: {some(table.columns, 10)}"
        raise ValueError(
            f"{csv_path} has no column {' and no column '.join(lacks)} ({has}): {'; '.join(lacks.values())}"
        )
    names = table["filename"].fillna("").astype(str).str.replace("\\", "/")
    outside = [name for name in names if name and leads_outside(name)]
    if outside:
        raise ValueError(f"{csv_path}: filename leads out of the folder {folder}: {some(outside)}")
    found, _ = stimulus_paths_in(folder, names)
    paths = {
        key: found.get(name) or folder / name for key, name in zip(table["stimulus_id"], names, strict=True) if name
    }
    if names.str.contains("/").any():
        table = table.drop(columns="filename")
    return StimulusSet(table, stimulus_paths=paths)


def read_draft_assembly(path: str | Path, class_name: str | None = None) -> DataAssembly:
    """Read an assembly from its file.

    Args:
        path: the file.
        class_name: the intended class; by default the one that its dimensions suggest.

    Raises:
        FileNotFoundError: the file is missing.
        ValueError: the file is not an assembly, or the class is unknown.
    """
    if class_name is not None:
        return read_assembly(path, resolve_assembly_class(class_name))
    assembly = read_assembly(path)
    cls = resolve_assembly_class(likely_class(assembly.dims))
    return read_assembly(path, cls) if cls.reads_groups else cls(assembly)


def likely_class(dims: Iterable[Any]) -> str:
    """The class of assembly that the dimensions suggest.

    Example:
        >>> likely_class(["presentation", "neuroid"]), likely_class(["presentation", "choice"])
        ('NeuroidAssembly', 'BehavioralAssembly')
    """
    names = set(dims)
    if {"presentation", "neuroid"} <= names:
        return "NeuroidAssembly"
    if "presentation" in names:
        return "BehavioralAssembly"
    if "neuroid" in names:
        return "PropertyAssembly"
    return "SpikeTimesAssembly" if names == {"event"} else "DataAssembly"


def package_drafts(
    stimulus_set: StimulusSet | None,
    assembly: DataAssembly | None,
    identifier: str,
    stimulus_set_identifier: str | None = None,
    folder: str | Path | None = None,
    allow: Collection[str] = (),
) -> tuple[Path, dict[str, dict[str, Any]]]:
    """Package a stimulus set, an assembly, or both together, and write a manifest.

    Args:
        stimulus_set: the set to package, if any.
        assembly: the assembly to package, if any. With a set, it is checked against that.
        identifier: name of the data.
        stimulus_set_identifier: name of the stimulus set; by default ``identifier``, or, without a set, the one that
            the assembly names.
        folder: the destination; by default ``~/Downloads/brainscore_packages``.
        allow: names of checks that may fail.

    Returns:
        The path of the manifest (see ``write_manifest``), and its content.

    Raises:
        ValueError: checks of either fail; one message lists every problem, and nothing is written.
        OSError: the files cannot be written.
    """
    folder = packages_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    named = stimulus_set_identifier
    if named is None:
        alone = None if stimulus_set is not None else assembly
        named = identifier if alone is None else alone.attrs.get("stimulus_set_identifier")
    packages: dict[str, dict[str, Any]] = {}
    refused = []
    with tempfile.TemporaryDirectory(dir=folder, prefix=".") as aside:
        if stimulus_set is not None:
            try:
                packages["stimulus_set"] = package_stimulus_set_locally(stimulus_set, str(named), aside, allow=allow)
            except ValueError as error:
                refused.append(str(error))
        if assembly is not None:
            if stimulus_set is not None:
                assembly = assembly.assign_attrs(stimulus_set=stimulus_set)
            name = type(assembly).__name__
            try:
                packages["assembly"] = package_data_assembly_locally(
                    assembly, identifier, named, name, aside, allow=allow
                )
            except ValueError as error:
                refused.append(str(error))
        if refused:
            raise ValueError("; and ".join(refused))
        if stimulus_set is not None:
            packages["stimulus_set"]["about"] = counted(len(stimulus_set), "stimulus", "stimuli")
        if assembly is not None:
            packages["assembly"]["about"] = ", ".join(counted(n, str(dim)) for dim, n in assembly.sizes.items())
        for packaged in packages.values():
            for key in _FILES:
                if key in packaged:
                    made, place = Path(packaged[key]), folder / Path(packaged[key]).name
                    if note_of(made).exists():
                        note_of(made).replace(note_of(place))
                    packaged[key] = os.fspath(made.replace(place))
    return write_manifest(folder, identifier, packages), packages


def write_manifest(folder: str | Path, identifier: str, packages: Mapping[str, Mapping[str, Any]]) -> Path:
    """Write a manifest next to packaged files, from which they can be uploaded later.

    Args:
        folder: the folder of the packaged files.
        identifier: name of the data.
        packages: "stimulus_set" and "assembly" -> the result of packaging it.

    Returns:
        The path of the manifest, ``<identifier>.package.json``.

    Raises:
        OSError: it cannot be written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_manifest(folder, "Doe2024", {"assembly": {"path": f"{folder}/assy_Doe2024.nc"}}).name
        'Doe2024.package.json'
    """
    content = {
        kind: {name: Path(value).name if name in _FILES else value for name, value in package.items()}
        for kind, package in packages.items()
    }
    noted = json.dumps({**content, _DIGEST: _digest(content)}, indent=1)
    return write_atomically(Path(folder) / f"{identifier}{MANIFEST}", f"{noted}\n".encode())


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def read_manifest(path: str | Path) -> dict[str, dict[str, Any]]:
    """Read a manifest written by ``write_manifest``, with the paths of the files.

    Args:
        path: the manifest, or a folder that holds one.

    Raises:
        FileNotFoundError: there is no manifest.
        ValueError: the folder holds several manifests, or the manifest cannot be read or was changed.
    """
    path = Path(path)
    if path.is_dir():
        found = files_in(path, f"*{MANIFEST}")
        if len(found) > 1:
            raise ValueError(f"{path} holds several packages, name one: {', '.join(file.name for file in found)}")
        if not found:
            raise FileNotFoundError(f"{path} holds no package (*{MANIFEST}): make one with `bsjax data package`")
        [path] = found
    if not path.is_file():
        raise FileNotFoundError(f"there is no {path}")
    try:
        content = json.loads(path.read_bytes())
        if content.pop(_DIGEST, None) != _digest(content):
            raise ValueError("it was changed after it was written")
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{path} is not the manifest of a package ({error}): package the data again") from error
    return {
        kind: {name: str(path.parent / value) if name in _FILES else value for name, value in package.items()}
        for kind, package in content.items()
    }
