"""Functions, classes and modules as plain values that determine their behaviour.

Installed code is represented by the name and version of its distribution. Code of bsjax is represented by its name,
since :func:`~bsjax.core.identity.source.own_source` covers the rest. The user's own code is represented by its source
and the outside values that it uses.
"""

import ast
import dis
import enum
import hashlib
import importlib.metadata
import importlib.util
import linecache
import os
import sys
import sysconfig
import textwrap
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

from bsjax.core.digests.arrays import Undigestible, file_digest
from bsjax.core.identity.source import without_remarks

PYTHON, BSJAX = "python", "bsjax"
"""Distribution names of the standard library and of bsjax."""
_SITE = frozenset({"site-packages", "dist-packages"})
_NOT_OWN = (
    *(os.path.realpath(sysconfig.get_paths()[kind]) + os.sep for kind in ("stdlib", "platstdlib")),
    str(Path(__file__).resolve().parents[2]) + os.sep,
)
# Globals that describe the location of a module, which differs between machines, and between a script and a module.
_OWN_PLACE = ("__name__", "__file__", "__spec__", "__package__", "__path__")
# Files whose functions generate methods of classes.
_MAKE_MEMBERS = ("dataclasses.py", "reprlib.py", "collections/__init__.py", "typing.py")
_MADE_METHODS = "__init__ __new__ __repr__ __eq__ __hash__ __lt__ __le__ __gt__ __ge__ __setattr__ __delattr__".split()
# Attributes of a class that do not affect its behaviour.
_SILENT = frozenset(
    "__dict__ __weakref__ __doc__ __module__ __qualname__ __annotations__ __annotate__ __annotate_func__ "
    "__annotations_cache__ __conditional_annotations__ __firstlineno__ __static_attributes__ __abstractmethods__ "
    "__parameters__ __orig_bases__ __dataclass_fields__ __dataclass_params__ __replace__ _abc_impl".split()
)


class Named(NamedTuple):
    """Installed code, identified by its distribution, module and name."""

    distribution: str
    module: str
    name: str


def distribution_of(module: str) -> str | None:
    """Get the name and version of the distribution of a module; None for the user's own code.

    An editable installation counts as own code, since its source can change without its version.

    Example:
        >>> distribution_of("__main__"), distribution_of("dis"), distribution_of("numpy").split()[0]
        (None, 'python', 'numpy')
    """
    if module == "__main__":
        return None
    return _distribution(module.partition(".")[0], getattr(sys.modules.get(module), "__file__", None))


@cache
def _distribution(top: str, file: str | None) -> str | None:
    if top == BSJAX:
        return BSJAX
    if file is None:  # built in, or created at run time
        return PYTHON if top in sys.stdlib_module_names else None
    if is_own_file(file):
        return None
    if not _is_in_site(_real(file)):
        return PYTHON
    return _installed(top)


@cache
def _installed(top: str) -> str | None:
    """Name and version of the distribution of a package; cached, as it takes half a millisecond."""
    for name in _names(top):
        try:
            # The part after "+" names a device-specific build of the same code.
            return f"{name} {importlib.metadata.version(name).partition('+')[0]}"
        except importlib.metadata.PackageNotFoundError:
            continue
    return None


def _names(top: str) -> Iterator[str]:
    """Names that the distribution of a package may have, most of which have that of the package."""
    yield top
    yield from _distributions().get(top, ())  # reads the records of all distributions, which takes about a second


_distributions = cache(importlib.metadata.packages_distributions)


def is_own_module(name: object) -> bool:
    """Check whether a loaded module is the user's own; modules without a file are created by libraries."""
    file = getattr(sys.modules.get(str(name)), "__file__", None)
    return name == "__main__" or (file is not None and is_own_file(file))


def is_own_code(function: FunctionType) -> bool:
    """Check whether the code of a function is the user's own, regardless of its ``__module__``."""
    file = function.__code__.co_filename
    if file.startswith(("<doctest", "<ipython")):
        return True
    if file.startswith("<"):  # created at run time
        return is_own_module(function.__globals__.get("__name__"))
    return is_own_file(file)


@cache
def is_own_file(file: str) -> bool:
    """Check whether a file is not part of Python, of bsjax or of an installed package."""
    path = _real(file)
    return not _is_in_site(path) and not f"{path}{os.sep}".startswith(_NOT_OWN)


@cache
def _real(file: str) -> str:
    """The path without links; cached, as it takes a call of the system for every folder above the file."""
    return os.path.realpath(file)


def _is_in_site(path: str) -> bool:
    return not _SITE.isdisjoint(path.split(os.sep))


