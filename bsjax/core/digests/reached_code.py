"""Functions that a call may reach, found by the names in their code, without running them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from types import FunctionType, MethodType
from typing import Any

from bsjax.core.digests.code import codes_of, distribution_of, global_values

CALLED = ("__call__", "forward")
"""Methods that run when an object is called, without their names being in the code that calls it."""
_CONSTRUCT = ("__new__", "__init__", "__post_init__")


def methods_of(classes: Iterable[type]) -> dict[str, list[FunctionType]]:
    """The methods and properties that these classes define themselves, by name."""
    methods: dict[str, list[FunctionType]] = {}
    for cls in dict.fromkeys(classes):
        for name, value in [*vars(cls).items()]:
            methods.setdefault(name, []).extend(_functions_of(value))
    return methods


def by_name(methods: Mapping[str, list[FunctionType]]) -> list[FunctionType]:
    """Of these methods those that a call runs, by their names, and those that these name.

    Example:
        >>> class Net:
        ...     def forward(self, x):
        ...         return self.scaled(x)
        ...     def scaled(self, x):
        ...         return 2 * x
        ...     def saved(self):
        ...         pass
        >>> [function.__name__ for function in by_name(methods_of([Net]))]
        ['forward', 'scaled']
    """
    return _followed([], methods, lambda function: ())


def reached(functions: Iterable[FunctionType], classes: Iterable[type]) -> list[FunctionType]:
    """Functions that may run when one of these is called, or an object of one of these classes.

    That is more than will run: a method counts when code that may run names it, of whichever object. A constructor
    counts when such code names its class. Code of installed distributions is not followed to what it calls.
    """
    methods = methods_of(base for cls in classes for base in cls.__mro__)

    def named_by(function: FunctionType) -> Iterator[FunctionType]:
        for _, value in global_values(function) if is_own(function) else ():
            yield from _functions_of(value)
            if isinstance(value, type) and distribution_of(value.__module__) is None:
                constructors = methods_of(value.__mro__)
                for name in _CONSTRUCT:
                    yield from constructors.get(name, ())

    return _followed(functions, methods, named_by)


def _followed(
    functions: Iterable[FunctionType],
    methods: Mapping[str, list[FunctionType]],
    named_by: Callable[[FunctionType], Iterable[FunctionType]],
) -> list[FunctionType]:
    found: dict[int, FunctionType] = {}
    left = [*(function for name in CALLED for function in methods.get(name, ())), *functions]
    while left:
        function = left.pop()
        if id(function) in found:
            continue
        found[id(function)] = function
        names = {name for code in codes_of(function.__code__) for name in code.co_names}
        left += [method for name in sorted(names) for method in methods.get(name, ())]
        left += named_by(function)
    return list(found.values())


def _functions_of(value: Any, depth: int = 3) -> Iterator[FunctionType]:
    """The Python functions that a value runs when it is called, or holds for that."""
    if isinstance(value, FunctionType):
        yield value
        inner = [cell.cell_contents for cell in value.__closure__ or () if _is_assigned(cell)]
    elif isinstance(value, (MethodType, staticmethod, classmethod)):
        inner = [value.__func__]
    elif isinstance(value, property):
        inner = [value.fget]
    elif isinstance(value, partial):
        inner = [value.func, *value.args, *value.keywords.values()]
    elif type(value) in (list, tuple):
        inner = [*value]
    elif type(value) is dict:
        inner = [*value.values()]
    elif callable(value) and not isinstance(value, type):
        inner = [getattr(value, "__wrapped__", None)]
    else:
        inner = []
    if depth:
        for part in inner:
            yield from _functions_of(part, depth - 1)


def _is_assigned(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def is_own(function: FunctionType) -> bool:
    return distribution_of(str(function.__globals__.get("__name__", ""))) is None
