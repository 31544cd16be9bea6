"""Lazy import of the public names of a package."""

import ast
from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def on_first_use(
    package: dict[str, Any], subpackages: Iterable[str] = ()
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Make ``__getattr__``, ``__dir__`` and ``__all__`` of a package that imports its public names on first use.

    The names are those that the package imports under ``if TYPE_CHECKING:``, as ``from module import name as name``.
    So one list serves both type checkers and the interpreter. Its modules and subpackages are attributes, too, as if
    they were imported already.

    Args:
        package: ``globals()`` of the package.
        subpackages: those that ``dir`` lists; they are not in ``__all__``.

    Raises:
        ImportError: the source of the package is missing, e.g. if only bytecode is installed.

    Example:
        >>> import bsjax.data
        >>> "StimulusSet" in bsjax.data.__all__, bsjax.data.StimulusSet.__module__
        (True, 'bsjax.data.types.stimuli')
    """
    name, loader = package["__name__"], package["__spec__"].loader
    home_of = _listed(loader.get_source(name), name)

    def get(wanted: str) -> object:
        if wanted in home_of:
            module, name_there = home_of[wanted]
            value = getattr(import_module(module), name_there)
        elif not wanted.startswith("_") and find_spec(f"{name}.{wanted}"):
            value = import_module(f"{name}.{wanted}")
        else:
            raise AttributeError(f"module {name!r} has no attribute {wanted!r}")
        package[wanted] = value
        return value

    return get, lambda: sorted({*home_of, *subpackages}), sorted(home_of)


def _listed(source: str | None, package: str) -> dict[str, tuple[str, str]]:
    """Name -> its module and its name there, from the imports for type checkers."""
    if source is None:
        raise ImportError(f"{package} was installed without its source, which lists its public names: install it again")
    blocks = [node for node in ast.parse(source).body if isinstance(node, ast.If)]
    imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.asname or alias.name: (str(node.module), alias.name) for node in imports for alias in node.names}
