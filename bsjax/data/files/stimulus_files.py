"""Stimulus sets as files: a CSV table of the stimuli, and a zip file or folder of their images, videos or sounds."""

import hashlib
import os
import shutil
import stat
import unicodedata
import zipfile
from collections.abc import Hashable, Iterable
from pathlib import Path, PurePosixPath

import pandas as pd

from bsjax.core.digests.files import check_unchanged, remember, sha1_hash
from bsjax.core.files import write_atomically, written_aside
from bsjax.core.labels import require_columns
from bsjax.core.left_behind import is_left_behind
from bsjax.core.messages import some
from bsjax.data.files.archives import leads_outside, unzip
from bsjax.data.files.tables import read_table, table_as_csv
from bsjax.data.types.stimuli import StimulusSet, id_problems

# Columns with instructions for packaging, which are not packaged themselves.
_PACKAGING = ("stimulus_current_local_file_path", "stimulus_path_within_store")
_EARLIEST = (1980, 1, 1, 0, 0, 0)  # timestamp of every file in a zip: the earliest that the format allows


def read_stimulus_set(csv_path: str | Path, folder: str | Path, *, exact: bool = True) -> StimulusSet:
    """Read a stimulus set from its table and the folder of its files, as Brain-Score packages them.

    Required columns are ``stimulus_id`` (tables from before 2021 have ``image_id``, which is then copied) and
    ``filename``; others are kept. ``bsjax.data.files.tables`` has the rules for text and numbers: ids such as "001"
    stay text, and integer ids come back as integers. Hidden files and those left by operating systems are ignored.

    Args:
        csv_path: the table.
        folder: the folder of the files, in which ``filename`` may include subfolders; or a zip file, which is extracted
            next to itself.
        exact: whether to refuse files that belong to no stimulus, and repeated ids.

    Returns:
        The set, with ``stimulus_paths`` but without an ``identifier``, which the files do not contain.

    Raises:
        FileNotFoundError: the table, the folder, or the file of a stimulus is missing.
        ValueError: the table is invalid, was changed after bsjax wrote it, or does not match the folder; the message
            names the file, and the ids or names.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "a.png").write_bytes(b"image")
        ...     stimuli = StimulusSet({"stimulus_id": ["001"]}, stimulus_paths={"001": Path(folder, "a.png")})
        ...     _ = write_stimulus_csv(stimuli, Path(folder, "set", "stimulus_A.csv"))
        ...     _ = write_stimulus_zip(stimuli, Path(folder, "set", "stimulus_A.zip"))
        ...     shutil.unpack_archive(Path(folder, "set", "stimulus_A.zip"), Path(folder, "files"))
        ...     read_stimulus_set(Path(folder, "set", "stimulus_A.csv"), Path(folder, "files")).values.tolist()
        [['001', '001.png']]
    """
    csv_path, folder = Path(csv_path), Path(folder)
    table = stimulus_table(csv_path)
    problems = _table_problems(table, exact)
    if problems:
        raise ValueError(f"{csv_path} is not the table of a stimulus set: " + "; ".join(problems))
    if folder.is_file():
        folder = unzip(folder)
    if not folder.is_dir():
        raise FileNotFoundError(f"no folder {folder} with the files of {csv_path}")
    names = [PurePosixPath(name).as_posix() for name in table["filename"]]
    found = _files_of(csv_path, folder, names, exact)
    return StimulusSet(
        table, stimulus_paths={key: found[name] for key, name in zip(table["stimulus_id"], names, strict=True)}
    )


def stimulus_table(csv_path: Path) -> pd.DataFrame:
    """The table of stimuli in a file; ``image_id`` of tables from before 2021 is copied to ``stimulus_id``."""
    table = read_table(csv_path, text=("filename",))
    check_unchanged(csv_path)
    older = "stimulus_id" not in table and "image_id" in table
    return table.assign(stimulus_id=table["image_id"]) if older else table


