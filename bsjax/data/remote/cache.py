"""The cache of downloaded files, each verified once and stored where Brain-Score looks for it.

A file is at ``$BRAINIO_HOME/<sha1>/<name>`` (default ``~/.brainio``), so bsjax uses what Brain-Score has downloaded,
and vice versa.
"""

import os
import threading
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from contextvars import ContextVar
from pathlib import Path

from bsjax.core.context import set_within
from bsjax.core.digests.files import is_verified, mismatch, remember
from bsjax.core.files import exclusive, explained
from bsjax.data.remote.downloads import download
from bsjax.data.remote.storage import RemoteFile, Storage

Progress = Callable[[str, int, int], None]
"""Called with the name of a file, the number of its bytes available so far, and the total; from any thread."""

_progress: ContextVar[Progress | None] = ContextVar("progress", default=None)


def brainio_home() -> Path:
    """The folder of downloaded files: ``$BRAINIO_HOME``, or ``~/.brainio``. It may not exist yet.

    Example:
        >>> brainio_home() == Path(os.environ.get("BRAINIO_HOME") or "~/.brainio").expanduser()
        True
    """
    return Path(os.environ.get("BRAINIO_HOME") or "~/.brainio").expanduser()


def cached_path(remote: RemoteFile) -> Path:
    """The path of a file in the cache, whether or not it has been downloaded.

    Raises:
        ValueError: the file has no digest.

    Example:
        >>> path = cached_path(RemoteFile("brainscore-storage/data", "assy_A.nc", sha1="a9" * 20))
        >>> path.relative_to(brainio_home()).as_posix()
        'a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9/assy_A.nc'
    """
    digest = remote.sha1 or remote.sha256
    if digest is None:
        raise ValueError(f"{remote} needs a sha1 (or a sha256): files are kept, and checked, by digest")
    return brainio_home() / digest / remote.name


def showing(progress: Progress) -> AbstractContextManager[None]:
    """Context manager that reports every download inside it, also in nested loaders, to ``progress``.

    Example:
        >>> with showing(lambda name, here, size: print(f"{name}: {here:,} of {size:,} bytes")):
        ...     pass  # e.g. bsjax.load_dataset("MajajHong2015.public")
    """
    return set_within(_progress, progress)


def fetch_file(
    bucket: str,
    key: str,
    sha1: str | None,
    version_id: str | None = None,
    sha256: str | None = None,
    progress: Progress | None = None,
) -> Path:
    """The path of a file from S3, downloaded and verified if it is missing.

    Credentials are used if they are set. An interrupted download is continued. If several processes want the same file,
    one downloads it. The file is verified before it is moved to its place. An existing file, e.g. from Brain-Score, is
    verified once; a wrong one is replaced, with a warning.

    Args:
        bucket: "bucket" or "bucket/folder".
        key: name of the object, in that folder.
        sha1: digest of its content; may be None if ``sha256`` is given.
        version_id: version of the object; "null" is a valid version, see ``RemoteFile``.
        sha256: SHA-256 of its content, if known.
        progress: callback for progress; by default that of ``showing``, if any.

    Raises:
        ValueError: the download does not match the digests and was removed; or a digest, bucket or key is invalid.
        FileNotFoundError: the bucket, object or version does not exist.
        PermissionError: S3 refuses to send it, or the cache folder cannot be written.
        ConnectionError: no connection; partial downloads are kept and continued by the next call.
        OSError: the disk is full.

    Example:
        >>> fetch_file("brainscore-storage", "assy_A.nc", sha1="not a digest")
        Traceback (most recent call last):
        ...
        ValueError: sha1 of s3://brainscore-storage/assy_A.nc has to be 40 hexadecimal digits, got 'not a digest'
    """
    return fetch_files([RemoteFile(bucket, key, version_id, sha1, sha256)], progress)[0]


