"""The data that Brain-Score has published: where each entry's files are, and how it is loaded.

The entries are rows of ``published.json``, as Brain-Score registered them. Reading them loads neither xarray nor boto3.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bsjax.data.cache import brainio_home
from bsjax.data.storage import RemoteFile

if TYPE_CHECKING:
    from bsjax.data.assemblies import DataAssembly
    from bsjax.data.stimuli import StimulusSet

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
        archive, folder_variable, default_folder: of stimuli behind a data use agreement, see ``bsjax.data.gated``.
        unique: whether the table of a stimulus set has one row for each stimulus; else the first one counts.
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
        name = self.identifier.replace(".", "_")
        if self.kind == "assembly":
            return (RemoteFile(self.bucket, f"assy_{name}.nc", self.version_id, self.sha1),)
        return (
            RemoteFile(self.bucket, f"stimulus_{name}.csv", self.csv_version_id, self.csv_sha1),
            RemoteFile(self.bucket, f"stimulus_{name}.zip", self.zip_version_id, self.zip_sha1),
        )

    @property
    def archive_path(self) -> Path:
        """Where ``archive`` lies once it was fetched: it has no digest to be filed under."""
        return brainio_home() / "gated" / self.identifier / self.archive.rpartition("/")[2]


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


def load_assembly(
    entry: Published, stimulus_set: Callable[[str], StimulusSet], *, chunks: Any = None, progress: Any = None
) -> DataAssembly:
    """Load a published assembly, fetching what is not here yet.

    Args:
        entry: its row.
        stimulus_set: loads a stimulus set by its name.
        chunks: as for ``load_assembly_from_s3``, for a file larger than memory.
        progress: as for ``load_assembly_from_s3``.

    Raises:
        FileNotFoundError, PermissionError, ConnectionError, OSError, ValueError: as ``load_assembly_from_s3``; the
            message names the entry, the object, and what access it needs.
    """
    from bsjax.data.post_processing import apply
    from bsjax.data.s3 import load_assembly_from_s3

    [file] = entry.files
    with _explained(entry):
        assembly = load_assembly_from_s3(
            identifier=entry.identifier,
            version_id=file.version_id,
            sha1=file.sha1 or "",
            bucket=entry.bucket,
            cls=entry.class_name,
            stimulus_set_loader=(lambda: stimulus_set(entry.stimulus_set)) if entry.stimulus_set else None,
            merge_stimulus_set_meta=entry.merge,
            chunks=chunks,
            progress=progress,
        )
        return apply(entry.post_processing, assembly)


def load_stimuli(entry: Published, *, progress: Any = None) -> StimulusSet:
    """Load a published stimulus set, fetching what is not here yet.

    Args:
        entry: its row.
        progress: as for ``load_stimulus_set_from_s3``.

    Raises:
        FileNotFoundError, PermissionError, ConnectionError, OSError, ValueError: as ``load_stimulus_set_from_s3``; the
            message names the entry, the object, and what access it needs.
    """
    from bsjax.data.gated import load_gated_stimuli
    from bsjax.data.post_processing import apply
    from bsjax.data.s3 import load_stimulus_set_from_s3

    with _explained(entry):
        if entry.archive:
            stimuli = load_gated_stimuli(entry, progress=progress)
        else:
            table, archive = entry.files
            stimuli = load_stimulus_set_from_s3(
                identifier=entry.identifier,
                bucket=entry.bucket,
                csv_sha1=table.sha1 or "",
                zip_sha1=archive.sha1 or "",
                csv_version_id=table.version_id,
                zip_version_id=archive.version_id,
                exact=entry.unique,
                progress=progress,
            )
        if not entry.unique:
            stimuli = stimuli[~stimuli["stimulus_id"].duplicated()]
        return apply(entry.post_processing, stimuli)


@contextmanager
def _explained(entry: Published) -> Iterator[None]:
    """A block whose errors name the entry that was to be loaded, and, where that matters, who may read it."""
    try:
        yield
    except (OSError, ValueError) as error:
        what = f"cannot load {entry.kind.replace('_', ' ')} {entry.name!r}: {error}"
        inner = str(error).startswith("cannot load ")  # its stimulus set, which has been explained already
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
