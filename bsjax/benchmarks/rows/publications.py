"""The publications that benchmarks cite, by the keys of their BibTeX entries."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from bsjax.core.discovery.families import family_files


def publication(key: str) -> str:
    """The BibTeX entry of a key, from ``publications.bib`` here or in the folder of a family.

    Raises:
        KeyError: there is none.

    Example:
        >>> publication("hermann2020origins").splitlines()[0]
        '@inproceedings{hermann2020origins,'
    """
    return _publications()[key]


@cache
def _publications() -> dict[str, str]:
    files = [Path(__file__).with_name("publications.bib"), *family_files("publications.bib").values()]
    entries = [entry for file in files for entry in file.read_text(encoding="utf-8").strip().split("\n\n")]
    return {entry.partition("{")[2].partition(",")[0]: entry for entry in entries}