def fetch_files(
    remotes: Iterable[RemoteFile],
    progress: Progress | None = None,
    at_once: int = 8,
    paths: Iterable[Path] | None = None,
) -> list[Path]:
    """The paths of several files, like ``fetch_file``, with ``at_once`` parallel downloads.

    Args:
        remotes: the files.
        progress: as for ``fetch_file``.
        at_once: number of parallel downloads.
        paths: destinations outside of the cache; an existing file without a digest is then used as it is.

    Raises:
        OSError, ValueError: as ``fetch_file`` if one file fails. If several fail, an OSError with all messages; the
            other files have been downloaded.

    Example:
        >>> fetch_files([])
        []
    """
    remotes = list(remotes)
    places = list(zip(remotes, map(cached_path, remotes) if paths is None else paths, strict=True))
    progress = progress or _progress.get()
    missing = dict.fromkeys(place for place in places if not is_verified(place[1], place[0].digests))
    storage, stopped = Storage(), threading.Event()

    def fetch(place: tuple[RemoteFile, Path]) -> Exception | None:
        remote, path = place

        def report(here: int, size: int) -> None:
            if stopped.is_set():
                raise InterruptedError(f"the fetch of {remote} was stopped")
            if progress is not None:
                progress(remote.name, here, size)

        try:
            _obtain(remote, path, storage, report)
        except (OSError, ValueError) as error:
            return error
        return None

    with ThreadPoolExecutor(max_workers=at_once, thread_name_prefix="fetch") as pool:
        try:
            failed = [error for error in pool.map(fetch, missing) if error is not None]
        except BaseException:  # an interrupt; the threads stop at their next chunk
            stopped.set()
            pool.shutdown(cancel_futures=True)
            raise
    if len(failed) > 1:
        raise OSError(f"{len(failed)} of {len(places)} files were not fetched: " + "; ".join(map(str, failed)))
    if failed:
        raise failed[0]
    return [path for _, path in places]


def _obtain(remote: RemoteFile, path: Path, storage: Storage, report: Callable[[int, int], None]) -> None:
    part = path.with_name(f".{path.name}.part")
    try:
        with exclusive(path):
            if not _is_there(remote, path):
                _fetch(remote, path, part, storage, report)
            # Clean up before the file is recorded, because recorded files are not inspected again.
            part.unlink(missing_ok=True)
            if not is_verified(path, remote.digests):
                remember(path, remote.digests)
    except OSError as error:
        if error.errno is not None:  # an error of this machine's disk
            wrong = mismatch(path, remote.digests) if path.is_file() else "nothing is there"
            if wrong:
                raise explained(error, f"keep {remote}", path.parent, wrong) from error
            remember(path, remote.digests)  # the folder is read-only
        elif isinstance(error, PermissionError | ConnectionError):
            raise type(error)(f"{error}. A copy of the file can also be put at {path}; it is checked there.") from error
        else:
            raise


def _is_there(remote: RemoteFile, path: Path) -> bool:
    """Whether the file is present and correct, possibly from another process; a wrong file is removed."""
    if not path.exists():
        return False
    wrong = "" if is_verified(path, remote.digests) else mismatch(path, remote.digests)
    if wrong:
        path.unlink()
        warnings.warn(f"removed {path}: {wrong}; fetching it again", stacklevel=2)
    return not wrong


def _fetch(remote: RemoteFile, path: Path, part: Path, storage: Storage, report: Callable[[int, int], None]) -> None:
    patched = download(remote, part, storage, report)
    wrong = mismatch(part, remote.digests)
    if wrong and patched:  # assembled from several responses, one of which may be faulty: retry in one piece
        part.unlink()
        download(remote, part, storage, report)
        wrong = mismatch(part, remote.digests)
    if wrong:
        size = part.stat().st_size
        part.unlink()
        raise ValueError(
            f"{remote} is not the file it should be: {wrong} from {size:,} bytes. What came was removed. Either the "
            "registered digest or version is not that of the object, or the object has been altered."
        )
    os.replace(part, path)
