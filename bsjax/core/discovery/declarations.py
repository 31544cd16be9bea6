"""Registrations of a plugin, read from its ``__init__.py``, which is parsed and not run."""

import ast
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

BRAINSCORE = ("brainscore_vision", "brainscore_core", "brainscore", "brainio", "model_tools", "result_caching")
"""Packages that Brain-Score plugins import."""

REGISTRIES = ("model_registry", "benchmark_registry", "metric_registry", "data_registry", "stimulus_set_registry")
"""Names of the registries that plugins use."""

_FORMS = {
    "cross_validated": ("{}", "{}_cv"),
    "on_fixed_split": ("{}_split",),
    "reverse": ("reverse_{}", "reverse_{}_cv"),
    "reverse_on_fixed_split": ("reverse_{}_split",),
    "spanning_time": ("spantime_{}",),
}


class Declaration(NamedTuple):
    """One registration.

    Attributes:
        registry: one of ``REGISTRIES``.
        identifier: the registered identifier.
        line: line number in the file.
        summary: one line for listings; "" if none is given.
    """

    registry: str
    identifier: str
    line: int
    summary: str


class Declarations(NamedTuple):
    """All registrations of a file.

    Attributes:
        found: registrations with a literal identifier.
        hidden: line numbers of registrations whose identifier is only known when the file runs.
        for_brainscore: whether the file imports packages of Brain-Score.
    """

    found: tuple[Declaration, ...]
    hidden: tuple[int, ...]
    for_brainscore: bool = False


def forms_of_mapping(name: str, *, reverse: bool = False, spantime: bool = False) -> dict[str, list[str]]:
    """Get the identifiers of the metrics that ``bsjax.register_mapping`` registers, by the form of the regression.

    Example:
        >>> forms_of_mapping("ridge")
        {'cross_validated': ['ridge', 'ridge_cv'], 'on_fixed_split': ['ridge_split']}
    """
    return {
        form: [identifier.format(name) for identifier in identifiers]
        for form, identifiers in _FORMS.items()
        if (reverse or not form.startswith("reverse")) and (spantime or form != "spanning_time")
    }


def read_declarations(path: Path) -> Declarations:
    """Read the registrations in a file: ``benchmark_registry["A"] = ...`` or ``benchmark_registry.register("A", ...)``.

    Also read are calls of ``register_mapping``, which registers several metrics.

    The registry may have an alias (``from bsjax import benchmark_registry as registry``) or be an attribute
    (``bsjax.benchmark_registry``).

    Raises:
        ValueError: the file is not valid Python; the message contains the file and line.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "__init__.py"
        ...     _ = path.write_text("from bsjax import model_registry\\nmodel_registry['mine'] = lambda: 1\\n")
        ...     read_declarations(path).found
        (Declaration(registry='model_registry', identifier='mine', line=2, summary=''),)
    """
    try:
        with warnings.catch_warnings(action="ignore"):  # warnings about the plugin's code, which is not run here
            tree = ast.parse(path.read_bytes(), str(path))
    except (SyntaxError, ValueError) as error:
        raise ValueError(f"{path} is no Python: {error}") from error
    except (RecursionError, MemoryError) as error:
        raise ValueError(f"{path} is no Python: it is nested too deeply") from error
    names = {name: name for name in REGISTRIES}
    imported: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            imported.add("" if node.level else str(node.module).partition(".")[0])
            names |= {alias.asname: alias.name for alias in node.names if alias.asname and alias.name in REGISTRIES}
    default = _first_line(ast.get_docstring(tree))
    found, hidden = [], []
    for registry, identifier, summary in _registrations(tree, names):
        if isinstance(identifier, ast.Constant) and isinstance(identifier.value, str):
            found.append(Declaration(registry, identifier.value, identifier.lineno, summary or default))
        else:
            hidden.append(identifier.lineno)
    return Declarations(tuple(found), tuple(hidden), not imported.isdisjoint(BRAINSCORE))


def _registrations(tree: ast.AST, names: dict[str, str]) -> Iterator[tuple[str, ast.expr, str]]:
    """The registry, expression of the identifier, and summary of each registration."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                registry = _registry(target.value, names) if isinstance(target, ast.Subscript) else None
                if registry and isinstance(target, ast.Subscript):
                    yield registry, target.slice, ""
        elif isinstance(node, ast.Call):
            function = ast.unparse(node.func).rpartition(".")[2]
            given = {keyword.arg: keyword.value for keyword in node.keywords}
            identifier = node.args[0] if node.args else given.get("identifier", given.get("name"))
            summary = node.args[2] if len(node.args) > 2 else given.get("summary")
            words = str(summary.value) if isinstance(summary, ast.Constant) else ""
            if identifier is None:
                continue
            if function == "register_mapping":
                for name in _of_mapping(identifier, given):
                    yield "metric_registry", name, words
            elif function == "register" and isinstance(node.func, ast.Attribute):
                registry = _registry(node.func.value, names)
                if registry:
                    yield registry, identifier, words


def _of_mapping(name: ast.expr, given: dict[str | None, ast.expr]) -> Iterator[ast.expr]:
    """The identifiers that a call of ``register_mapping`` registers, each at the line of the name."""
    if not isinstance(name, ast.Constant):
        yield name
        return
    told = {key: isinstance(v := given.get(key), ast.Constant) and bool(v.value) for key in ("reverse", "spantime")}
    for identifiers in forms_of_mapping(str(name.value), **told).values():
        yield from (ast.copy_location(ast.Constant(identifier), name) for identifier in identifiers)


def _registry(node: ast.expr, names: dict[str, str]) -> str | None:
    if isinstance(node, ast.Name):
        return names.get(node.id)
    return node.attr if isinstance(node, ast.Attribute) and node.attr in REGISTRIES else None


def _first_line(text: str | None) -> str:
    return text.strip().splitlines()[0] if text and text.strip() else ""