def named(value: Any, name: str | None = None) -> Named | None:
    """Find the location of a value in an installed distribution, by its own name or ``name``; None if not found there.

    Example:
        >>> named(dis.dis)
        Named(distribution='python', module='dis', name='dis')
    """
    module = getattr(value, "__module__", None) or type(value).__module__
    name = name or getattr(value, "__qualname__", getattr(value, "__name__", None))
    if not isinstance(module, str) or not isinstance(name, str):
        return None
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    # A class method is found as a bound method.
    if getattr(found, "__func__", found) is not value or (isinstance(value, FunctionType) and is_own_code(value)):
        return None
    distribution = distribution_of(module)
    return None if distribution is None else Named(distribution, module, name)


def function_content(function: FunctionType) -> dict[str, Any]:
    """Get everything that determines the results of a Python function, apart from its arguments.

    Raises:
        Undigestible: it is own code whose source is not available.
    """
    content: dict[str, Any] = {
        "defaults": function.__defaults__,
        "keyword defaults": sorted((function.__kwdefaults__ or {}).items()),
        "closure": dict(_cells(function)),
        "attributes": sorted((name, value) for name, value in vars(function).items() if not name.startswith("_")),
    }
    module = str(function.__globals__.get("__name__", ""))
    distribution = None if is_own_code(function) else distribution_of(module)
    if distribution is not None:  # created by a function of a library
        return {"code": Named(distribution, module, function.__qualname__), **content}
    return {"code": source_of(function), "globals": dict(_globals(function)), **content}


