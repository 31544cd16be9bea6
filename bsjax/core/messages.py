"""Phrases that error messages share."""

from collections.abc import Collection
from typing import Any


def some(values: Collection[Any], n: int = 5) -> str:
    """The first ``n`` values, and how many there are if there are more.

    Example:
        >>> some(["a", "b", "c"], n=2)
        'a, b, ... (3 in all)'
    """
    shown = ", ".join(map(str, list(values)[:n]))
    return shown if len(values) <= n else f"{shown}, ... ({len(values)} in all)"


def in_words(n_bytes: float) -> str:
    """A size with three digits and its unit, in powers of 1000.

    Example:
        >>> in_words(1_027_604_480), in_words(12)
        ('1.03 GB', '12 B')
    """
    size, units = float(n_bytes), iter(("B", "kB", "MB", "GB", "TB"))
    unit = next(units)
    while size >= 999.5 and unit != "TB":
        size, unit = size / 1000, next(units)
    return f"{size:.3g} {unit}"


def printable(text: str) -> str:
    r"""Text in one line, in which nothing moves the cursor, changes colours or turns the direction of writing.

    Example:
        >>> printable("\x1b[31mred\n")
        '\\x1b[31mred\\n'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
