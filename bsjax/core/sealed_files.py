"""Files with a digest of their content at the end, for formats whose readers ignore trailing bytes."""

import hashlib
import re
from pathlib import Path

_SEAL = "\nbsjax sha256 {}\n"
_LENGTH = len(_SEAL.format("0" * 64))
_PATTERN = re.compile(_SEAL.format("([0-9a-f]{64})").encode())


def sealed(content: bytes) -> bytes:
    """Append the digest to content.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "a")
        ...     _ = path.write_bytes(sealed(b"content"))
        ...     whole = path.read_bytes(), is_as_sealed(path)
        ...     _ = path.write_bytes(whole[0].replace(b"content", b"consent"))
        ...     is_as_sealed(path)
        False
    """
    return content + _SEAL.format(hashlib.sha256(content).hexdigest()).encode()


def is_as_sealed(path: Path) -> bool | None:
    """Check whether the content of a file matches the digest at its end; None if there is no digest."""
    content = path.read_bytes()
    stated = _PATTERN.fullmatch(content[-_LENGTH:])
    return None if stated is None else sealed(content[:-_LENGTH]) == content
