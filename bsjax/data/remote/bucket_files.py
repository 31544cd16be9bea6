"""Files of any kind from S3, stored at given paths, with the names and arguments of Brain-Score."""

import os
from collections.abc import Sequence
from pathlib import Path

from bsjax.data.remote.cache import Progress, fetch_files
from bsjax.data.remote.storage import RemoteFile


def load_file_from_s3(
    bucket: str,
    path: str,
    local_filepath: str | Path,
    sha1: str | None = None,
    version_id: str | None = None,
    *,
    sha256: str | None = None,
    progress: Progress | None = None,
) -> Path:
    """Download a file from S3 to a given path, unless it exists.

    Args:
        bucket: "bucket" or "bucket/folder".
        path: name of the object.
        local_filepath: the destination.
        sha1: digest of its content. Without a digest, an existing file is used as it is, and of a downloaded one only
            the length is checked.
        version_id: version of the object.
        sha256: SHA-256 of its content.
        progress: see ``fetch_file``.

    Returns:
        ``local_filepath``.

    Raises:
        FileNotFoundError, PermissionError, ConnectionError, OSError, ValueError: as ``fetch_file``.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile() as there:
        ...     load_file_from_s3("brainscore-storage", "models/a.pt", there.name) == Path(there.name)
        True
    """
    local = Path(local_filepath)
    return fetch_files([RemoteFile(bucket, path, version_id, sha1, sha256)], progress, paths=[local])[0]


def load_folder_from_s3(
    bucket: str,
    folder_path: str,
    filename_version_sha: Sequence[tuple[str, str | None, str | None]],
    save_directory: str | Path,
    *,
    progress: Progress | None = None,
) -> list[Path]:
    """Download several files of one folder in S3, in parallel.

    Args:
        bucket: the bucket.
        folder_path: the folder in it.
        filename_version_sha: name, version and SHA-1 of each file.
        save_directory: the destination folder.
        progress: see ``fetch_file``.

    Returns:
        The paths, in the order given.

    Raises:
        ValueError: a name leads out of the folder; further errors as ``fetch_files``.

    Example:
        >>> load_folder_from_s3("brainscore-storage", "models/net", [], "folder")
        []
    """
    folder = f"{bucket}/{folder_path}"
    remotes = [RemoteFile(folder, name, version, sha1) for name, version, sha1 in filename_version_sha]
    paths = [_inside(Path(save_directory), name) for name, _, _ in filename_version_sha]
    return fetch_files(remotes, progress, paths=paths)


def load_weight_file(
    bucket: str,
    relative_path: str,
    version_id: str | None,
    sha1: str | None,
    folder_name: str | None = None,
    *,
    progress: Progress | None = None,
) -> Path:
    """Download a model's weights to ``$BRAINSCORE_HOME/<folder>/<relative_path>`` (``~/.brain-score``).

    Args:
        bucket: the bucket.
        relative_path: name of the object in the folder.
        version_id: version of the object.
        sha1: digest of its content, checked if given.
        folder_name: the folder in the bucket; by default ``$BRAINSCORE_S3_WEIGHT_FOLDER``, or "models".
        progress: see ``fetch_file``.

    Returns:
        The path of the file.

    Raises:
        ValueError: the path leads out of the folder; further errors as ``fetch_file``.

    Example:
        >>> load_weight_file("brainscore-storage", "../weights.pt", version_id=None, sha1=None)
        Traceback (most recent call last):
        ...
        ValueError: '../weights.pt' leads out of the folder that it should be in
    """
    home = Path(os.environ.get("BRAINSCORE_HOME") or "~/.brain-score").expanduser()
    folder = folder_name or os.environ.get("BRAINSCORE_S3_WEIGHT_FOLDER") or "models"
    local = _inside(home / folder, relative_path)
    return load_file_from_s3(f"{bucket}/{folder}", relative_path, local, sha1, version_id, progress=progress)


def load_file(bucket: str, relative_path: str, version_id: str | None, folder_name: str | None = None) -> Path:
    """Like ``load_weight_file``, for a file without a digest.

    Args:
        bucket, relative_path, version_id, folder_name: as for ``load_weight_file``.

    Example:
        >>> load_file("brainscore-storage", "/etc/weights.pt", version_id=None)
        Traceback (most recent call last):
        ...
        ValueError: '/etc/weights.pt' leads out of the folder that it should be in
    """
    return load_weight_file(bucket, relative_path, version_id, None, folder_name)


def _inside(folder: Path, name: str) -> Path:
    path = os.path.normpath(name.replace("\\", "/"))
    if os.path.isabs(path) or os.path.splitdrive(path)[0] or path.split(os.sep)[0] in ("..", "."):
        raise ValueError(f"{name!r} leads out of the folder that it should be in")
    return folder / path
