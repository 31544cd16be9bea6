"""Stimuli behind a data use agreement: from a folder of the user's, or with an account that was given access."""

import os
from pathlib import Path
from typing import Any

from bsjax.data.catalogue.published import Published
from bsjax.data.files.archives import unzip
from bsjax.data.files.stimulus_files import read_stimulus_set
from bsjax.data.remote.cache import fetch_files
from bsjax.data.types.stimuli import StimulusSet

_TABLE = "manifest.csv"


def load_gated_stimuli(entry: Published, *, progress: Any = None) -> StimulusSet:
    """The stimuli of an entry that has an ``archive``.

    They are taken from the folder that the entry's environment variable names, else from its default folder, else
    from the archive in S3, which is fetched into ``$BRAINIO_HOME``. Its publishers state no digest for the archive: it
    is trusted as it first arrives (the checksums inside the archive show damage, not forgery).

    Args:
        entry: a row with ``archive``, ``folder_variable`` and ``default_folder``.
        progress: see ``fetch_file``.

    Raises:
        FileNotFoundError: the folder that the variable names has no table ``manifest.csv``, or a stimulus is missing.
        PermissionError: there is no folder, and the archive may not be read.
        ConnectionError, OSError, ValueError: as ``fetch_file``, ``unzip`` and ``read_stimulus_set``.
    """
    folder = own_folder(entry) or _fetched(entry, progress)
    stimuli = read_stimulus_set(folder / _TABLE, folder, exact=False)
    stimuli.identifier = entry.identifier
    return stimuli


def own_folder(entry: Published) -> Path | None:
    """The folder of an entry's stimuli that was put there by hand, if any.

    Raises:
        FileNotFoundError: the environment variable names one that has no table.
    """
    named = os.environ.get(entry.folder_variable)
    folder = Path(named or entry.default_folder).expanduser()
    if (folder / _TABLE).is_file():
        return folder
    if named:
        raise FileNotFoundError(
            f"{entry.folder_variable} names {folder}, where there is no {_TABLE}: let it name the folder of the "
            "extracted stimuli, or unset it"
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
    # The archive may hold the files themselves, or their folder.
    for folder in (extracted, extracted / archive.stem):
        if (folder / _TABLE).is_file():
            return folder
    raise FileNotFoundError(f"{archive} holds no {_TABLE}: it is not the archive of {entry.name}")
