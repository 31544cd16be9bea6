"""Digestible content of functions, classes and modules: plain values that their behaviour depends on.

Of what was installed as a distribution, its name and version vouch for the code. The user's own code is taken as the
bytecode that runs, rather than as a source file, which may have been edited since it was imported.
"""

from __future__ import annotations

import builtins
import dis
import importlib.metadata
import importlib.util
import os
import sys
import sysconfig
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

PYTHON = f"python {sys.version_info.major}.{sys.version_info.minor}"
"""What vouches for the standard library."""
_SITE = ("site-packages", "dist-packages")
_STDLIB = tuple(os.path.realpath(sysconfig.get_paths()[kind]) + os.sep for kind in ("stdlib", "platstdlib"))
_IMPORT = "import "
# Where a module lies, which differs between machines, and between a script and a module.
_OWN_PLACE = ("__name__", "__file__", "__spec__", "__package__", "__path__")
# Attributes of a class that say nothing of what it does.
_SILENT = frozenset(
    "__dict__ __weakref__ __doc__ __module__ __qualname__ __annotations__ __annotate__ __annotate_func__ "
    "__annotations_cache__ __conditional_annotations__ __firstlineno__ __static_attributes__ __abstractmethods__ "
    "__parameters__ __orig_bases__ __dataclass_fields__ __dataclass_params__ _abc_impl".split()
)


class Named(NamedTuple):
    """Code that a distribution vouches for."""

    distribution: str
    module: str
    name: str


def distribution_of(module: str) -> str | None:
    """Name and version of the distribution that a module was installed by; None for the user's own code.

    A package that is installed as a link to its sources is own code, since it changes and its version does not.

    Example:
        >>> distribution_of("__main__"), distribution_of("numpy").split()[0]
        (None, 'numpy')
    """
    if module == "__main__":
        return None
    return _distribution(module, getattr(sys.modules.get(module), "__file__", None))


@cache
def _distribution(module: str, file: str | None) -> str | None:
    top = module.partition(".")[0]
    if file is None:  # built in, or made while the program runs
        return PYTHON if top in sys.stdlib_module_names else None
    path = os.path.realpath(file)
    if not _is_in_site(path):
        return PYTHON if path.startswith(_STDLIB) else None
    return _installed(top)


@cache
def _installed(package: str) -> str | None:
    for name in (package, *_distributions().get(package, ())):
        try:
            # The part after "+" names a build for a device, of the same code.
            return f"{name} {importlib.metadata.version(name).partition('+')[0]}"
        except importlib.metadata.PackageNotFoundError:
            continue
    return None


def is_own_module(name: object) -> bool:
    """Whether a loaded module is the user's own; not one without a file, which a library makes while it runs."""
    file = getattr(sys.modules.get(str(name)), "__file__", None)
    return name == "__main__" or (file is not None and _is_own_file(file))


def is_own_code(function: FunctionType) -> bool:
    """Whether the code that a function runs is the user's own, whatever the function says of itself."""
    file = function.__code__.co_filename
    if file.startswith("<"):  # made while the program runs
        return is_own_module(function.__globals__.get("__name__"))
    return _is_own_file(file)


@cache
def _is_own_file(file: str) -> bool:
    path = os.path.realpath(file)
    return not _is_in_site(path) and not path.startswith(_STDLIB)


def _is_in_site(path: str) -> bool:
    return any(part in _SITE for part in Path(path).parts)


_distributions = cache(importlib.metadata.packages_distributions)


def named(value: Any, name: str | None = None) -> Named | None:
    """Where an installed distribution keeps this very value, if it does; by ``name``, if it does not tell its own.

    Example:
        >>> named(dis.dis)
        Named(distribution='python 3...', module='dis', name='dis')
    """
    module = getattr(value, "__module__", None) or type(value).__module__
    name = name or getattr(value, "__qualname__", getattr(value, "__name__", None))
    if not isinstance(module, str) or not isinstance(name, str):
        return None
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is not value or (isinstance(value, FunctionType) and is_own_code(value)):
        return None
    distribution = distribution_of(module)
    return None if distribution is None else Named(distribution, module, name)


def bytecode(code: CodeType) -> tuple[Any, ...]:
    """All that runs of a code object, without names of files and numbers of lines."""
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    return PYTHON, code.co_code, code.co_exceptiontable, counts, names, code.co_consts


def function_content(function: FunctionType) -> dict[str, Any]:
    """What a Python function's answers depend on, beside its arguments."""
    code = function.__code__
    content: dict[str, Any] = {
        "code": code,
        "defaults": function.__defaults__,
        "keyword defaults": sorted((function.__kwdefaults__ or {}).items()),
        "closure": dict(cells_of(function)),
        "attributes": sorted((name, value) for name, value in vars(function).items() if not name.startswith("_")),
    }
    module = str(function.__globals__.get("__name__", ""))
    distribution = distribution_of(module)
    if distribution is None:
        content["globals"] = {".".join(chain): value for chain, value in global_values(function)}
    else:
        content["globals"] = distribution, module
    return content


