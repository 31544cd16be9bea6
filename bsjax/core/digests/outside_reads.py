"""Environment variables and files that code reads when it runs, found in its bytecode for its digest.

A name or path must be written in the code, or be a global value: one that is made when the code runs is not known
before. What code of installed distributions reads is not looked for.
"""

from __future__ import annotations

import builtins
import dis
import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

from bsjax.core.digests.arrays import Undigestible, file_digest
from bsjax.core.digests.code import cells_of, codes_of
from bsjax.core.digests.reached_code import is_own, reached

_ENVIRONMENT = (os.environ, os.getenv, os.environb, os.getenvb) if os.name == "posix" else (os.environ, os.getenv)
# What opens a file that its first argument names; of those libraries that are loaded.
_OPENERS = (
    "numpy.load numpy.loadtxt numpy.genfromtxt numpy.fromfile numpy.memmap torch.load PIL.Image.open h5py.File "
    "pandas.read_csv pandas.read_json pandas.read_pickle pandas.read_parquet scipy.io.loadmat "
    "safetensors.torch.load_file safetensors.safe_open xarray.open_dataset"
).split()
_OF_PATHS = ("read_text", "read_bytes")
# Instructions between a value and what is done with it.
_EMPTY = ("CACHE", "EXTENDED_ARG", "NOP", "PRECALL", "PUSH_NULL", "RESUME", "KW_NAMES")
_PUSHES = ("LOAD_CONST", "LOAD_SMALL_INT", "LOAD_GLOBAL", "LOAD_NAME", "LOAD_FAST", "LOAD_DEREF", "LOAD_CLOSURE")
_WRITING = re.compile("[wax][bt]?")
_ATTRIBUTE, _STORE = ("LOAD_ATTR", "LOAD_METHOD"), ("STORE_FAST", "STORE_DEREF")
_IN_MEMORY = (io.BytesIO, io.StringIO)
_UNKNOWN, _STREAM = object(), object()


class Read(NamedTuple):
    """What a function reads from outside: an environment variable or a file, and its name."""

    kind: str
    name: str


def outside_values(
    functions: Iterable[FunctionType], classes: Iterable[type], counts: Callable[[Any], bool] = lambda function: True
) -> list[tuple[Read, str | None]]:
    """The values of what own functions read from outside, those that may run when these are called.

    Args:
        functions: that are called.
        classes: of objects that are called, or whose methods are.
        counts: whether what a function reads counts; not of one that stands for itself by its name.

    Returns:
        of environment variables the value, of files the digest; None of what is not there.

    Raises:
        Undigestible: a function reads what its code does not name.

    Example:
        >>> def scaled(images):
        ...     return images * float(os.environ.get("BSJAX_EXAMPLE", 1))
        >>> outside_values([scaled], [])
        [(Read(kind='environment variable', name='BSJAX_EXAMPLE'), None)]
    """
    own = [function for function in reached(functions, classes) if is_own(function) and counts(function)]
    reads = {read for function in own for read in reads_of(function)}
    return [(read, _value(read)) for read in sorted(reads)]


def reads_of(function: FunctionType) -> Iterator[Read]:
    """What a function itself reads from outside.

    Raises:
        Undigestible: by a name that its code does not say.
    """
    codes = [*codes_of(function.__code__)]
    local = {name: value for code in codes for name, value in _imported(code)} | dict(cells_of(function))
    known = _Names({**vars(builtins), **function.__globals__}, local)
    openers = _openers()
    for code in codes:
        steps = [step for step in dis.get_instructions(code) if step.opname not in _EMPTY]
        local.update(dict.fromkeys(_streams(steps, known, openers), _STREAM))
        yield from _reads_of_code(function.__qualname__, steps, known, openers)


class _Names(NamedTuple):
    """What names stand for: outside of a function, and, where that can be told, inside."""

    outer: Mapping[str, Any]
    local: Mapping[str, Any]


class _Use(NamedTuple):
    """What is done with a value: its first argument or what is asked for in brackets, the others, and what follows."""

    first: Any
    others: list[Any]
    following: list[dis.Instruction]


def _reads_of_code(function: str, steps: list[dis.Instruction], known: _Names, openers: list[Any]) -> Iterator[Read]:
    for number, step in enumerate(steps):
        before = _loaded(steps[number - 1], known)
        if step.opname in _ATTRIBUTE and step.argval in _OF_PATHS:
            yield _named(function, "file", before, f"a file by {step.argval}()")
        value, following = _taken_of(steps[number:], known)
        if _is_one_of(value, _ENVIRONMENT):
            name = _use(following, before, known).first
            yield _named(function, "environment variable", name, "an environment variable")
        elif _is_one_of(value, openers):
            use = _use(following, _UNKNOWN, known)
            writes = any(isinstance(other, str) and _WRITING.fullmatch(other) for other in use.others)
            if not writes and use.first is not _STREAM:
                yield _named(function, "file", use.first, f"a file by {value.__name__}()")


