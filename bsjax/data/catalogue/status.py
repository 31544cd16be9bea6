"""Presence of published data on the disk, told from the names of files alone."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from bsjax.data.catalogue.published import Published
from bsjax.data.remote.cache import cached_path


class Status(NamedTuple):
    """What is here of some data.

    ``cached`` is "yes" (all its files), "partly", or "no"; ``size`` is the bytes of its files that are here.
    """

    cached: str
    size: int


def status(entry: Published) -> Status:
    """What is here of a published entry's own files; that of its stimulus set is another entry's.

    Nothing is read or checked: a file is checked when it is used for the first time.

    Example:
        >>> from dataclasses import replace
        >>> from bsjax.data.catalogue.published import published
        >>> status(replace(published("assembly")["MajajHong2015.public"], sha1="0" * 40))
        Status(cached='no', size=0)
    """
    return status_of_files(_places(entry))


def status_of_files(places: Iterable[Path]) -> Status:
    """What is here of some files.

    Example:
        >>> status_of_files([Path("no/such/file")])
        Status(cached='no', size=0)
    """
    sizes = [_size(place) for place in places]
    here = [size for size in sizes if size is not None]
    cached = "no" if not here else "yes" if len(here) == len(sizes) else "partly"
    return Status(cached, sum(here))


def _places(entry: Published) -> list[Path]:
    if not entry.archive:
        return [cached_path(file) for file in entry.files]
    # As in bsjax.data.catalogue.licensed_stimuli, which is not imported because it loads pandas.
    folder = Path(os.environ.get(entry.folder_variable) or entry.default_folder).expanduser()
    table = folder / "manifest.csv"
    return [table if table.is_file() else entry.archive_path]


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size if path.is_file() else None
    except OSError:  # a folder that may not be entered
        return None
