"""Lazy import of the public names of a package."""

import ast
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any


def on_first_use(
    package: dict[str, Any], subpackages: Iterable[str] = ()
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Make ``__getattr__``, ``__dir__`` and ``__all__`` of a package that imports its public names on first use.

    The names are those that the package imports under ``if TYPE_CHECKING:``, as ``from module import name as name``.
    So one list serves both type checkers and the interpreter.

    Args:
        package: ``globals()`` of the package.
        subpackages: subpackages that are also imported on first use; they are not in ``__all__``.

    Raises:
        ImportError: the source of the package is missing, e.g. if only bytecode is installed.

    Example:
        >>> import bsjax.data
        >>> "StimulusSet" in bsjax.data.__all__, bsjax.data.StimulusSet.__module__
        (True, 'bsjax.data.types.stimuli')
    """
    name, loader = package["__name__"], package["__spec__"].loader
    module_of = _listed(loader.get_source(name), name)
    folders = frozenset(subpackages)

    def get(wanted: str) -> object:
        if wanted in module_of:
            value = getattr(import_module(module_of[wanted]), wanted)
        elif wanted in folders:
            value = import_module(f"{name}.{wanted}")
        else:
            raise AttributeError(f"module {name!r} has no attribute {wanted!r}")
        package[wanted] = value
        return value

    return get, lambda: sorted({*module_of, *folders}), sorted(module_of)


def _listed(source: str | None, package: str) -> dict[str, str]:
    """Name -> module, from the imports for type checkers."""
    if source is None:
        raise ImportError(f"{package} was installed without its source, which lists its public names: install it again")
    blocks = [node for node in ast.parse(source).body if isinstance(node, ast.If)]
    imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}
