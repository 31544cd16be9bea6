"""Words that error messages share."""

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
