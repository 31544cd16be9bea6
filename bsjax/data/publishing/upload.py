"""Upload of packages to S3, with verification, and without overwriting other objects by accident."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bsjax.core.digests.files import mismatch
from bsjax.data.remote.cache import Progress
from bsjax.data.remote.storage import RemoteFile, as_python, http_status, s3_clients


def upload_stimulus_set(
    packaged: Mapping[str, Any], bucket: str, *, overwrite: bool = False, progress: Progress | None = None
) -> dict[str, Any]:
    """Upload a packaged stimulus set.

    Args:
        packaged: the result of ``package_stimulus_set_locally``.
        bucket: "bucket" or "bucket/folder".
        overwrite, progress: as for ``upload_files``.

    Returns:
        As ``package_stimulus_set``: identifier, bucket, digests and versions.

    Raises:
        ValueError: a file has changed since it was packaged; further errors as ``upload_files``.

    Example:
        >>> import tempfile
        >>> from PIL import Image
        >>> from bsjax.data import StimulusSet, package_stimulus_set_locally
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder, "a.png")
        ...     Image.new("RGB", (4, 4)).save(file)
        ...     stimuli = StimulusSet({"stimulus_id": ["a"]}, identifier="Doe2026", stimulus_paths={"a": file})
        ...     packaged = package_stimulus_set_locally(stimuli, "Doe2026", downloads_path=folder)
        ...     _ = Path(packaged["csv_path"]).write_text("changed")
        ...     upload_stimulus_set(packaged, "my-bucket/my-folder")
        Traceback (most recent call last):
        ...
        ValueError: ...
    """
    files = {path: RemoteFile(bucket, path.name, **digests) for path, digests in packaged_files(packaged).items()}
    there = [properties.get("VersionId") for properties in upload_files(files, overwrite, progress).values()]
    kept = ("identifier", "csv_sha1", "zip_sha1", "csv_sha256", "zip_sha256")
    versions = dict(zip(("csv_version_id", "zip_version_id"), there, strict=True))
    return {"bucket": bucket, **versions, **{name: packaged[name] for name in kept}}


def upload_assembly(
    packaged: Mapping[str, Any], bucket: str, *, overwrite: bool = False, progress: Progress | None = None
) -> dict[str, Any]:
    """Upload a packaged assembly.

    Args:
        packaged: the result of ``package_data_assembly_locally``.
        bucket: "bucket" or "bucket/folder".
        overwrite, progress: as for ``upload_files``.

    Returns:
        As ``package_data_assembly``: identifier, bucket, class, digests, version and stimulus set.

    Raises:
        ValueError: the file has changed since it was packaged; further errors as ``upload_files``.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> from bsjax import NeuroidAssembly
        >>> from bsjax.data import package_data_assembly_locally
        >>> assembly = NeuroidAssembly(np.ones((2, 1)), dims=["presentation", "neuroid"], coords={
        ...     "stimulus_id": ("presentation", ["a", "b"]), "repetition": ("presentation", [0, 0]),
        ...     "neuroid_id": ("neuroid", ["n"]), "region": ("neuroid", ["V4"]),
        ...     "time_bin_start": 70, "time_bin_end": 170})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     packaged = package_data_assembly_locally(assembly, "Doe2026", None, downloads_path=folder)
        ...     _ = Path(packaged["path"]).write_bytes(b"changed")
        ...     upload_assembly(packaged, "my-bucket/my-folder")
        Traceback (most recent call last):
        ...
        ValueError: ...
    """
    files = {path: RemoteFile(bucket, path.name, **digests) for path, digests in packaged_files(packaged).items()}
    [there] = upload_files(files, overwrite, progress).values()
    kept = ("identifier", "sha1", "sha256", "cls", "stimulus_set_identifier")
    return {"bucket": bucket, "version_id": there.get("VersionId"), **{name: packaged[name] for name in kept}}


def packaged_files(packaged: Mapping[str, Any]) -> dict[Path, dict[str, str]]:
    """The files of a package with their digests, after verifying that they are unchanged.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: a file has changed since it was packaged.
    """
    files = {
        Path(packaged[f"{prefix}path"]): {name: packaged[f"{prefix}{name}"] for name in ("sha1", "sha256")}
        for prefix in ("csv_", "zip_", "")
        if f"{prefix}path" in packaged
    }
    name = packaged["identifier"]
    for path in files:
        if not path.is_file():
            raise FileNotFoundError(f"there is no file {path}: package {name!r} again")
    changed = [f"{path}: {wrong}" for path, digests in files.items() if (wrong := mismatch(path, digests))]
    if changed:
        raise ValueError(f"{name!r} has changed since it was packaged, package it again: {'; '.join(changed)}")
    return files


def upload_files(
    files: Mapping[Path, RemoteFile], overwrite: bool = False, progress: Progress | None = None
) -> dict[Path, dict[str, Any]]:
    """Upload files, or none if one is refused; a file that is already there is not sent again.

    Their SHA-1 and SHA-256 are stored as metadata of the objects, by which they are recognised later. Credentials are
    found as by every AWS tool: from the environment, ``~/.aws``, ``AWS_PROFILE``, or the machine's role.

    Args:
        files: the files -> their destinations, with their digests.
        overwrite: whether to replace other objects of these names. (A bucket with versioning keeps them as versions.)
        progress: callback that is told how much has been uploaded.

    Returns:
        S3's properties of each object, among them ``ContentLength``, ``ETag``, and, with versioning, ``VersionId``.

    Raises:
        FileNotFoundError: the bucket does not exist.
        FileExistsError: another object has one of the names.
        PermissionError: credentials are missing or insufficient; the message says what access is needed.
        ConnectionError: S3 cannot be reached or fails.
        ValueError: a bucket or object name is invalid, or the AWS settings cannot be used.
    """
    client, *anonymous = s3_clients()
    if not anonymous:
        raise PermissionError(
            f"no credentials to upload {', '.join(map(str, files.values()))}: set AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
        )
    there: dict[Path, dict[str, Any]] = {}
    for path, remote in files.items():
        with _explained(remote):
            properties = _head(client, remote)
            if properties is None:
                continue
            if _is_same(client, remote, properties, path):
                there[path] = properties
            elif not overwrite:
                raise FileExistsError(
                    f"{remote} is there already, and is another file than {path}: upload it under another identifier "
                    "or to another folder, or ask for it to be overwritten"
                )
    for path, remote in files.items():
        size = path.stat().st_size
        if path not in there:
            there[path] = _send(client, path, remote, progress)
        elif progress is not None:
            progress(path.name, size, size)
    return {path: there[path] for path in files}


def _send(client: Any, path: Path, remote: RemoteFile, progress: Progress | None) -> dict[str, Any]:
    told = None if progress is None else _counted(progress, path)
    with _explained(remote):
        client.upload_file(str(path), remote.bucket, remote.key, {"Metadata": remote.digests}, told)
        there = _head(client, remote)
        if there is None or not _is_same(client, remote, there, path):
            raise ConnectionError(
                f"{path} was uploaded, but {remote} is not it: was something else uploaded meanwhile?"
            )
    return there


def _head(client: Any, remote: RemoteFile) -> dict[str, Any] | None:
    """S3's properties of an object; None if it does not exist."""
    from botocore.exceptions import ClientError

    try:
        return client.head_object(Bucket=remote.bucket, Key=remote.key)
    except ClientError as error:
        if http_status(error) != 404:
            raise
    return None


