"""Digests of NumPy, JAX and torch arrays, and of files, by content."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

_BLOCK = 1 << 24
# Files read by this process: path -> (state, digest).
_read: dict[str, tuple[tuple[int, ...], str]] = {}


class Undigestible(ValueError):
    """The content of a value cannot be determined, so results computed with it cannot be recognised again."""


def array_digest(value: Any) -> bytes | None:
    """Compute the digest of a NumPy, JAX or torch array: dtype, shape and elements in C order.

    The library, the device, the byte order and the memory layout do not matter. None for arrays of Python objects and
    for other values.

    Raises:
        Undigestible: the array is being traced, or has no plain elements (sparse, quantised, without storage).

    Example:
        >>> import numpy as np
        >>> import jax.numpy as jnp
        >>> array_digest(np.arange(3, dtype=np.int32)) == array_digest(jnp.arange(3, dtype=jnp.int32))
        True
    """
    jax, np, torch = map(sys.modules.get, ("jax", "numpy", "torch"))
    if np is not None and isinstance(value, (np.ndarray, np.generic)):
        return None if value.dtype.hasobject else _digest(_label(value.dtype), value.shape, _blocks(np.asarray(value)))
    if jax is not None and isinstance(value, jax.Array):
        return _of_jax(jax, value)
    if torch is not None and isinstance(value, torch.Tensor):
        return _of_torch(torch, value)
    return None


def file_digest(path: str | Path) -> str:
    """Compute the digest of a file's content, 32 hexadecimal digits.

    It is cached in the process, and the file is read again if its size, times or inode have changed.

    Raises:
        OSError: the file cannot be read.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "a").write_bytes(b"abc")
        ...     file_digest(f"{folder}/a")
        'ba7816bf8f01cfea414140de5dae2223'
    """
    name = os.path.abspath(path)
    sys.audit("bsjax.read", name)  # for bsjax.core.identity.opened
    known = _read.get(name)
    if known is not None and known[0] == file_state(os.stat(name)):
        return known[1]
    with open(name, "rb", buffering=0) as file:
        before = file_state(os.fstat(file.fileno()))
        digest = hashlib.file_digest(file, "sha256").hexdigest()[:32]
        if file_state(os.fstat(file.fileno())) == before:  # not if it changed while it was read
            _read[name] = before, digest
    return digest


def file_state(status: os.stat_result) -> tuple[int, ...]:
    """Get the values that change when a file is modified: size, times, inode and device."""
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev


def _digest(dtype: str, shape: tuple[int, ...], blocks: Iterator[np.ndarray]) -> bytes:
    running = hashlib.sha256(f"array {dtype} {tuple(map(int, shape))} ".encode())
    for block in blocks:
        running.update(block.data)
    return running.digest()[:16]


def _label(dtype: np.dtype) -> str:
    return dtype.name if dtype.names is None else str(dtype.newbyteorder("<").descr)


def _blocks(array: np.ndarray) -> Iterator[np.ndarray]:
    """The bytes of the elements in C order, little-endian; non-contiguous arrays are copied block by block."""
    swapped = array.dtype.newbyteorder("<")
    whole = array.flags.c_contiguous and array.dtype == swapped
    if whole or array.ndim == 0 or array.nbytes <= _BLOCK:
        pieces = [array]
    elif array.shape[0] == 1:
        yield from _blocks(array[0])
        return
    else:
        rows = max(1, _BLOCK // max(1, array[0].nbytes))
        pieces = (array[start : start + rows] for start in range(0, len(array), rows))
    for piece in pieces:
        plain = piece.astype(swapped, order="C", copy=False).reshape(-1)
        if plain.size:
            yield plain.view("u1")


def _of_jax(jax: Any, value: Any) -> bytes:
    import numpy as np

    if jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
        data = np.asarray(jax.random.key_data(value))
        return _digest(str(value.dtype), value.shape, _blocks(data))
    if isinstance(value, jax.core.Tracer):
        raise Undigestible("an array that JAX is tracing has no content yet")
    host = np.asarray(value)
    return _digest(_label(host.dtype), host.shape, _blocks(host))


def _of_torch(torch: Any, value: Any) -> bytes:
    if value.is_meta or value.layout is not torch.strided or value.is_quantized:
        raise Undigestible(f"a torch tensor of {value.dtype}, {value.layout}, on {value.device} has no plain elements")
    host = value.detach().resolve_conj().resolve_neg().cpu().contiguous().reshape(-1)
    # numpy has no bfloat16 and no 8-bit floats, but it has bytes
    elements = iter([host.view(torch.uint8).numpy()] if host.numel() else [])
    return _digest(str(value.dtype).removeprefix("torch."), tuple(value.shape), elements)
