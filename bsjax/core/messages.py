"""Formatting of values in messages."""

from collections.abc import Collection, Sequence
from typing import Any


def some(values: Collection[Any], n: int = 5) -> str:
    """Format the first ``n`` values, and the total number if there are more.

    Example:
        >>> some(["a", "b", "c"], n=2)
        'a, b, ... (3 in all)'
    """
    shown = ", ".join(map(str, list(values)[:n]))
    return shown if len(values) <= n else f"{shown}, ... ({len(values)} in all)"


def counted(n: int, noun: str, plural: str | None = None) -> str:
    """Format a number of things.

    Example:
        >>> counted(1, "model"), counted(1200, "model"), counted(2, "entry", "entries")
        ('1 model', '1,200 models', '2 entries')
    """
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def in_columns(rows: Sequence[Sequence[str]], left: Collection[int] | None = None) -> list[str]:
    """Format rows as lines with columns two spaces apart. All columns are left-aligned, or only those in ``left``.

    Example:
        >>> in_columns([["layer", "V1"], ["conv", "0.3"]], left={0})
        ['layer   V1', 'conv   0.3']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if left is None or number in left else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def in_words(n_bytes: float) -> str:
    """Format a size in bytes with three digits and a unit, in powers of 1000.

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
    r"""Escape characters that break lines, move the cursor, change colours or change the text direction.

    Example:
        >>> printable("\x1b[31mred\n")
        '\\x1b[31mred\\n'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