def _is_same(client: Any, remote: RemoteFile, there: Mapping[str, Any], path: Path) -> bool:
    if there["ContentLength"] != path.stat().st_size:
        return False
    known = there.get("Metadata", {}).get("sha256")
    return _sha256(client, remote) == remote.sha256 if known is None else known == remote.sha256


def _sha256(client: Any, remote: RemoteFile) -> str:
    """Digest of an object uploaded by other software, computed from its content."""
    digest = hashlib.sha256()
    for piece in client.get_object(Bucket=remote.bucket, Key=remote.key)["Body"].iter_chunks(1 << 20):
        digest.update(piece)
    return digest.hexdigest()


def _counted(progress: Progress, path: Path) -> Callable[[int], None]:
    gone, size = 0, path.stat().st_size

    def count(more: int) -> None:  # negative if a part is sent again
        nonlocal gone
        gone += more
        progress(path.name, gone, size)

    return count


@contextmanager
def _explained(remote: RemoteFile) -> Iterator[None]:
    """Context manager that turns errors of boto3 into Python's, with advice."""
    from boto3.exceptions import S3UploadFailedError
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except (BotoCoreError, ClientError, S3UploadFailedError) as error:
        cause = error.__context__ if isinstance(error, S3UploadFailedError) else error
        raise as_python(cause or error, remote, "s3:PutObject, s3:GetObject and s3:ListBucket") from error
