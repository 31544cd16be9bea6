"""Downloads of objects, which continue interrupted attempts."""

import json
import os
import shutil
import time
from collections.abc import Callable
from errno import ENOSPC
from pathlib import Path

from bsjax.core.files import write_atomically
from bsjax.data.remote.pace import paced
from bsjax.data.remote.storage import ObjectChanged, RemoteFile, Storage, Stream

CHUNK = 256 * 1024

# Maximal number of consecutive attempts without progress, and of restarts of a download, before it is given up.
ATTEMPTS = 4

# Maximal number of requests of one download, even if each makes progress.
MOST_REQUESTS = 1000

# Seconds before the attempt after one without progress; doubled before each further one.
PAUSE = 0.4


class _Interrupted(Exception):
    """The connection ended before the object did."""


def download(
    remote: RemoteFile, part: Path, storage: Storage, report: Callable[[int, int], None] | None = None
) -> bool:
    """Download an object into the file ``part``, continuing what an earlier or killed process left there.

    Only one process at a time may do so. The file ``<part>.json`` next to ``part`` records which object it belongs to;
    if the object's ETag has changed, the download restarts. Lost connections, and those slower than ``paced`` allows,
    are resumed. The number of requests is limited.

    Args:
        remote: the object.
        part: the file, in an existing folder.
        storage: access to S3.
        report: called repeatedly with the number of bytes available and the total.

    Returns:
        Whether the bytes come from more than one response, in this or an earlier call.

    Raises:
        FileNotFoundError, PermissionError, ConnectionError, ValueError: as ``Storage.open``; or a ConnectionError if
            the connection is lost or the object changes again and again. Partial downloads are kept for the next call.
        OSError: ``part`` cannot be written, e.g. because the disk is full.
    """
    report = report or (lambda here, size: None)
    asked = vain = changed = 0
    while True:
        before = _size(part)
        try:
            return _continue(remote, part, storage, report)
        except ObjectChanged as error:
            part.unlink(missing_ok=True)
            changed, last = changed + 1, error
        except _Interrupted as error:
            vain, last = (0 if _size(part) > before else vain + 1), error
        asked += 1
        if ATTEMPTS in (vain, changed) or asked == MOST_REQUESTS:
            raise ConnectionError(
                f"{remote} was given up after {asked:,} requests, with {_size(part):,} bytes of it here (the last one: "
                f"{last}): call again later, it goes on from there."
            ) from last
        time.sleep(PAUSE * 2 ** (vain - 1) if vain else 0)


def note_of(part: Path) -> Path:
    """The file next to ``part`` that records which object it belongs to."""
    return part.with_name(part.name + ".json")


def _continue(remote: RemoteFile, part: Path, storage: Storage, report: Callable[[int, int], None]) -> bool:
    here, size, etag = _what_is_here(remote, part)
    if here and here == size:
        report(here, size)
        return True
    stream = storage.open(remote, start=here, etag=etag)
    with stream.body:
        if not stream.start:
            part.unlink(missing_ok=True)  # before the note, which must never describe another object's bytes
            note = {"object": str(remote), "etag": stream.etag, "size": stream.size}
            write_atomically(note_of(part), json.dumps(note).encode(), sync=False)
        _check_room(part, stream)
        with open(part, "ab", buffering=0) as file:
            here = stream.start
            report(here, stream.size)
            read = paced(stream.body.read)
            while piece := _read(read, CHUNK - here % CHUNK, part):
                _write_all(file.fileno(), piece)
                here += len(piece)
                if here > stream.size:
                    part.unlink()
                    raise _Interrupted(f"more came than the {stream.size:,} bytes that it has")
                if here % CHUNK == 0 or here == stream.size:
                    report(here, stream.size)
            os.fsync(file.fileno())
    if here != stream.size:
        raise _Interrupted(f"it ended at byte {here:,} of {stream.size:,}")
    return stream.start > 0


def _what_is_here(remote: RemoteFile, part: Path) -> tuple[int, int, str]:
    """Bytes that can be kept, size of the whole object, and its ETag; zeros and "" to start from the beginning."""
    here = _size(part)
    try:
        note = json.loads(note_of(part).read_bytes())
        size, etag, source = int(note["size"]), str(note["etag"]), note["object"]
    except (OSError, ValueError, KeyError, TypeError, ArithmeticError, RecursionError):
        return 0, 0, ""
    # Without an ETag, a change of the object cannot be detected.
    return (here, size, etag) if etag and source == str(remote) and here <= size else (0, 0, "")


def _read(read: Callable[[int], bytes], most: int, part: Path) -> bytes:
    from botocore.exceptions import BotoCoreError, FlexibleChecksumError
    from urllib3.exceptions import HTTPError

    try:
        return read(most)
    except (FlexibleChecksumError, ValueError) as error:  # wrong or invalid checksum
        part.unlink(missing_ok=True)
        raise _Interrupted(" ".join(str(error).split())) from error
    except (BotoCoreError, HTTPError, OSError) as error:
        raise _Interrupted(" ".join(str(error).split())) from error


def _write_all(descriptor: int, piece: bytes) -> None:
    """Write all bytes; a nearly full disk may accept only some of them and report the error at the next write."""
    view = memoryview(piece)
    while view:
        view = view[os.write(descriptor, view) :]


def _check_room(part: Path, stream: Stream) -> None:
    """Raise an error before the download if the disk is too small."""
    missing, free = stream.size - stream.start, shutil.disk_usage(part.parent).free
    if missing > free:
        raise OSError(ENOSPC, f"{missing:,} bytes are to come and {free:,} are free")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
