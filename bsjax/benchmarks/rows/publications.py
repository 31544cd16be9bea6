"""Publications that benchmarks cite, by BibTeX key."""

import ast
import re
import warnings
from functools import cache
from pathlib import Path

from bsjax.core.discovery.families import family_files

_ENTRY = re.compile(r"@\w+\s*\{\s*[^\s,{}]+\s*,")


def publication(key: str) -> str:
    """The BibTeX entry of a key, from ``publications.bib`` here or in the folder of a family.

    Raises:
        KeyError: the key is unknown.

    Example:
        >>> publication("hermann2020origins").splitlines()[0]
        '@inproceedings{hermann2020origins,'
    """
    return _publications()[key]


@cache
def publications_in(folder: str) -> str:
    """BibTeX entries found in a plugin's code, which is parsed but not run; "" if there are none.

    Args:
        folder: the plugin's folder. If it has no entries, the plugin's data folder in Brain-Score's layout is searched.
    """
    of_data = Path(folder).parent.with_name("data") / Path(folder).name
    return "\n\n".join(_entries_in(Path(folder)) or _entries_in(of_data))


def _entries_in(folder: Path) -> list[str]:
    found: dict[str, None] = {}
    for path in sorted(path for path in folder.rglob("*.py") if path.is_file() and "test" not in path.stem):
        try:
            with warnings.catch_warnings(action="ignore"):  # warnings of the plugin's code
                nodes = ast.walk(ast.parse(path.read_bytes()))
        except (OSError, SyntaxError, ValueError, RecursionError):
            continue
        texts = [node.value.strip() for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        found |= dict.fromkeys(text for text in texts if _ENTRY.match(text))
    return list(found)


@cache
def _publications() -> dict[str, str]:
    files = [Path(__file__).with_name("publications.bib"), *family_files("publications.bib").values()]
    entries = [entry for file in files for entry in file.read_text(encoding="utf-8").strip().split("\n\n")]
    return {entry.partition("{")[2].partition(",")[0]: entry for entry in entries}
