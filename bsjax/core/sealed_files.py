"""Files with a digest of their content at the end, for formats whose readers ignore trailing bytes."""

import hashlib
import re
from pathlib import Path

_SEAL = "\nbsjax sha256 {}\n"
_LENGTH = len(_SEAL.format("0" * 64))
_PATTERN = re.compile(_SEAL.format("([0-9a-f]{64})").encode())
_AT_ONCE = 1 << 20


def seal(path: Path) -> None:
    """Append the digest of a file's content to the file.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "a")
        ...     _ = path.write_bytes(b"content")
        ...     seal(path)
        ...     whole = path.read_bytes(), is_as_sealed(path)
        ...     _ = path.write_bytes(whole[0].replace(b"content", b"consent"))
        ...     is_as_sealed(path)
        False
    """
    digest = _digest(path, path.stat().st_size)
    with open(path, "ab") as file:
        file.write(_SEAL.format(digest).encode())


def sealed(content: bytes) -> bytes:
    """Append the digest to content in memory."""
    return content + _SEAL.format(hashlib.sha256(content).hexdigest()).encode()


def unseal(path: Path) -> None:
    """Remove the digest from the end of a file, if there is one, so that the file can be extended."""
    if _stated(path) is not None:
        with open(path, "rb+") as file:
            file.truncate(path.stat().st_size - _LENGTH)


def is_as_sealed(path: Path) -> bool | None:
    """Check whether the content of a file matches the digest at its end; None if there is no digest."""
    stated = _stated(path)
    return None if stated is None else _digest(path, path.stat().st_size - _LENGTH) == stated


def _stated(path: Path) -> str | None:
    with open(path, "rb") as file:
        file.seek(max(0, path.stat().st_size - _LENGTH))
        found = _PATTERN.fullmatch(file.read())
    return None if found is None else found[1].decode()


def _digest(path: Path, size: int) -> str:
    """The digest of the first ``size`` bytes of a file."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while size > 0 and (block := file.read(min(size, _AT_ONCE))):
            digest.update(block)
            size -= len(block)
    return digest.hexdigest()
