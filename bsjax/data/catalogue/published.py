"""The catalogue of data published by Brain-Score, with the location of each entry's files.

The entries are rows of ``published.json``, as Brain-Score registered them. Reading them loads neither xarray nor boto3.
"""

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from bsjax.data.remote.cache import brainio_home, cached_path
from bsjax.data.remote.storage import RemoteFile, store_name

KINDS = ("assembly", "stimulus_set")

ACCESS = {
    "public": "Brain-Score's own tests load it without credentials, or its name says that it is public",
    "private": "Brain-Score marks it as private, which may only mean that its tests need credentials",
    "unknown": "Brain-Score does not say who may read it",
    "agreement": "it takes a signed data use agreement, and an account to which its publishers have then given access",
}
"""Meaning of the terms for access. Whether an entry can be read is decided by the bucket when it is loaded."""


@dataclass(frozen=True)
class Published:
    """One published assembly or stimulus set, with the digests and versions of its objects in ``bucket``.

    Args:
        name: the identifier it is registered under.
        kind: one of ``KINDS``.
        identifier: its identifier in the bucket, from which the file names are formed.
        bucket: "bucket/folder".
        access: one of ``ACCESS``.
        sha1, version_id: digest and version of an assembly's file.
        csv_sha1, csv_version_id, zip_sha1, zip_version_id: those of a stimulus set's table and archive.
        class_name: name of the class of an assembly.
        stimulus_set: name of the published stimulus set of an assembly; "" if there is none.
        merge: whether columns of the stimulus set become presentation coordinates.
        regions: brain regions that Brain-Score's benchmarks use; empty if they do not say.
        post_processing: names and arguments of functions in ``post_processing`` to apply.
        archive, folder_variable, default_folder: location of stimuli behind a data use agreement, see
            ``bsjax.data.catalogue.loading``.
        unique: whether the table of a stimulus set has one row per stimulus; otherwise the first row of each is used.
        note: a remark for users.
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
        """The entry's objects: one file for an assembly; table and archive for a stimulus set.

        Example:
            >>> [file.url for file in published("assembly")["MajajHong2015.public"].files]
            ['https://brainscore-storage.s3.amazonaws.com/brainio-brainscore/assy_dicarlo_MajajHong2015_public.nc']
        """
        if self.archive:
            return (RemoteFile(self.bucket, self.archive),)
        if self.kind == "assembly":
            return (self._file("nc", self.version_id, self.sha1),)
        return (
            self._file("csv", self.csv_version_id, self.csv_sha1),
            self._file("zip", self.zip_version_id, self.zip_sha1),
        )

    def _file(self, file_type: str, version_id: str, sha1: str | None) -> RemoteFile:
        return RemoteFile(self.bucket, store_name(self.identifier, file_type), version_id, sha1)

    @property
    def archive_path(self) -> Path:
        """Path of the downloaded ``archive``; it is not named by a digest, because none is published."""
        return brainio_home() / "gated" / self.identifier / self.archive.rpartition("/")[2]

    @property
    def manifest(self) -> Path:
        """Path of the table in a folder that users with access fill themselves; it may not exist."""
        return Path(os.environ.get(self.folder_variable) or self.default_folder).expanduser() / "manifest.csv"


def published(kind: str) -> dict[str, Published]:
    """All published entries of a kind, sorted by name.

    Args:
        kind: "assembly" or "stimulus_set".

    Example:
        >>> len(published("assembly")), len(published("stimulus_set"))
        (144, 155)
        >>> published("assembly")["MajajHong2015.public"].stimulus_set
        'hvm-public'
    """
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
    """Availability of data on this machine.

    ``cached`` is "yes" (all files), "partly", or "no"; ``size`` is the number of bytes of the local files.
    """

    cached: str
    size: int


def status(entry: Published) -> Status:
    """Local availability of a published entry's own files, without those of its stimulus set.

    Nothing is read or verified; files are verified when first used.

    Example:
        >>> from dataclasses import replace
        >>> status(replace(published("assembly")["MajajHong2015.public"], sha1="0" * 40))
        Status(cached='no', size=0)
    """
    if not entry.archive:
        return status_of_files([cached_path(file) for file in entry.files])
    return status_of_files([entry.manifest if entry.manifest.is_file() else entry.archive_path])


def status_of_files(places: Iterable[Path]) -> Status:
    """Local availability of files.

    Example:
        >>> status_of_files([Path("no/such/file")])
        Status(cached='no', size=0)
    """
    places = list(places)
    sizes = [place.stat().st_size for place in places if os.path.isfile(place)]
    cached = "no" if not sizes else "yes" if len(sizes) == len(places) else "partly"
    return Status(cached, sum(sizes))
