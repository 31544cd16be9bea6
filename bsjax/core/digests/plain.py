"""Digests of bytes, and of values that JSON can hold."""

import hashlib
import json
from typing import Any

DIGITS = 32
"""Characters of a digest."""


def digest_of_json(content: Any) -> str:
    """The digest of a value that strict JSON can hold, independent of the order of keys.

    Example:
        >>> digest_of_json({"a": 1, "b": [2]}) == digest_of_json({"b": [2], "a": 1}) != digest_of_json({"a": 1})
        True
    """
    return digest_of_bytes(json.dumps(content, sort_keys=True, allow_nan=False).encode())


def digest_of_bytes(content: bytes) -> str:
    """The first half of the SHA-256 digest, as text.

    Example:
        >>> len(digest_of_bytes(b"pixels"))
        32
    """
    return hashlib.sha256(content).hexdigest()[:DIGITS]
