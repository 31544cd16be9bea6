"""Stimulus sets and assemblies from S3, with the names and arguments of Brain-Score."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, TypeVar

from bsjax.data.files.archives import unzip
from bsjax.data.files.netcdf import read_assembly
from bsjax.data.files.stimulus_files import read_stimulus_set
from bsjax.data.remote.cache import Progress, fetch_files, showing
from bsjax.data.remote.storage import RemoteFile, store_name
from bsjax.data.types.assembly_base import DataAssembly
from bsjax.data.types.merging import attach_stimulus_set
from bsjax.data.types.stimuli import StimulusSet

Assembly = TypeVar("Assembly", bound=DataAssembly)


def load_stimulus_set_from_s3(
    identifier: str,
    bucket: str,
    csv_sha1: str,
    zip_sha1: str,
    csv_version_id: str | None = None,
    zip_version_id: str | None = None,
    filename_prefix: str | None = None,
    *,
    csv_sha256: str | None = None,
    zip_sha256: str | None = None,
    exact: bool = True,
    progress: Progress | None = None,
) -> StimulusSet:
    """Load a stimulus set from S3; its files are downloaded on first use.

    Args:
        identifier: its identifier in the bucket, e.g. "hvm-public".
        bucket: "bucket" or "bucket/folder".
        csv_sha1: digest of the table.
        zip_sha1: digest of the archive of stimuli.
        csv_version_id: version of the table; "null" is a valid version, see ``RemoteFile``.
        zip_version_id: version of the archive.
        filename_prefix: prefix of the file names in the bucket, if not ``"stimulus_"``.
        csv_sha256: SHA-256 of the table, if known.
        zip_sha256: SHA-256 of the archive, if known.
        exact: as for ``read_stimulus_set``.
        progress: see ``fetch_file``.

    Returns:
        The set, with ``identifier`` and the paths of its stimuli in the cache.

    Raises:
        FileNotFoundError, PermissionError, ConnectionError, OSError, ValueError: as ``fetch_file``, ``unzip`` and
            ``read_stimulus_set``.

    Example:
        >>> load_stimulus_set_from_s3("hvm-public", "s3://brainscore-storage", csv_sha1="", zip_sha1="")
        Traceback (most recent call last):
        ...
        ValueError: not a bucket: 's3://brainscore-storage'; it is written 'bucket' or 'bucket/folder'
    """
    csv, images = (store_name(identifier, file_type, filename_prefix) for file_type in ("csv", "zip"))
    files = [
        RemoteFile(bucket, csv, csv_version_id, csv_sha1, csv_sha256),
        RemoteFile(bucket, images, zip_version_id, zip_sha1, zip_sha256),
    ]
    table, archive = fetch_files(files, progress)
    stimuli = read_stimulus_set(table, unzip(archive), exact=exact)
    stimuli.identifier = identifier
    return stimuli


def load_assembly_from_s3(
    identifier: str,
    version_id: str | None,
    sha1: str,
    bucket: str,
    cls: type[Assembly] | str,
    stimulus_set_loader: Callable[[], StimulusSet] | None = None,
    merge_stimulus_set_meta: bool = True,
    *,
    sha256: str | None = None,
    chunks: Any = None,
    progress: Progress | None = None,
) -> Assembly:
    """Load an assembly from S3; its file is downloaded on first use.

    Args:
        identifier: its identifier in the bucket, e.g. "dicarlo.MajajHong2015.public".
        version_id: version of the file; "null" is a valid version, see ``RemoteFile``.
        sha1: digest of the file.
        bucket: "bucket" or "bucket/folder".
        cls: the class of assembly to return, or its name.
        stimulus_set_loader: function that returns the stimulus set of the recording.
        merge_stimulus_set_meta: whether columns of the stimulus set become presentation coordinates.
        sha256: SHA-256 of the file, if known.
        chunks: as for ``read_assembly``, for a file larger than memory.
        progress: see ``fetch_file``; also for the files of the stimulus set.

    Returns:
        The assembly. Its attributes are those of the file, ``identifier``, and, with a loader, ``stimulus_set`` and
        ``stimulus_set_identifier``.

    Raises:
        FileNotFoundError, PermissionError, ConnectionError, OSError, ValueError: as ``fetch_file``,
            ``read_assembly`` and ``attach_stimulus_set``.

    Example:
        >>> load_assembly_from_s3("A", None, sha1="?", bucket="brainscore-storage", cls="DataAssembly")
        Traceback (most recent call last):
        ...
        ValueError: sha1 of s3://brainscore-storage/assy_A.nc has to be 40 hexadecimal digits, got '?'
    """
    file = RemoteFile(bucket, store_name(identifier, "nc"), version_id, sha1, sha256)
    with showing(progress) if progress else nullcontext():
        [path] = fetch_files([file])
        stimuli = stimulus_set_loader() if stimulus_set_loader else None
    assembly = read_assembly(path, cls, chunks=chunks)
    if stimuli is not None:
        assembly = attach_stimulus_set(assembly, stimuli, merge=merge_stimulus_set_meta)
    assembly.attrs["identifier"] = identifier
    return assembly
