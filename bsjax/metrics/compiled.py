"""The one place that compiles kernels: a kernel is traced once for each shape, dtype and setting, then reused."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import jax

from bsjax.metrics.program import Program

_MAPS, _MOST_MAPS = Path("/proc/self/maps"), Path("/proc/sys/vm/max_map_count")
_SHARE_OF_MAPS = 0.75

_counters: list[Counter[str]] = []
_unchecked: list[str] = []
"""Kernels traced since the process's memory maps were counted."""


def compiled(kernel: Callable[..., Any], **settings: Any) -> Program:
    """``kernel`` with its ``settings`` fixed, compiled; the same object for the same kernel and settings.

    A program of a kernel holds up to some 400 memory maps, of which Linux allows a process 65,530 by default: after
    some 170 shapes of PLS it would be stopped. So all programs are let go, to be compiled again when they are needed,
    once a process has three quarters of what it may have.

    Args:
        kernel: a pure function of arrays.
        settings: keyword arguments that are not arrays, e.g. ``mapping=Ridge()``; hashable.

    Example:
        >>> import jax.numpy as jnp
        >>> from bsjax.metrics import pearson
        >>> compiled(pearson) is compiled(pearson)
        True
    """
    if _unchecked:
        _unchecked.clear()
        let_programs_go()
    return _jitted(kernel, **settings)


@contextmanager
def traces() -> Iterator[Counter[str]]:
    """Counts how often each kernel is traced within a block, which is how often it is compiled.

    A kernel is traced for shapes, dtypes and settings that are new to the process. Where the count stays at zero on a
    second call, the first one's program was used again.

    Returns:
        Name of the kernel -> number of traces; it counts on until the end of the block.

    Example:
        >>> import jax.numpy as jnp
        >>> from bsjax.metrics import pearson
        >>> with traces() as counted:
        ...     for _ in range(2):
        ...         r = compiled(pearson)(jnp.ones((7, 3)), jnp.ones((7, 3)))
        >>> counted["pearson"]
        1
    """
    counted: Counter[str] = Counter()
    _counters.append(counted)
    try:
        yield counted
    finally:
        _counters[:] = [other for other in _counters if other is not counted]


def let_programs_go(most_maps: int | None = None) -> bool:
    """Forgets all compiled programs if the process has more memory maps than this.

    Args:
        most_maps: three quarters of what Linux allows by default. On other systems nothing is forgotten.

    Returns:
        Whether it has.
    """
    if not _MAPS.exists():
        return False
    if most_maps is None:
        most_maps = int(_SHARE_OF_MAPS * int(_MOST_MAPS.read_text()))
    too_many = _MAPS.read_bytes().count(b"\n") > most_maps
    if too_many:
        jax.clear_caches()
    return too_many


@cache
def _jitted(kernel: Callable[..., Any], **settings: Any) -> Program:
    name = getattr(kernel, "__name__", type(kernel).__name__)

    def call(*arrays: Any) -> Any:
        # Python runs this once for each program: while JAX traces it.
        _unchecked.append(name)
        for counted in _counters:
            counted[name] += 1
        return kernel(*arrays, **settings)

    call.__name__ = name  # what profiles and messages of JAX say
    return Program(call)
