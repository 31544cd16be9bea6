"""Digests of bsjax's own source, which identify the version of the code that produced a result.

The build runs this file alone to write the digests into the wheel, so it imports only the standard library.
"""

import hashlib
import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

WRITTEN = "source.json"
"""File next to this one in an installed bsjax, with the output of :func:`written`."""
OF_ACTIVATIONS = ("activations", "adapters", "compat", "core", "data", "models")
"""Folders whose code determines activations."""
OF_CEILINGS = ("benchmarks", "core", "data", "engine", "labelled", "metrics")
"""Folders whose code determines ceilings."""
OF_SCORES = (*OF_ACTIVATIONS, *OF_CEILINGS, "inference", "scoring")
"""Folders whose code determines scores; the others only display, store or transfer them."""
_PACKAGE = Path(__file__).parents[2]
# Files that are younger than this, in seconds, may change again without another time or size.
_SETTLED = 2.0
_READ = (".py", ".toml", ".json")
_QUOTED = r'"""(?:\\.|[^\\])*?"""|' + r"'''(?:\\.|[^\\])*?'''|" + r'"(?:\\.|[^"\\\n])*"|' + r"'(?:\\.|[^'\\\n])*'"
_TOKEN = re.compile(
    rf"(?P<prefix>\b[rRbBuUfF]{{1,2}})?(?P<string>{_QUOTED})|(?P<remark>#[^\n]*)|" + r"[()\[\]{}]", re.DOTALL
)
_LINE_ENDS = re.compile(r"[ \t]*\n(?:[ \t]*\n)*")
_REST_OF_LINE = re.compile(r"[ \t]*(#[^\n]*)?(\n|$)")


def own_source(*folders: str) -> str:
    """Compute the digest of the source in folders of bsjax, without docstrings, comments and blank lines.

    It is the same for a clone and the wheel built from it, on every Python version.

    Args:
        *folders: folders of the package, such as "metrics".

    Example:
        >>> own_source("metrics") == own_source("metrics") != own_source("metrics", "engine")
        True
    """
    return hashlib.sha256(" ".join(f"{name} {_of_folder(name)}" for name in sorted({*folders})).encode()).hexdigest()[
        :32
    ]


@cache
def _of_folder(name: str) -> str:
    known = Path(__file__).with_name(WRITTEN)
    return json.loads(known.read_bytes())[name] if known.is_file() else _remembered(_PACKAGE / name)


def _remembered(folder: Path) -> str:
    """The digest of a folder, read again only if the path, size or time of one of its files has changed."""
    states = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in _files(folder)]
    state = _digest([str(folder), *states])
    # bsjax.core.files.cache_dir, which cannot be imported where this file runs alone.
    home = Path(os.environ.get("BSJAX_HOME") or "~/.bsjax").expanduser()
    place = home / "source" / f"{folder.name}-{_digest(str(folder))[:8]}.json"
    with suppress(OSError, ValueError, KeyError, TypeError):  # none, or a damaged one
        return {str(key): str(value) for key, value in json.loads(place.read_bytes()).items()}[state]
    digest = digest_of_folder(folder)
    if time.time() - max((time_ns for *_, time_ns in states), default=0) / 1e9 > _SETTLED:
        with suppress(OSError):  # it is read again next time
            place.parent.mkdir(parents=True, exist_ok=True)
            unfinished = place.with_suffix(f".{os.getpid()}")
            unfinished.write_text(json.dumps({state: digest}))
            unfinished.replace(place)
    return digest


def written(package: Path) -> str:
    """Make the content of the file in an installed package: the digest of each folder, as JSON."""
    folders = sorted(path for path in package.iterdir() if path.is_dir() and path.name != "__pycache__")
    return json.dumps({folder.name: digest_of_folder(folder) for folder in folders}, indent=1)


def digest_of_folder(folder: Path) -> str:
    """Compute the digest of the source in a folder."""
    return _digest([*_contents(folder)])


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]


def _files(folder: Path) -> list[Path]:
    return [
        path for path in sorted(folder.rglob("*")) if path.suffix in _READ and path.name != WRITTEN and path.is_file()
    ]


def _contents(folder: Path) -> Iterator[tuple[str, str]]:
    for path in _files(folder):
        text = path.read_text(encoding="utf-8")
        yield path.relative_to(folder).as_posix(), without_remarks(text) if path.suffix == ".py" else text


def without_remarks(text: str) -> str:
    """Remove comments, docstrings, blank lines and trailing spaces from Python source.

    Example:
        >>> without_remarks("def f(x):\\n    '''Doubled.'''\\n    return 2 * x  # twice\\n")
        'def f(x):\\n    return 2 * x'
    """
    kept, code, end, depth = [], "", 0, 0
    for token in _TOKEN.finditer(text):
        code += text[end : token.start()]
        end = token.end()
        if token["string"] and (depth > 0 or token["prefix"] or not _stands_alone(text, token)):
            kept += [_LINE_ENDS.sub("\n", code), token[0]]
            code = ""
        elif not token["string"] and not token["remark"]:
            depth += 1 if token[0] in "([{" else -1
            code += token[0]
    return "".join([*kept, _LINE_ENDS.sub("\n", code + text[end:])]).strip()


def _stands_alone(text: str, token: re.Match[str]) -> bool:
    """Whether a string is a statement, like a docstring."""
    before = text[text.rfind("\n", 0, token.start()) + 1 : token.start()]
    continued = text[: token.start() - len(before)].endswith("\\\n")
    return not before.strip() and not continued and _REST_OF_LINE.match(text, token.end()) is not None
