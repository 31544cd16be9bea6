"""File names for models and benchmarks, whose identifiers may contain any character."""

from __future__ import annotations

import hashlib
import re
import unicodedata

_MOST_READABLE = 40
_DIGITS = 16


def slug(identifier: str) -> str:
    """Make the file name of a model or a benchmark, without suffix.

    It consists of lower-case letters, digits, and ``-._``, and ends in a digest of the identifier, so that identifiers
    that differ only in case have different files. It is never a path or a reserved name.

    Example:
        >>> slug("MajajHong2015.IT-pls")
        'majajhong2015.it-pls-8f806b96c3474680'
        >>> slug("../../x").rpartition("-")[0], slug("🧠").rpartition("-")[0]
        ('x', 'name')
    """
    # Lone surrogates cannot be encoded in UTF-8.
    digest = hashlib.sha256(identifier.encode("utf-8", "backslashreplace")).hexdigest()[:_DIGITS]
    plain = unicodedata.normalize("NFKD", identifier).encode("ascii", "ignore").decode().lower()
    readable = re.sub("[^a-z0-9._]+", "-", plain)[:_MOST_READABLE].strip("-._")
    return f"{re.sub('[.]{2,}', '.', readable) or 'name'}-{digest}"
