"""The page ``docs/brainscore-names.md``, written from the table of names.

``python -m tests.support.names_page`` writes it anew; how many published plugins use a name is kept from the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from bsjax.compat.names import MODULES, PACKAGES, Refused, Target
from tests.support.paths import REPOSITORY

PAGE = REPOSITORY / "docs" / "brainscore-names.md"
_HEADING = "## "
_IMPORTED = "Imported by "
_ROW = re.compile(r"\| `(?P<name>[^`]+)` \|.*\| (?P<count>[^|]*) \|")
_ALL = "all names"
_ITSELF = ""

Counts = dict[tuple[str, str], str]
"""Module and name (none: the module itself) -> how many plugins use it."""


def page(counts: Counts) -> str:
    """The whole page: what stands above the first heading as it is, and a table for each module."""
    introduction = PAGE.read_text(encoding="utf-8").partition(f"\n{_HEADING}")[0].rstrip("\n")
    return "\n".join([introduction, *_sections(counts), ""])


def counts_on(text: str) -> Counts:
    """The counts that stand on a page."""
    found: Counts = {}
    module = ""
    for line in text.splitlines():
        if line.startswith(_HEADING):
            module = line.removeprefix(_HEADING).strip("`")
        elif line.startswith(_IMPORTED):
            found[module, _ITSELF] = line.removeprefix(_IMPORTED).rstrip(".")
        elif row := _ROW.match(line):
            found[module, row["name"]] = row["count"].strip()
    return found


def _sections(counts: Counts) -> Iterator[str]:
    for module, names in sorted(MODULES.items(), key=lambda item: (PACKAGES.index(item[0].partition(".")[0]), item[0])):
        if names:
            yield f"\n{_HEADING}`{module}`\n"
            if (module, _ITSELF) in counts:
                yield f"{_IMPORTED}{counts[module, _ITSELF]}.\n"
            yield "| name | here | used by |"
            yield "|---|---|---|"
            for name in sorted(names, key=str.lower):
                shown = _ALL if name == "*" else name
                yield f"| `{shown}` | {_said(names[name])} | {counts.get((module, shown), '')} |"


def _said(target: Target) -> str:
    if isinstance(target, Refused):
        return f"refused: {target.instead}"
    if target.startswith("="):
        return f"as in `{target[1:].strip()}`"
    place = target.replace(":", ".")
    return f"{'adapted' if place.startswith('bsjax.compat.') else 'forwarded'}: `{place}`"


if __name__ == "__main__":
    PAGE.write_text(page(counts_on(PAGE.read_text(encoding="utf-8"))), encoding="utf-8")