def codes_of(code: CodeType) -> Iterator[CodeType]:
    """A code object and those of the functions and classes inside of it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_of(constant)


def cells_of(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """The variables of enclosing functions that a function uses."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # nothing is assigned to it yet
            yield name, "unassigned"


def global_values(function: FunctionType) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Names outside of a function that it reads, and their values: ``helpers.scale`` is two names, one value."""
    package = function.__globals__.get("__package__") or function.__globals__.get("__name__")
    known = {**vars(builtins), **function.__globals__}
    for chain in sorted({*_chains(function.__code__)}):
        first, *rest = chain
        if first.startswith(_IMPORT):
            yield chain, _imported(first.removeprefix(_IMPORT), package)
        elif known.get(first) is os.environ:  # what is read of it is found apart
            yield chain[:1], Named(PYTHON, "os", "environ")
        elif first in known and first not in _OWN_PLACE:
            yield _followed(chain[:1], known[first], rest)


def _followed(chain: tuple[str, ...], value: Any, rest: list[str]) -> tuple[tuple[str, ...], Any]:
    """Goes from a module to what is taken of it."""
    while rest and isinstance(value, ModuleType) and hasattr(value, rest[0]):
        found, distribution = getattr(value, rest[0]), distribution_of(value.__name__)
        if distribution is not None and not isinstance(found, ModuleType):
            found = _kept_by(distribution, value.__name__, rest[0], found)
        chain, value, rest = (*chain, rest[0]), found, rest[1:]
    return chain, value


def _kept_by(distribution: str, module: str, name: str, value: Any) -> Any:
    """What a distribution keeps under a name: vouched for by that and by its own name, which may be another.

    Somebody may have put own code there, or another setting.
    """
    if isinstance(value, (bool, int, float, str)) or (isinstance(value, FunctionType) and is_own_code(value)):
        return value
    return Named(distribution, module, f"{name} {getattr(value, '__qualname__', '')}".strip())


@cache
def _chains(code: CodeType) -> tuple[tuple[str, ...], ...]:
    """Global names with the attributes that are taken of them, and modules that are imported inside of the code."""
    return tuple(chain for part in codes_of(code) for chain in _chains_of_one(part))


def _chains_of_one(code: CodeType) -> Iterator[tuple[str, ...]]:
    chain: tuple[str, ...] = ()
    last: list[Any] = [None, None]
    for step in dis.get_instructions(code):
        if chain and step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            chain = (*chain, step.argval)
            continue
        if chain:
            yield chain
        chain = (step.argval,) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME") else ()
        if step.opname == "IMPORT_NAME":
            level = last[0]  # of a relative import; after it comes what is taken of the module
            yield (f"{_IMPORT}{'.' * level}{step.argval}",)
        last = [last[1], step.argval]


def _imported(name: str, package: str | None) -> ModuleType | str | None:
    """A module that a function imports when it runs: it may not be loaded yet, then its file speaks for it."""
    try:
        absolute = importlib.util.resolve_name(name, package)
        if absolute in sys.modules:
            return sys.modules[absolute]
        spec = importlib.util.find_spec(absolute)
    except (ImportError, ValueError, AttributeError):
        return None
    distribution = _distribution(absolute, spec.origin) if spec is not None else None
    return distribution or _source(None if spec is None else spec.origin)


def _source(file: str | None) -> str | None:
    try:
        return None if file is None else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeError):
        return None


def class_content(cls: type) -> dict[str, Any]:
    """What an own class does: its bases and attributes; of the slots and members that C made, the names."""
    members = {
        name: type(value).__name__ if type(value).__name__.endswith("_descriptor") else value
        for name, value in sorted(vars(cls).items())
        if name not in _SILENT
    }
    return {"bases": cls.__bases__, "metaclass": type(cls), "members": members}


def module_content(module: ModuleType) -> Any:
    """An own module that is handed on as a whole: its source, and the functions and classes in it."""
    distribution = distribution_of(module.__name__)
    if distribution is not None:
        return Named(distribution, module.__name__, "")
    code = {n: value for n, value in sorted(vars(module).items()) if isinstance(value, (type, FunctionType))}
    return source_of(module.__name__), code


def source_of(module: str) -> str | None:
    """The source of an own module; None of others, of a notebook, and of the script that runs.

    Example:
        >>> source_of("numpy") is None and source_of("__main__") is None
        True
    """
    if module == "__main__" or distribution_of(module) is not None:
        return None
    return _source(getattr(sys.modules.get(module), "__file__", None))
