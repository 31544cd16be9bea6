"""Version, parent and publication of a plugin's benchmark, determined before its data are read.

Many benchmarks load their data when built, before they state their version. The code that builds a benchmark is
therefore run until it states these facts or requests data. If it requests data first, the facts are read from the
source of the calls that would follow.
"""

import ast
import inspect
import warnings
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from traceback import walk_tb
from types import FrameType
from typing import Any, NamedTuple

_TOLD = ("version", "parent", "bibtex")
_only_described: ContextVar[bool] = ContextVar("only_described", default=False)


class Said(NamedTuple):
    """The facts as a benchmark states them."""

    version: Any = None
    parent: Any = None
    bibtex: Any = None


class _Enough(BaseException):  # not caught by a plugin's ``except Exception``
    pass


def data_are_read() -> None:
    """Called before data are loaded for a plugin; ends the run of a benchmark that is only described."""
    if _only_described.get():
        raise _Enough


def is_said(version: Any, parent: Any, bibtex: Any) -> None:
    """Called when a benchmark is created; ends the run of a benchmark that is only described."""
    if _only_described.get():
        raise _Enough(Said(version, parent, bibtex))


def described(build: Callable[[], Any]) -> Said | None:
    """The facts stated by the benchmark that a function builds, without its data; None if they cannot be found.

    Example:
        >>> from bsjax.compat.benchmarks.base import BenchmarkBase
        >>> described(lambda: BenchmarkBase("Doe2026-m", ceiling_func=lambda: 1, version=2, parent="IT"))
        Said(version=2, parent='IT', bibtex=None)
    """
    token = _only_described.set(True)
    try:
        built = build()
        return Said(*(getattr(built, name, None) for name in _TOLD))
    except _Enough as enough:
        if enough.args:
            return enough.args[0]
        frames = [frame for frame, _ in walk_tb(enough.__traceback__)]
        return next((said for frame in reversed(frames) for said in _said_in(frame)), None)
    except Exception:  # reported when the benchmark is actually built
        return None
    finally:
        _only_described.reset(token)


def _said_in(frame: FrameType) -> Iterator[Said]:
    """Facts from the calls in a function that have a version, evaluated with the current values of its names."""
    if frame.f_globals.get("__name__", "").startswith("bsjax."):
        return
    try:
        lines, start = inspect.getsourcelines(frame.f_code)
        with warnings.catch_warnings(action="ignore"):  # warnings of the plugin's code
            tree = ast.parse(Path(frame.f_code.co_filename).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and start <= node.lineno < start + len(lines):
            named = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg in _TOLD}
            if "version" in named:
                try:
                    values = {name: _value(expression, frame) for name, expression in named.items()}
                except Exception:  # the value depends on the data
                    continue
                yield Said(**values)


def _value(expression: ast.expr, frame: FrameType) -> Any:
    code = compile(ast.Expression(expression), frame.f_code.co_filename, "eval")
    return eval(code, frame.f_globals, frame.f_locals)  # the plugin's own code, which is running anyway
