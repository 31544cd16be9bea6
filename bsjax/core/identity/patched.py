"""Monkey patches: the user's own code in place of installed code, such as a patched function of torch."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from functools import partial
from types import FunctionType, MethodType
from typing import Any

from bsjax.core.identity.code import distribution_of, is_own_code, is_own_module

_MOCK = "unittest.mock"
_PLAIN = (str, int, tuple, dict, type(None), type(str.join), type(object.__str__))


def patched(distributions: Collection[str]) -> list[tuple[str, str, Any]]:
    """Find the user's own callables in the loaded modules and classes of installed distributions.

    A function of a distribution that replaces another one is not found.

    Args:
        distributions: name and version of each, as from :func:`~bsjax.core.identity.code.distribution_of`.

    Returns:
        The module, the name in it, and the object, for each patch.

    Example:
        >>> import numpy as np
        >>> patched([distribution_of("numpy")])
        []
    """
    return sorted(_patched(distributions), key=lambda found: found[:2])


def _patched(distributions: Collection[str]) -> Iterator[tuple[str, str, Any]]:
    known: dict[type, bool] = {}  # type -> whether its objects are callables of the user's own code

    def is_own(value: Any) -> bool:
        kind = type(value)
        if kind in (MethodType, staticmethod, classmethod):
            return is_own(value.__func__)
        if kind is partial:
            return is_own(value.func)
        if kind is property:
            return is_own(value.fget)
        if kind is FunctionType:
            return is_own_code(value)
        if kind not in known:
            known[kind] = callable(value) and (kind.__module__ == _MOCK or is_own_module(kind.__module__))
        return known[kind]

    for module_name, module in [*sys.modules.items()]:
        if module_name == _MOCK or distribution_of(module_name) not in distributions or not hasattr(module, "__dict__"):
            continue
        for name, value in [*vars(module).items()]:
            if not issubclass(type(value), type):
                if is_own(value):
                    yield module_name, name, value
            elif value.__module__ == module_name:
                for inner, member in [*vars(value).items()]:
                    if type(member) not in _PLAIN and is_own(member):
                        yield module_name, f"{name}.{inner}", member
            elif is_own_module(value.__module__):
                yield module_name, name, value
