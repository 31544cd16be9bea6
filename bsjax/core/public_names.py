"""Public names of a package that are imported on first use."""

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any


def on_first_use(
    names: dict[str, Any], sources: Mapping[str, Iterable[str]], subpackages: Iterable[str] = ()
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The ``__getattr__`` and ``__dir__`` of a package whose public names are imported when they are first asked for.

    Args:
        names: the package's ``globals()``.
        sources: module -> the public names that are imported from it.
        subpackages: of the package that are imported likewise.

    Example:
        >>> package = {"__name__": "shapes"}
        >>> get, names = on_first_use(package, {"math": ("pi",)})
        >>> round(get("pi"), 2), names(), "pi" in package
        (3.14, ['pi'], True)
        >>> get("tau")
        Traceback (most recent call last):
        ...
        AttributeError: module 'shapes' has no attribute 'tau'
    """
    package = names["__name__"]
    module_of = {name: module for module, public in sources.items() for name in public}
    folders = frozenset(subpackages)

    def get(name: str) -> object:
        if name in module_of:
            value = getattr(import_module(module_of[name]), name)
        elif name in folders:
            value = import_module(f"{package}.{name}")
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        names[name] = value
        return value

    def public() -> list[str]:
        return sorted({*names.get("__all__", ()), *module_of, *folders})

    return get, public
