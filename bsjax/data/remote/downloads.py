"""Downloads of objects, which continue interrupted attempts."""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from errno import ENOSPC
from pathlib import Path
from typing import Any

from bsjax.core.discovery import one_line
from bsjax.data.remote.storage import RemoteFile, Storage

CHUNK = 256 * 1024

# Number of consecutive attempts without progress after which a download is given up.
ATTEMPTS = 4

# Seconds before the attempt after one without progress; doubled before each further one.
PAUSE = 0.4


class _Interrupted(Exception):
    """The connection ended before the object did."""


def download(remote: RemoteFile, part: Path, storage: Storage, report: Callable[[int, int], None]) -> bool:
    """Download an object into the file ``part``, continuing what an earlier or killed process left there.

    Only one process at a time may do so. Lost connections are resumed. Without a digest, which would show that the
    object has changed in between, each attempt starts from the beginning.

    Args:
        remote: the object.
        part: the file, in an existing folder.
        storage: access to S3.
        report: called repeatedly with the number of bytes available and the total.

    Returns:
        Whether the bytes come from more than one response, in this or an earlier call.

    Raises:
        FileNotFoundError, PermissionError, ConnectionError, ValueError: as ``Storage.open``; or a ConnectionError if
            the connection is lost again and again. Partial downloads are kept for the next call.
        OSError: ``part`` cannot be written, e.g. because the disk is full.
    """
    vain, most = 0, _size(part)
    while True:
        if not remote.digests:
            part.unlink(missing_ok=True)
        try:
            return _continue(remote, part, storage, report)
        except _Interrupted as error:
            vain, most = (0 if _size(part) > most else vain + 1), max(most, _size(part))
            if vain == ATTEMPTS:
                raise ConnectionError(
                    f"{remote} was given up after {ATTEMPTS} attempts without progress, with {_size(part):,} bytes of "
                    f"it here ({error}): call again later"
                ) from error
        time.sleep(PAUSE * 2 ** (vain - 1) if vain else 0)


def _continue(remote: RemoteFile, part: Path, storage: Storage, report: Callable[[int, int], None]) -> bool:
    opened = storage.open(remote, start=_size(part))
    if opened is None:  # all has come before
        return True
    body, here, size = opened
    pieced = here > 0
    with body, open(part, "ab" if pieced else "wb") as file:
        free = shutil.disk_usage(part.parent).free
        if size - here > free:
            raise OSError(ENOSPC, f"{size - here:,} bytes are to come and {free:,} are free")
        report(here, size)
        for piece in _pieces(body):
            file.write(piece)
            here += len(piece)
            report(here, size)
        file.flush()
        os.fsync(file.fileno())
    return pieced


def _pieces(body: Any) -> Iterator[bytes]:
    from botocore.exceptions import BotoCoreError
    from urllib3.exceptions import HTTPError

    try:
        yield from body.iter_chunks(CHUNK)
    except (BotoCoreError, HTTPError, OSError, ValueError) as error:  # among them a wrong checksum, and a short answer
        raise _Interrupted(one_line(error)) from error


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
