"""The page ``docs/brainscore-names.md``, written from the table of names.

``python -m tests.support.names_page [DIR]`` writes it anew; with a folder of Brain-Score's plugins it also counts again
how many of them use each name.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from bsjax.compat.names import MODULES, PACKAGES, Refused, Target
from bsjax.core.discovery import KINDS
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


def counted(folder: Path) -> Counts:
    """How many plugins below a folder use each name, by kind."""
    users: dict[tuple[str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for kind in KINDS:
        for file in sorted((folder / "brainscore_vision" / kind).glob("*/**/*.py")):
            plugin = file.relative_to(folder / "brainscore_vision" / kind).parts[0]
            for module, name in _names_in(ast.parse(file.read_bytes())):
                inner = f"{module}.{name}"
                used = inner if inner in MODULES else module
                listed = MODULES.get(module, {})
                users[used, _ITSELF][kind].add(plugin)
                if name in listed or "*" in listed:
                    users[module, name if name in listed else _ALL][kind].add(plugin)
    return {name: ", ".join(_number(len(of), kind) for kind, of in kinds.items()) for name, kinds in users.items()}


def _number(n: int, kind: str) -> str:
    return f"{n} {kind.removesuffix('s') if n == 1 else kind}"


def _names_in(tree: ast.Module) -> Iterator[tuple[str, str]]:
    modules: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            modules |= {alias.asname or alias.name: alias.name for alias in node.names}
            yield from ((alias.name, _ITSELF) for alias in node.names)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in modules:
            yield modules[ast.unparse(node.value)], node.attr


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
    PAGE.write_text(
        page(counted(Path(sys.argv[1])) if sys.argv[1:] else counts_on(PAGE.read_text(encoding="utf-8"))),
        encoding="utf-8",
    )