def _streams(steps: list[dis.Instruction], known: _Names, openers: list[Any]) -> Iterator[str]:
    """Local names of files that are open, which count where they are opened, and of what lies in memory."""
    for number in range(len(steps)):
        value, following = _taken_of(steps[number:], known)
        if _is_one_of(value, [*openers, *_IN_MEMORY]):
            stored = [step for step in _use(following, _UNKNOWN, known).following[:2] if step.opname != "BEFORE_WITH"]
            if stored and stored[0].opname in _STORE:
                yield stored[0].argval


def _taken_of(steps: list[dis.Instruction], known: _Names) -> tuple[Any, list[dis.Instruction]]:
    """What the first of these steps loads, or what is taken of it if it is a module; and the steps after that."""
    value, end = _loaded(steps[0], known), 1
    while end < len(steps) and steps[end].opname in _ATTRIBUTE:
        if isinstance(value, ModuleType):
            value = vars(value).get(steps[end].argval, _UNKNOWN)
        elif not _is_one_of(value, _ENVIRONMENT):  # else it is a method of os.environ
            break
        end += 1
    return value, steps[end:]


def _use(steps: list[dis.Instruction], before: Any, known: _Names) -> _Use:
    """What is done with the value on top of the stack.

    Args:
        steps: what follows.
        before: what lies below the value, which ``in`` asks for.
        known: what names stand for.
    """
    stack: list[Any] = []  # above the value
    for number, step in enumerate(steps):
        name, following = step.opname, steps[number + 1 :]
        if step.opcode in dis.hasjrel or step.opcode in dis.hasjabs:
            break
        if name.startswith(("LOAD_FAST_LOAD", "LOAD_FAST_BORROW_LOAD")):
            stack += [_UNKNOWN] * 2
            continue
        if name.startswith(_PUSHES):
            stack.append(_loaded(step, known))
            continue
        taken = _taken(step)
        if taken > len(stack):
            if name.startswith("CALL") or "SUBSCR" in name or step.argrepr == "[]":
                return _Use(stack[0] if stack else _UNKNOWN, stack[1:], following)
            return _Use(before if name == "CONTAINS_OP" else _UNKNOWN, [], following)
        lowest = stack[len(stack) - taken] if taken else _UNKNOWN
        made = _UNKNOWN
        if name in _ATTRIBUTE and isinstance(lowest, ModuleType):
            made = vars(lowest).get(step.argval, _UNKNOWN)
        elif name.startswith("CALL") and _is_one_of(lowest, _IN_MEMORY):
            made = _STREAM
        stack[len(stack) - taken :] = [made]
    return _Use(_UNKNOWN, [], [])


def _taken(step: dis.Instruction) -> int:
    """How many values an instruction takes from the stack, of those that give one back; a method is one value."""
    if step.opname in _ATTRIBUTE:
        return 1
    if step.opname == "CALL":
        return int(step.arg or 0) + 1
    if step.opname == "CALL_KW":
        return int(step.arg or 0) + 2
    return 1 - dis.stack_effect(step.opcode, step.arg, jump=False)


def _is_one_of(value: Any, those: Iterable[Any]) -> bool:
    return any(value is each for each in those)


def _loaded(step: dis.Instruction, known: _Names) -> Any:
    """What an instruction puts on the stack, where that can be told."""
    if step.opname == "LOAD_CONST":
        return step.argval
    if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
        return known.outer.get(step.argval, _UNKNOWN)
    is_local = step.opname.startswith(("LOAD_FAST", "LOAD_DEREF")) and isinstance(step.argval, str)
    return known.local.get(step.argval, _UNKNOWN) if is_local else _UNKNOWN


def _imported(code: CodeType) -> Iterator[tuple[str, Any]]:
    """Local names of what is imported inside of a function, of modules that are loaded."""
    module: Any = None
    value: Any = _UNKNOWN
    for step in dis.get_instructions(code):
        if step.opname == "IMPORT_NAME":
            module = sys.modules.get(step.argval)
            value = sys.modules.get(step.argval.partition(".")[0], _UNKNOWN)
        elif step.opname == "IMPORT_FROM" and module is not None:
            is_it = module.__name__.endswith(f".{step.argval}")  # import a.b as c
            value = vars(module).get(step.argval, module if is_it else _UNKNOWN)
        elif step.opname in _STORE and value is not _UNKNOWN:
            yield step.argval, value
            value = _UNKNOWN


def _openers() -> list[Any]:
    found = [builtins.open, io.open, os.open]
    for name in _OPENERS:
        module, _, attribute = name.rpartition(".")
        if module in sys.modules and hasattr(sys.modules[module], attribute):
            found.append(getattr(sys.modules[module], attribute))
    return found


def _named(function: str, kind: str, name: Any, what: str) -> Read:
    if isinstance(name, bytes):
        name = os.fsdecode(name)
    if not isinstance(name, (str, Path)):
        raise Undigestible(
            f"function {function} reads {what}, whose name its code makes when it runs; read it before, and keep the "
            "value as an attribute or a global"
        )
    return Read(kind, str(name))


def _value(read: Read) -> str | None:
    if read.kind == "environment variable":
        return os.environ.get(read.name)
    try:
        return file_digest(read.name)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Undigestible(f"{read.name} is read, and cannot be read now: {error}") from None