def stimulus_filenames(stimulus_set: StimulusSet) -> list[str]:
    """The name of each stimulus' file in the zip file, from the column ``filename`` if present, as after loading.

    Otherwise the name is ``stimulus_path_within_store``, or the ``stimulus_id``, with the extension of the file.

    Args:
        stimulus_set: the stimuli, with their paths.

    Raises:
        FileNotFoundError: the file of a stimulus is missing.
        ValueError: the column ``stimulus_id`` is missing, an id has no path, two files have one name, or a name is not
            a plain file name; one message lists all problems.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile(suffix=".png") as file:
        ...     stimulus_filenames(StimulusSet({"stimulus_id": ["a"]}, stimulus_paths={"a": file.name}))
        ['a.png']
    """
    require_columns(stimulus_set, ["stimulus_id"], "the stimulus set")
    ids: list[Hashable] = stimulus_set["stimulus_id"].tolist()
    without = [key for key in ids if key not in stimulus_set.stimulus_paths]
    if without:
        raise ValueError(f"stimulus_paths lacks {some(without)}")
    paths = [stimulus_set.get_stimulus(key) for key in ids]
    absent = [path for path in dict.fromkeys(paths) if not path.is_file()]
    if absent:
        raise FileNotFoundError(f"no such file: {some(absent)}")
    if "filename" in stimulus_set:
        names = list(map(str, stimulus_set["filename"]))
    else:
        stems = stimulus_set[_PACKAGING[1] if _PACKAGING[1] in stimulus_set else "stimulus_id"]
        names = [f"{stem}{path.suffix}" for stem, path in zip(stems, paths, strict=True)]
    problems = [
        f"{name!r} is not a plain file name, and Brain-Score reads no folders in a zip: "
        "give another one in the column stimulus_path_within_store"
        for name in dict.fromkeys(names)
        if not name or is_left_behind(name) or any(mark in name for mark in "/\\\0")
    ]
    sources: dict[str, Path] = {}
    for name, path in zip(names, paths, strict=True):
        if sources.setdefault(name, path) != path:
            problems.append(f"{name!r} would be the name of {sources[name]} and of {path}")
    if problems:
        raise ValueError("cannot name the files of this stimulus set: " + "; ".join(problems))
    return names


def write_stimulus_csv(stimulus_set: StimulusSet, path: str | Path) -> str:
    """Write the table of a stimulus set, with the column ``filename`` that links it to the zip file.

    The same set gives the same bytes on any machine; columns keep the order of the set. The digest is stored in a
    hidden file next to the table, and ``read_stimulus_set`` compares it.

    Args:
        stimulus_set: the set; it is not modified.
        path: the file, written atomically.

    Returns:
        SHA-1 of the file, in hexadecimal digits.

    Raises:
        FileNotFoundError, ValueError: as ``stimulus_filenames``, or a column cannot be written to a table.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder, "a.png")
        ...     _ = file.write_bytes(b"pixels")
        ...     stimuli = StimulusSet({"stimulus_id": ["a"]}, identifier="Doe2026", stimulus_paths={"a": file})
        ...     len(write_stimulus_csv(stimuli, Path(folder, "stimuli.csv")))
        40
    """
    names = stimulus_filenames(stimulus_set)
    table = pd.DataFrame(stimulus_set).drop(columns=list(_PACKAGING), errors="ignore")
    content = table_as_csv(table.assign(filename=names))
    path = write_atomically(path, content)
    sha1 = hashlib.sha1(content, usedforsecurity=False).hexdigest()
    remember(path, {"sha1": sha1})
    return sha1


