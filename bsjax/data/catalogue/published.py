"""The data that Brain-Score has published: where each entry's files are.

The entries are rows of ``published.json``, as Brain-Score registered them. Reading them loads neither xarray nor boto3.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from bsjax.data.remote.cache import brainio_home, cached_path
from bsjax.data.remote.storage import RemoteFile, assembly_file, stimulus_set_files

KINDS = ("assembly", "stimulus_set")

ACCESS = {
    "public": "Brain-Score's own tests load it without credentials, or its name says that it is public",
    "private": "Brain-Score marks it as private, which may only mean that its tests need credentials",
    "unknown": "Brain-Score does not say who may read it",
    "agreement": "it takes a signed data use agreement, and an account to which its publishers have then given access",
}
"""What the word for the access of an entry means. The bucket decides, when the entry is loaded."""


@dataclass(frozen=True)
class Published:
    """One published assembly or stimulus set. Files are digests and versions of objects in ``bucket``.

    Args:
        name: the identifier that it is registered and loaded by.
        kind: one of ``KINDS``.
        identifier: its identifier in the store, of which the names of its files are made.
        bucket: "bucket/folder".
        access: one of ``ACCESS``.
        sha1, version_id: of the file of an assembly.
        csv_sha1, csv_version_id, zip_sha1, zip_version_id: of the table and archive of a stimulus set.
        class_name: name of the class of an assembly.
        stimulus_set: name of the published stimulus set of an assembly; "" if there is none.
        merge: whether the columns of the stimulus set become coordinates of the presentations.
        regions: brain regions that Brain-Score's benchmarks take from it; empty where they do not say.
        post_processing: names and arguments of the functions in ``post_processing`` that it goes through.
        archive, folder_variable, default_folder: of stimuli behind a data use agreement, see
        ``bsjax.data.catalogue.loading``. unique: whether the table of a stimulus set has one row for each
        stimulus; else the first one counts.
        note: what to know before using it.
    """

    name: str
    kind: str
    identifier: str
    bucket: str
    access: str = "unknown"
    sha1: str | None = None
    version_id: str = "null"
    csv_sha1: str | None = None
    csv_version_id: str = "null"
    zip_sha1: str | None = None
    zip_version_id: str = "null"
    class_name: str = "StimulusSet"
    stimulus_set: str = ""
    merge: bool = True
    regions: tuple[str, ...] = ()
    post_processing: tuple[tuple[str, ...], ...] = ()
    archive: str = ""
    folder_variable: str = ""
    default_folder: str = ""
    unique: bool = True
    note: str = ""

    @property
    def files(self) -> tuple[RemoteFile, ...]:
        """The objects that it consists of: one of an assembly, table and archive of a stimulus set.

        Example:
            >>> [file.url for file in published("assembly")["MajajHong2015.public"].files]
            ['https://brainscore-storage.s3.amazonaws.com/brainio-brainscore/assy_dicarlo_MajajHong2015_public.nc']
        """
        if self.archive:
            return (RemoteFile(self.bucket, self.archive),)
        if self.kind == "assembly":
            return (assembly_file(self.identifier, self.version_id, self.sha1, self.bucket),)
        digests = self.csv_sha1, self.zip_sha1
        return stimulus_set_files(self.identifier, self.bucket, *digests, self.csv_version_id, self.zip_version_id)

    @property
    def archive_path(self) -> Path:
        """Where ``archive`` lies once it was fetched: it has no digest to be filed under."""
        return brainio_home() / "gated" / self.identifier / self.archive.rpartition("/")[2]

    @property
    def manifest(self) -> Path:
        """The table of stimuli that somebody with access has put into a folder, beside them; it may not exist."""
        return Path(os.environ.get(self.folder_variable) or self.default_folder).expanduser() / "manifest.csv"


def published(kind: str) -> dict[str, Published]:
    """All published entries of a kind, by the name they are loaded by, sorted.

    Args:
        kind: "assembly" or "stimulus_set".

    Raises:
        KeyError: another kind.

    Example:
        >>> len(published("assembly")), len(published("stimulus_set"))
        (144, 155)
        >>> published("assembly")["MajajHong2015.public"].stimulus_set
        'hvm-public'
    """
    if kind not in KINDS:
        raise KeyError(f"unknown kind {kind!r} of published data; there are: {', '.join(KINDS)}")
    return dict(_entries()[kind])


@cache
def _entries() -> dict[str, dict[str, Published]]:
    content = json.loads((Path(__file__).with_name("published.json")).read_bytes())
    entries: dict[str, dict[str, Published]] = {}
    for kind in KINDS:
        entries[kind] = {}
        for name, row in content[kind].items():
            row = {"class_name" if key == "class" else key: _frozen(value) for key, value in row.items()}
            entries[kind][name] = Published(name, kind, **{"bucket": content["bucket"], **row})
    return entries


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


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
        >>> status(replace(published("assembly")["MajajHong2015.public"], sha1="0" * 40))
        Status(cached='no', size=0)
    """
    if not entry.archive:
        return status_of_files([cached_path(file) for file in entry.files])
    return status_of_files([entry.manifest if entry.manifest.is_file() else entry.archive_path])


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


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size if path.is_file() else None
    except OSError:  # a folder that may not be entered
        return None
