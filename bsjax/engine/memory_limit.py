"""Memory limit of comparisons, checked against an estimate before anything large is allocated."""

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any

import jax

from bsjax.core.context import set_within
from bsjax.core.memory import SHARE, free_memory, left_of_share, parse_bytes
from bsjax.core.messages import in_words
from bsjax.engine.programs.compilation import Program
from bsjax.engine.sharding import Shards, bytes_needed, local_devices
from bsjax.engine.transfers import to_host

_SHARE = 4  # features are not all that is in memory
_UNKNOWN = 1 << 30  # if the free memory is unknown
_ALWAYS = 64 << 20  # never refused; compiling a program takes more
_LIMIT: ContextVar[int | None] = ContextVar("memory limit", default=None)


class DoesNotFit(ValueError):
    """A computation needs more memory than there is."""


def memory_limit(limit: int | str) -> AbstractContextManager[None]:
    """Context manager that limits the memory of comparisons, not counting their inputs and compilation.

    Features that would exceed the limit are read in blocks if the metric allows it, which changes scores only by
    rounding errors. Otherwise a ``ValueError`` is raised before anything large is allocated. The estimate is taken from
    the compiled program and rounded up. Comparisons that need less than 64 MB are never refused. Outside such a block,
    the limit is the free memory of the machine, the control group or the accelerator.

    Args:
        limit: bytes, or a string such as ``"2GB"``.

    Raises:
        ValueError: ``limit`` is not a size.

    Example:
        >>> with memory_limit("2GB"):
        ...     features_in_memory()
        2000000000
    """
    return set_within(_LIMIT, parse_bytes(limit))


def features_in_memory() -> int:
    """Bytes of features that may be in memory at once."""
    most, _ = _room()
    if most is None:
        return _UNKNOWN
    return most if _LIMIT.get() is not None else max(most // _SHARE, 1)


def may_be_held(size: int) -> bool:
    """Whether an array of ``size`` bytes may be held in memory as features."""
    return (size <= _ALWAYS and _LIMIT.get() is None) or size <= features_in_memory()


def taken_by(kernel: Program, arrays: Sequence[Any], shards: Shards | None = None) -> int:
    """Upper bound of the bytes that ``sharded(kernel, arrays, shards)`` needs, including a copy of its arrays.

    Args:
        kernel, arrays, shards: as for ``bsjax.engine.sharding.bytes_needed``, in the dtype of the metric; arrays that
            have not been read may be ``jax.ShapeDtypeStruct``.
    """
    # Inputs may be copied to another order or dtype.
    copies = sum([leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(arrays)])
    return bytes_needed(kernel, arrays, shards) + copies


def fits(needed: int) -> bool:
    """Whether ``needed`` bytes are within the limit."""
    if needed <= _ALWAYS and _LIMIT.get() is None:
        return True  # without measuring the free memory
    most, _ = _room()
    return most is None or needed <= most


def refuse_unless_it_fits(needed: int, what: str, advice: str = "fewer stimuli or neuroids") -> None:
    """Raises an error if a computation needs too much memory.

    Args:
        needed: bytes that it needs.
        what: name of the computation for the message, e.g. ``"rdm of 50,000 stimuli"``.
        advice: what would need less memory.

    Raises:
        DoesNotFit: the message says how much is needed, the limit, its origin, and what to do.

    Example:
        >>> with memory_limit("100MB"):
        ...     refuse_unless_it_fits(2_000_000_000, "rdm of 10,000 stimuli", "fewer stimuli")
        Traceback (most recent call last):
        ...
        bsjax.engine.memory_limit.DoesNotFit: rdm of 10,000 stimuli takes 2 GB of memory, and bsjax.memory_limit ...
    """
    if needed <= _ALWAYS or fits(needed):
        return
    most, where = _room()
    raise DoesNotFit(
        f"{what} takes {in_words(needed)} of memory, and {where.format(in_words(most or 0))}: take {advice} or "
        'dtype="float32", or allow more by bsjax.memory_limit'
    )


def within_limit(kernel: Program, arrays: Sequence[Any], what: str, advice: str) -> Any:
    """``kernel(*arrays)`` as NumPy arrays, if it fits in memory.

    Raises:
        ValueError: it needs too much memory, see ``refuse_unless_it_fits``.
    """
    refuse_unless_it_fits(taken_by(kernel, arrays), what, advice)
    return to_host(kernel(*arrays))


def neuroids_at_a_time(
    takes: Callable[[int], int], width: int, what: str, advice: str = "fewer stimuli or repetitions"
) -> int:
    """How many of ``width`` independent neuroids fit in memory together.

    Args:
        takes: function from a number of neuroids to the bytes that they need.
        width: number of neuroids.
        what: name of the computation for the message.
        advice: what would need less memory, for the message.

    Raises:
        ValueError: not even one neuroid fits, see ``refuse_unless_it_fits``.

    Example:
        >>> with memory_limit("100MB"):
        ...     neuroids_at_a_time(lambda units: 1_000_000 * units, 1000, "a ceiling")
        90
    """
    units, needed = width, takes(width)
    while units > 1 and needed > _ALWAYS and not fits(needed):
        share = 0.9 * max(features_in_memory(), _ALWAYS) / needed
        units = max(1, min(units // 2, int(units * share)))
        needed = takes(units)
    refuse_unless_it_fits(needed, what, advice)
    return units


def _room() -> tuple[int | None, str]:
    """Bytes available, None if unknown, and a template of the message that says where the limit is from."""
    limit = _LIMIT.get()
    if limit is not None:
        return limit, "bsjax.memory_limit allows {}"
    places = (
        (left_of_share(), f"{{}} are left of the {os.environ.get(SHARE)} that ${SHARE} allows this process"),
        (free_memory(), "{} are free on this machine, or left to its control group"),
        (_free_on_accelerator(), "{} are free on the accelerator"),
    )
    return min(((most, where) for most, where in places if most is not None), default=(None, ""))


def _free_on_accelerator() -> int | None:
    device = local_devices()[0]
    stats = {} if device.platform == "cpu" else device.memory_stats() or {}
    return stats["bytes_limit"] - stats["bytes_in_use"] if {"bytes_limit", "bytes_in_use"} <= stats.keys() else None
