"""Names of files for models and benchmarks, whose own names may hold anything."""

from __future__ import annotations

import hashlib
import re
import unicodedata

_MOST_READABLE = 40
_DIGITS = 16


def slug(identifier: str) -> str:
    """The name of the file of a model or a benchmark, without its ending.

    It has small letters, digits, and ``-._`` alone, and ends in a digest of the identifier, so that two names are two
    files also where upper and lower case are the same; it is no path, and no name that a system keeps for itself.

    Example:
        >>> slug("MajajHong2015.IT-pls")
        'majajhong2015.it-pls-8f806b96c3474680'
        >>> slug("../../x").rpartition("-")[0], slug("🧠").rpartition("-")[0]
        ('x', 'name')
    """
    # Half a pair of surrogates has no bytes in UTF-8.
    digest = hashlib.sha256(identifier.encode("utf-8", "backslashreplace")).hexdigest()[:_DIGITS]
    plain = unicodedata.normalize("NFKD", identifier).encode("ascii", "ignore").decode().lower()
    readable = re.sub("[^a-z0-9._]+", "-", plain)[:_MOST_READABLE].strip("-._")
    return f"{re.sub('[.]{2,}', '.', readable) or 'name'}-{digest}"
