"""Verification of files by digests, with notes that avoid repeated verification."""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from time import sleep, time_ns

from bsjax.core.files import write_atomically

_TICK = 20_000_000  # nanoseconds; longer than the time resolution of any file system

# Files verified by this process for which no note could be written: (path, size, time) -> digests.
_checked_here: dict[tuple[str, int, int], dict[str, str]] = {}


def digests_of(path: str | Path, algorithms: Iterable[str]) -> dict[str, str]:
    """Compute several hexadecimal digests of a file's content in one pass.

    Args:
        path: the file.
        algorithms: names that ``hashlib`` knows, e.g. "sha1" and "sha256".

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     digests_of(write_atomically(Path(folder) / "a", b"abc"), ["sha1"])
        {'sha1': 'a9993e364706816aba3e25717850c26c9cd0d89d'}
    """
    hashes = {name: hashlib.new(name, usedforsecurity=False) for name in algorithms}
    buffer = bytearray(1 << 20)
    view = memoryview(buffer)
    with open(path, "rb", buffering=0) as file:
        while read := file.readinto(buffer):
            for each in hashes.values():
                each.update(view[:read])
    return {name: each.hexdigest() for name, each in hashes.items()}


def sha1_hash(path: str | Path) -> str:
    """Compute the SHA-1 of a file's content, as used in registrations of Brain-Score.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     sha1_hash(write_atomically(Path(folder) / "a", b"abc"))
        'a9993e364706816aba3e25717850c26c9cd0d89d'
    """
    return digests_of(path, ["sha1"])["sha1"]


def mismatch(path: Path, expected: Mapping[str, str]) -> str:
    """Describe the digests of a file that differ from those expected; "" if none does."""
    got = digests_of(path, expected) if expected else {}
    wrong = [f"expected {name} {expected[name]}, got {got[name]}" for name in expected if got[name] != expected[name]]
    return "; ".join(wrong)


def is_verified(path: Path, expected: Mapping[str, str]) -> bool:
    """Check whether a file exists, was verified to have these digests, and has kept its size and time since.

    Its content is not read. Without expected digests, any existing file passes.
    """
    return path.exists() and expected.items() <= _verified(path).items()


def has_verified_digest(path: Path) -> bool:
    """Check whether a file was verified by any digest, and has kept its size and time since."""
    return bool(_verified(path))


def _verified(path: Path) -> dict[str, str]:
    """Digests verified in this or another process; empty if the file has not kept its size and time since."""
    try:
        size, time = _size_and_time(path)
    except OSError:
        return {}
    noted_for, digests = _noted(path)
    here = _checked_here.get((os.fspath(path), size, time), {})
    return here | (digests if noted_for == (size, time) else {})


def _noted(path: Path) -> tuple[tuple[int, int], dict[str, str]]:
    """Size and time of a file when it was verified, and its digests; empty without a note, or with a damaged one."""
    try:
        note = json.loads(note_of(path).read_bytes())
        return (note["size"], note["mtime_ns"]), dict(note["digests"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return (0, 0), {}


def remember(path: Path, digests: Mapping[str, str]) -> None:
    """Note the verified digests of a file, next to it or, if its folder is not writable, in this process."""
    if not digests:
        return
    size, time = _size_and_time(path)
    # A second change within the time resolution of the file system would not change the file's time.
    sleep(min(max(time + _TICK - time_ns(), 0), _TICK) / 1e9)
    note = {"size": size, "mtime_ns": time, "digests": dict(digests)}
    try:
        write_atomically(note_of(path), json.dumps(note).encode(), sync=False)
    except OSError:
        _checked_here[os.fspath(path), size, time] = dict(digests)


def check_unchanged(path: Path) -> None:
    """Compare a file with the digests that were noted when it was written or fetched, if there are any.

    Raises:
        ValueError: the file has changed since.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = write_atomically(Path(folder) / "a.csv", b"abc")
        ...     remember(path, digests_of(path, ["sha1"]))
        ...     check_unchanged(path)
    """
    if has_verified_digest(path):
        return
    try:
        wrong = mismatch(path, _noted(path)[1])
    except (OSError, ValueError):  # no such file, or an algorithm that hashlib does not know
        return
    if wrong:
        raise ValueError(
            f"{path} was changed after it was written or fetched: {wrong}. Write or fetch it again. (If it was changed "
            f"on purpose, remove {note_of(path)}.)"
        )


def note_of(path: Path) -> Path:
    """Get the path of the note on the verification of a file."""
    return path.with_name(f".{path.name}.verified")


def _size_and_time(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns
