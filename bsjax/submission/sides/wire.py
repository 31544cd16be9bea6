"""Messages between the trusted side and the model's side: names, plain values and arrays, which cannot contain code.

A message consists of the length of its header, the header as JSON, and the bytes of its arrays. Sizes are checked
before anything is read: that of the header by its length, those of the arrays by their shapes and dtypes.
"""

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import IO, Any

import msgspec
import numpy as np

# Only numbers: no objects, no times, and no text, which is sent as lists in the header.
_TYPES = frozenset(np.dtype(name).str for name in "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8".split())
_MOST_HEADER = 64 << 20
_MOST_ARRAYS, _MOST_AXES = 64, 8
_LENGTH = struct.Struct("<Q")


class Refused(ValueError):
    """A message from the other side is invalid."""


@dataclass(frozen=True)
class Message:
    """A message.

    Attributes:
        what: kind of message.
        values: name -> plain value.
        arrays: name -> array of numbers.
    """

    what: str
    values: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)


class _Array(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    dtype: str
    shape: list[int]


class _Header(msgspec.Struct, forbid_unknown_fields=True):
    what: str
    values: dict[str, Any]
    arrays: list[_Array]


def send(stream: IO[bytes], message: Message) -> None:
    """Write a message.

    Raises:
        TypeError: an array does not contain numbers, or a value is not plain.
        OSError: the reader has closed the stream.
    """
    arrays = {name: np.ascontiguousarray(array) for name, array in message.arrays.items()}
    for name, array in arrays.items():
        if array.dtype.str not in _TYPES:
            raise TypeError(f"array {name!r} is of {array.dtype}, where numbers were expected")
    described = [_Array(name, array.dtype.str, list(array.shape)) for name, array in arrays.items()]
    header = msgspec.json.encode(_Header(message.what, dict(message.values), described))
    stream.write(_LENGTH.pack(len(header)))
    stream.write(header)
    for array in arrays.values():
        stream.write(array.reshape(-1).view(np.uint8).data)
    stream.flush()


def receive(stream: IO[bytes], most: int) -> Message:
    """Read a message.

    Args:
        stream: the stream to read from.
        most: largest total size of its arrays, in bytes.

    Raises:
        EOFError: the stream ends within the message.
        Refused: the message is invalid or too large.

    Example:
        >>> import io
        >>> stream = io.BytesIO()
        >>> send(stream, Message("activations", {"layers": ["conv"]}, {"values": np.ones((2, 3), np.float32)}))
        >>> _ = stream.seek(0)
        >>> receive(stream, 1000).arrays["values"].sum()
        np.float32(6.0)
    """
    (length,) = _LENGTH.unpack(_exactly(stream, _LENGTH.size))
    if length > _MOST_HEADER:
        raise Refused(f"a header of {length:,} bytes, where {_MOST_HEADER:,} are the most")
    try:
        header = msgspec.json.decode(_exactly(stream, length), type=_Header)
    except (msgspec.DecodeError, RecursionError) as error:
        raise Refused(f"no message: {error}") from None
    sizes = [_size(array) for array in header.arrays]
    if len(sizes) > _MOST_ARRAYS or sum(sizes) > most:
        raise Refused(f"{len(sizes)} arrays of {sum(sizes):,} bytes, where {_MOST_ARRAYS} of {most:,} are the most")
    arrays: dict[str, np.ndarray] = {}
    for array, size in zip(header.arrays, sizes, strict=True):
        arrays[array.name] = np.frombuffer(_exactly(stream, size), array.dtype).reshape(array.shape)
    return Message(header.what, header.values, arrays)


def _size(array: _Array) -> int:
    if array.dtype not in _TYPES:
        raise Refused(f"array {array.name!r} is of {array.dtype!r}, where numbers were expected")
    if len(array.shape) > _MOST_AXES or any(length < 0 for length in array.shape):
        raise Refused(f"array {array.name!r} has the shape {array.shape}")
    return math.prod(array.shape) * np.dtype(array.dtype).itemsize


def _exactly(stream: IO[bytes], size: int) -> bytearray:
    content = bytearray(size)
    place = memoryview(content)
    while len(place):
        count = stream.readinto(place)  # type: ignore[attr-defined]
        if not count:
            raise EOFError("the other side has ended before its message was whole")
        place = place[count:]
    return content
