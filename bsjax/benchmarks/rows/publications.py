"""The publications that benchmarks cite, by the keys of their BibTeX entries."""

from __future__ import annotations

from functools import cache
from pathlib import Path


def publication(key: str) -> str:
    """The BibTeX entry of a key, from ``publications.bib``.

    Raises:
        KeyError: there is none.

    Example:
        >>> publication("hermann2020origins").splitlines()[0]
        '@inproceedings{hermann2020origins,'
    """
    return _publications()[key]


@cache
def _publications() -> dict[str, str]:
    entries = Path(__file__).with_name("publications.bib").read_text(encoding="utf-8").strip().split("\n\n")
    return {entry.partition("{")[2].partition(",")[0]: entry for entry in entries}