def write_stimulus_zip(stimulus_set: StimulusSet, path: str | Path) -> str:
    """Write the files of a stimulus set into a zip file, one per stimulus, in the order of the set.

    The same files give the same bytes on any machine: they are stored uncompressed, with a fixed date and fixed
    permissions. Stimuli that share a file share its copy.

    Args:
        stimulus_set: the set.
        path: the file, written atomically.

    Returns:
        SHA-1 of the file, in hexadecimal digits.

    Raises:
        FileNotFoundError, ValueError: as ``stimulus_filenames``.
        OSError: the file cannot be written; an existing one is unchanged.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder, "a.png")
        ...     _ = file.write_bytes(b"pixels")
        ...     stimuli = StimulusSet({"stimulus_id": ["a"]}, identifier="Doe2026", stimulus_paths={"a": file})
        ...     len(write_stimulus_zip(stimuli, Path(folder, "stimuli.zip")))
        40
    """
    names = stimulus_filenames(stimulus_set)
    paths = map(stimulus_set.get_stimulus, stimulus_set["stimulus_id"])
    with written_aside(path) as aside:
        with zipfile.ZipFile(aside, "w", zipfile.ZIP_STORED) as archive:
            for name, source in dict(zip(names, paths, strict=True)).items():
                member = zipfile.ZipInfo(name, _EARLIEST)
                member.create_system = 3  # Unix on every system; Windows would write another value
                member.external_attr = (stat.S_IFREG | 0o644) << 16
                member.file_size = source.stat().st_size  # lets the library prepare for huge files
                with open(source, "rb") as content, archive.open(member, "w") as target:
                    shutil.copyfileobj(content, target, 1 << 20)
        digest = sha1_hash(aside)
    return digest


def _table_problems(table: pd.DataFrame, exact: bool) -> list[str]:
    problems = [
        f"no column {name} (columns present: {some(table.columns, 10)})"
        for name in ("stimulus_id", "filename")
        if name not in table
    ]
    if problems:
        return problems
    if not len(table):
        return ["it has no rows"]
    problems += id_problems(pd.Index(table["stimulus_id"]), unique=exact)
    missing = sum(pd.isna(name) for name in table["filename"])
    if missing:
        problems.append(f"filename is missing in {missing} of {len(table)} rows")
    outside = [name for name in table["filename"] if not pd.isna(name) and leads_outside(name)]
    if outside:
        problems.append(f"filename leads out of the folder: {some(outside)}")
    return problems


def stimulus_paths_in(folder: Path, names: Iterable[str]) -> tuple[dict[str, Path], list[str]]:
    """Find named files in a folder, or in the single subfolder that holds them all.

    Slashes and backslashes are equivalent. So are the Unicode forms of a name (NFC and NFD), unless a file has exactly
    the name.

    Returns:
        Name -> path of the files found; and the other files in the folder, sorted.
    """
    there = {
        Path(parent, file).relative_to(folder).as_posix(): Path(parent, file)
        for parent, _, files in os.walk(folder)
        for file in files
    }
    by_form = {_in_one_form(name): name for name in there}
    found: dict[str, str] = {}
    for inside in ("", *sorted({f"{name.partition('/')[0]}/" for name in there if "/" in name})):
        here = {name: by_form.get(_in_one_form(f"{inside}{name}")) for name in names}
        here |= {name: f"{inside}{name}" for name in names if f"{inside}{name}" in there}
        known = {name: place for name, place in here.items() if place is not None}
        if not inside or len(known) == len(here):
            found = known
        if len(found) == len(here):
            break
    # Brain-Score also ignores tables and archives next to the stimuli.
    beside = there.keys() - set(found.values())
    others = sorted(name for name in beside if not is_left_behind(name) and not name.endswith((".zip", ".csv")))
    # A path that exists may be a pipe.
    return {name: there[place] for name, place in found.items() if there[place].is_file()}, others


def _in_one_form(name: str) -> str:
    return unicodedata.normalize("NFC", PurePosixPath(name.replace("\\", "/")).as_posix())


def _files_of(csv_path: Path, folder: Path, names: list[str], exact: bool) -> dict[str, Path]:
    found, others = stimulus_paths_in(folder, names)
    absent = sorted(set(names) - found.keys())
    if absent:
        elsewhere = [path for path in others if PurePosixPath(path).name == PurePosixPath(absent[0]).name]
        hint = f" (there is {elsewhere[0]})" if elsewhere else ""
        raise FileNotFoundError(
            f"{len(absent)} of {len(set(names))} files of {csv_path} are not in {folder}: {some(absent)}{hint}"
        )
    if exact and others:
        raise ValueError(
            f"{folder} holds {len(others)} files that {csv_path} does not name: {some(others)}; "
            "are the two of the same set? If they are, use exact=False"
        )
    return found
