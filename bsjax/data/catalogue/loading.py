"""Published data from S3 or from a folder of the user, with errors that name the entry."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bsjax.data.catalogue.post_processing import apply
from bsjax.data.catalogue.published import ACCESS, Published
from bsjax.data.files.archives import unzip
from bsjax.data.files.stimulus_files import read_stimulus_set
from bsjax.data.remote.cache import fetch_files
from bsjax.data.remote.s3 import load_assembly_from_s3, load_stimulus_set_from_s3
from bsjax.data.types.assemblies import DataAssembly
from bsjax.data.types.stimuli import StimulusSet


def load_gated_stimuli(entry: Published, *, progress: Any = None) -> StimulusSet:
    """The stimuli of an entry that has an ``archive``, i.e. of data behind a use agreement.

    They are read from the folder in the entry's environment variable, else from its default folder, else from the
    archive in S3, which is downloaded into ``$BRAINIO_HOME``. The publishers state no digest of the archive, so it is
    trusted as downloaded (the checksums inside the archive detect damage, not forgery).

    Args:
        entry: a row with ``archive``, ``folder_variable`` and ``default_folder``.
        progress: see ``fetch_file``.

    Raises:
        FileNotFoundError: the folder in the variable has no table ``manifest.csv``, or a stimulus is missing.
        PermissionError: there is no folder, and access to the archive is denied.
        ConnectionError, OSError, ValueError: as ``fetch_file``, ``unzip`` and ``read_stimulus_set``.
    """
    folder = own_folder(entry) or _fetched(entry, progress)
    stimuli = read_stimulus_set(folder / entry.manifest.name, folder, exact=False)
    stimuli.identifier = entry.identifier
    return stimuli


def own_folder(entry: Published) -> Path | None:
    """The folder with stimuli that the user has placed there, or None.

    Raises:
        FileNotFoundError: the environment variable names a folder without the table.
    """
    if entry.manifest.is_file():
        return entry.manifest.parent
    if os.environ.get(entry.folder_variable):
        raise FileNotFoundError(
            f"{entry.folder_variable} names {entry.manifest.parent}, where there is no {entry.manifest.name}: let it "
            "name the folder of the extracted stimuli, or unset it"
        )
    return None


def _fetched(entry: Published, progress: Any) -> Path:
    [file] = entry.files
    try:
        [archive] = fetch_files([file], progress, paths=[entry.archive_path])
    except (PermissionError, FileNotFoundError, ConnectionError) as error:
        if error.errno is not None:
            raise
        raise type(error)(
            f"{error} A copy of the stimuli can also be put into {Path(entry.default_folder)}, or into a folder that "
            f"{entry.folder_variable} names."
        ) from error
    extracted = unzip(archive)
    # The archive may hold the files directly, or a folder with them.
    for folder in (extracted, extracted / archive.stem):
        if (folder / entry.manifest.name).is_file():
            return folder
    raise FileNotFoundError(f"{archive} holds no {entry.manifest.name}: it is not the archive of {entry.name}")


def load_assembly(
    entry: Published, stimulus_set: Callable[[str], StimulusSet], *, chunks: Any = None, progress: Any = None
) -> DataAssembly:
    """Load a published assembly; missing files are downloaded.

    Args:
        entry: the row of the assembly.
        stimulus_set: function that loads a stimulus set by name.
        chunks: as for ``load_assembly_from_s3``, for a file larger than memory.
        progress: as for ``load_assembly_from_s3``.

    Raises:
        FileNotFoundError, PermissionError, ConnectionError, OSError, ValueError: as
            ``bsjax.data.load_assembly_from_s3``; the message names the entry, the object, and what access it needs.
    """
    loader = (lambda: stimulus_set(entry.stimulus_set)) if entry.stimulus_set else None
    where = entry.identifier, entry.version_id, str(entry.sha1), entry.bucket, entry.class_name
    with _explained(entry):
        assembly = load_assembly_from_s3(*where, loader, entry.merge, chunks=chunks, progress=progress)
        return apply(entry.post_processing, assembly)


def load_stimuli(entry: Published, *, progress: Any = None) -> StimulusSet:
    """Load a published stimulus set; missing files are downloaded.

    Args:
        entry: the row of the stimulus set.
        progress: as for ``load_stimulus_set_from_s3``.

    Raises:
        FileNotFoundError, PermissionError, ConnectionError, OSError, ValueError: as ``load_stimulus_set_from_s3``; the
            message names the entry, the object, and what access it needs.
    """
    with _explained(entry):
        if entry.archive:
            stimuli = load_gated_stimuli(entry, progress=progress)
        else:
            where = entry.identifier, entry.bucket, str(entry.csv_sha1), str(entry.zip_sha1)
            versions = entry.csv_version_id, entry.zip_version_id
            stimuli = load_stimulus_set_from_s3(*where, *versions, exact=entry.unique, progress=progress)
        if not entry.unique:
            stimuli = stimuli[~stimuli["stimulus_id"].duplicated()]
        return apply(entry.post_processing, stimuli)


@contextmanager
def _explained(entry: Published) -> Iterator[None]:
    """Context manager whose errors name the entry being loaded and, if relevant, who may read it."""
    try:
        yield
    except (OSError, ValueError) as error:
        what = f"cannot load {entry.kind.replace('_', ' ')} {entry.name!r}: {error}"
        inner = str(error).startswith("cannot load ")  # raised for its stimulus set, already explained
        remote = isinstance(error, OSError) and error.errno is None  # not an error of this machine's disk
        if remote and not inner:
            what += f" [access to {entry.name}: {entry.access}; {ACCESS[entry.access]}]"
        if entry.note and not inner:
            what += f" [note: {entry.note}]"
        told = next(kind for kind in _KINDS_OF_ERRORS if isinstance(error, kind))(what)
        if isinstance(told, OSError) and isinstance(error, OSError):
            told.errno = error.errno
        raise told from error


_KINDS_OF_ERRORS = (FileNotFoundError, PermissionError, ConnectionError, OSError, ValueError)