def _cells(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """The variables of enclosing functions that a function uses, with their values."""
    attributes = {name for code in _codes(function.__code__) for name in code.co_names}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, _with_parts(cell.cell_contents, attributes)
        except ValueError:  # not assigned yet
            yield name, "unassigned"


def _globals(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """The globals that a function uses, with their values; for modules, the attributes that it names."""
    codes = [*_codes(function.__code__)]
    attributes = {name for code in codes for name in code.co_names}
    steps = [step for code in codes for step in dis.get_instructions(code)]
    known = function.__globals__
    for name in sorted({step.argval for step in steps if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}):
        if name in known and name not in _OWN_PLACE:
            yield name, _with_parts(known[name], attributes)
    package = str(known.get("__package__") or known.get("__name__") or "").split(".")
    for name in sorted({step.argval for step in steps if step.opname == "IMPORT_NAME"}):
        for place in [name, *(".".join([*package[: n + 1], name]).rstrip(".") for n in range(len(package)))]:
            if is_own_module(place):
                yield f"import {name}", _with_parts(sys.modules[place], attributes)
            elif place not in sys.modules and (file := _file_of(place)) is not None and is_own_file(file):
                yield f"import {name}", plain_source(_read(file))


def _file_of(module: str) -> str | None:
    """The file of a module that is not imported yet."""
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError, AttributeError):
        return None
    return None if spec is None or not spec.has_location else spec.origin


def _with_parts(value: Any, attributes: set[str], above: tuple[Any, ...] = ()) -> Any:
    """A module as its content and its attributes with these names; other values unchanged."""
    if not isinstance(value, ModuleType) or value in above:
        return value
    parts = {name: vars(value)[name] for name in sorted(attributes & vars(value).keys() - {*_OWN_PLACE})}
    if distribution_of(value.__name__) is not None:  # may be patched or set by the user
        parts = {name: _kept(part) for name, part in parts.items()}
    return module_content(value), {name: _with_parts(part, attributes, (*above, value)) for name, part in parts.items()}


def _kept(value: Any) -> Any:
    """An attribute of an installed module: own code and settings unchanged, otherwise its name."""
    if isinstance(value, (bool, int, float, str, ModuleType)) or (
        isinstance(value, FunctionType) and is_own_code(value)
    ):
        return value
    return getattr(value, "__qualname__", getattr(value, "__name__", type(value).__name__))


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A code object and those of nested functions and classes."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def class_content(cls: type) -> dict[str, Any]:
    """Get the content of an own class: its bases and attributes; slots and descriptors made in C by their type."""
    if issubclass(cls, enum.Enum):
        members = {member.name: member.value for member in cls} | {
            name: value for name, value in vars(cls).items() if isinstance(value, FunctionType) and is_own_code(value)
        }
    else:
        members = {
            name: type(value).__name__ if type(value).__name__.endswith("_descriptor") else value
            for name, value in sorted(vars(cls).items())
            if name not in _SILENT and not _is_made(value)
        }
    fields = getattr(cls, "__dataclass_fields__", {})
    made_by = {name: each.default_factory for name, each in fields.items() if callable(each.default_factory)}
    return {"bases": cls.__bases__, "metaclass": type(cls), "members": members, "fields": [*fields], "made by": made_by}


def _is_made(value: Any) -> bool:
    """Whether a member of a class was generated, e.g. by ``dataclass`` or ``namedtuple``."""
    function = getattr(value, "__func__", value)
    if not isinstance(function, FunctionType):
        return type(value).__module__ in ("collections", "_collections")
    file = function.__code__.co_filename
    return file.endswith(_MAKE_MEMBERS) or (file.startswith("<") and not linecache.getlines(file))


def module_content(module: ModuleType) -> Named | str:
    """Get the content of a module: its distribution, or its source if it is own code."""
    distribution = distribution_of(module.__name__)
    if distribution is not None:
        return Named(distribution, module.__name__, "")
    file = getattr(module, "__file__", None)
    return plain_source(_read(file)) if file is not None and file.endswith(".py") else ""


def source_of(function: FunctionType) -> str:
    """Get the source of an own function, without comments and docstrings.

    Raises:
        Undigestible: the source is not available, or the file has changed since it was imported.

    Example:
        >>> double, triple = [lambda x: 2 * x, lambda x: 3 * x]
        >>> source_of(double), source_of(triple)
        ('lambda x: 2 * x', 'lambda x: 3 * x')
    """
    code, where = function.__code__, f"the source of {function.__qualname__}"
    file = code.co_filename
    text = _read(file) if os.path.isfile(file) else "".join(linecache.getlines(file, function.__globals__))
    if not text and code.co_name in _MADE_METHODS:
        return code.co_name
    if not text:
        raise Undigestible(f"{where} is not to be had: write it in a file")
    node = _node(text, code)
    # A file that was not modified since the start of this process need not be compared.
    touched = os.path.isfile(file) and os.stat(file).st_mtime >= _began() - 1
    if node is None or (touched and code not in _compiled(text)):
        raise Undigestible(f"{where} was changed in {file} after it was imported: start again, or reload it")
    segment = ast.get_source_segment(text, node, padded=not isinstance(node, ast.Lambda))
    return plain_source(textwrap.dedent(segment or ""))


@cache
def plain_source(text: str) -> str:
    """Remove comments and docstrings from Python source, unless that changes its meaning."""
    cut, meaning = without_remarks(text), _means(text)
    return cut if meaning is not None and _means(cut) == meaning else text


def digest_without_remarks(path: str | Path) -> str:
    """Compute the digest of a file, for Python without comments and docstrings.

    Raises:
        OSError: the file cannot be read.
    """
    if Path(path).suffix != ".py":
        return file_digest(path)
    text = Path(path).read_text(encoding="utf-8", errors="replace")
    return hashlib.sha256(plain_source(text).encode()).hexdigest()[:32]


def _node(text: str, code: CodeType) -> ast.AST | None:
    """The innermost function of the same name and first line that contains the whole code object."""
    # A function of nothing but `pass` has no position but its first line, which tells it from all but other lambdas.
    spans = [place for place in code.co_positions() if None not in place and place[2:] != (0, 0)] or [(0, 0, 0, 0)]
    first, last = min((p[0], p[2]) for p in spans), max((p[1], p[3]) for p in spans)
    fitting = [
        node
        for node in _functions(text).get(code.co_firstlineno, [])
        if getattr(node, "name", "<lambda>") == code.co_name.rpartition(".")[2]
        and (code.co_name != "<lambda>" or _begin(node) <= first and last <= (node.end_lineno, node.end_col_offset))
    ]
    return max(fitting, key=_begin, default=None)


def _begin(node: Any) -> tuple[int, int]:
    return node.lineno, node.col_offset


@cache
def _functions(text: str) -> Mapping[int, list[Any]]:
    found: dict[int, list[Any]] = {}
    try:
        tree = ast.parse(text)
    except SyntaxError:  # the file has changed since
        return found
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            decorators = getattr(node, "decorator_list", [])
            found.setdefault(min([node.lineno, *(each.lineno for each in decorators)]), []).append(node)
    return found


@cache
def _compiled(text: str) -> frozenset[CodeType]:
    """The code objects of some source."""
    return frozenset(_codes(compile(text, "<text>", "exec", dont_inherit=True)))


def _means(source: str) -> str | None:
    """The syntax tree of some source without docstrings, as text; None if it cannot be parsed."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # a part of a multi-line expression
        return None
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            node.body = [each for each in body if not _is_docstring(each)] or [ast.Pass()]  # pyright: ignore[reportAttributeAccessIssue]
    return ast.dump(tree)


def _is_docstring(node: Any) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


@cache
def _began() -> float:
    """The start time of this process, in seconds since 1970; 0 if unknown."""
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        [boot] = [line for line in Path("/proc/stat").read_text().splitlines() if line.startswith("btime")]
        return int(boot.split()[1]) + ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):  # unknown on this system: all files are compared
        return 0.0


def _read(file: str) -> str:
    try:
        with open(file, encoding="utf-8") as opened:
            return opened.read()
    except (OSError, UnicodeError):
        return ""
