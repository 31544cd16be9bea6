"""The one place that compiles kernels: a kernel is traced once for each shape, dtype and setting, then reused."""

from collections.abc import Callable
from functools import cache
from typing import Any

import jax


@cache
def compiled(kernel: Callable[..., Any], **settings: Any) -> Callable[..., Any]:
    """``kernel`` with its ``settings`` fixed, compiled; the same object for the same kernel and settings.

    Args:
        kernel: a pure function of arrays.
        settings: keyword arguments that are not arrays, e.g. ``mapping=Ridge()``; hashable.

    Example:
        >>> import jax.numpy as jnp
        >>> from bsjax.metrics import pearson
        >>> compiled(pearson) is compiled(pearson)
        True
    """

    def call(*arrays: Any) -> Any:
        return kernel(*arrays, **settings)

    return jax.jit(call)
