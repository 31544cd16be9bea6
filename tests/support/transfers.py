"""Transfers between host and device that nobody asked for, refused: also on a CPU, where JAX's guard sees but half.

Of what goes to the device JAX's own guard knows. What comes from there, a CPU gives away by its address, unseen: here
NumPy's functions and the conversions of JAX's arrays refuse it in the guard's place.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np

_ARRAY: Any = type(jnp.zeros(()))
_WITHOUT_A_COPY = {"shape", "ndim", "size", "iscomplexobj", "isscalar", "iterable", "result_type", "may_share_memory"}


class ImplicitTransfer(Exception):
    """Values of a device came to the host by something other than ``to_host`` and ``jax.device_get``."""


@contextmanager
def explicit_transfers() -> Iterator[list[tuple[int, ...]]]:
    """A block in which arrays come to the host by ``to_host`` or ``jax.device_get`` alone, and go there by no accident.

    Returns:
        The shapes of what came, in order.
    """
    fetched: list[tuple[int, ...]] = []

    def refusing(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            given = [*args, *kwargs.values()]
            flat = [*given, *(item for arg in given if isinstance(arg, list | tuple) for item in arg)]
            arrays = [value for value in flat if type(value) is _ARRAY]
            if arrays and not _allowed():
                raise ImplicitTransfer(name)
            fetched.extend(array.shape for array in arrays)
            return function(*args, **kwargs)

        for method in ("reduce", "accumulate", "outer", "at", "reduceat"):
            if hasattr(function, method):
                setattr(checked, method, getattr(function, method))
        return checked

    plain_get, plain_value = jax.device_get, _ARRAY._value

    def device_get(values: Any) -> Any:
        with jax.transfer_guard_device_to_host("allow"):
            return plain_get(values)

    def value(array: Any) -> Any:
        if not _allowed():
            raise ImplicitTransfer("a number or a list of an array")
        return plain_value.fget(array)

    functions = {
        name: refusing(f"np.{name}", function)
        for name, function in vars(np).items()
        if callable(function)
        and not isinstance(function, type)
        and not name.startswith("_")
        and name not in _WITHOUT_A_COPY
    }
    with (
        mock.patch.multiple(np, **functions),
        mock.patch.object(_ARRAY, "_value", property(value)),
        mock.patch.object(_ARRAY, "__array__", refusing("__array__", _ARRAY.__array__)),
        mock.patch.object(jax, "device_get", device_get),
        jax.transfer_guard("disallow"),
    ):
        yield fetched


def _allowed() -> bool:
    return jax.config.jax_transfer_guard_device_to_host == "allow"
