"""Digests of values that have no parts, and of the digests of several parts."""

import hashlib
import logging
import struct
import threading
from collections.abc import Iterable
from pathlib import PurePath
from typing import Any, TypeVar

from bsjax.core.digests.code import Named

_FORMAT = b"bsjax 1"
# What has no bearing on any number.
_IDLE = (logging.Logger, type(threading.Lock()), type(threading.RLock()), TypeVar)


def joined(kind: str, parts: Iterable[bytes] = ()) -> bytes:
    """The digest of something of this kind, made of these parts."""
    running = hashlib.sha256(_FORMAT)
    for part in (kind.encode(), *parts):
        running.update(len(part).to_bytes(8, "little"))
        running.update(part)
    return running.digest()[:16]


def leaf_digest(value: Any) -> bytes | None:
    """The digest of a value without parts; None of others."""
    kind = type(value)
    if value is None or value is Ellipsis or value is NotImplemented or kind in (bool, int):
        return joined(kind.__name__, [str(value).encode()])
    if kind is str:
        return joined("str", [value.encode("utf-8", "surrogatepass")])
    if kind in (bytes, bytearray, memoryview):
        return joined("bytes", [bytes(value)])
    if kind in (float, complex):
        return joined(kind.__name__, [struct.pack("<dd", value.real, value.imag)])
    if isinstance(value, PurePath):
        return joined("path", [value.name.encode("utf-8", "surrogateescape")])
    if isinstance(value, _IDLE):
        return joined("idle", [kind.__name__.encode()])
    if isinstance(value, Named):
        return joined("named", [part.encode() for part in value])
    return None
