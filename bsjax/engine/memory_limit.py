"""The memory limit of comparisons: what one takes is known before anything large is made."""

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

_SHARE = 4  # features are not all that is held
_UNKNOWN = 1 << 30  # where the system does not tell how much is free
_ALWAYS = 64 << 20  # compiling a program takes more
_LIMIT: ContextVar[int | None] = ContextVar("memory limit", default=None)


def memory_limit(limit: int | str) -> AbstractContextManager[None]:
    """A block in which a comparison takes no more memory than this, beside what it is given and what compiling takes.

    What would take more is read in blocks where the metric allows it, which does not change scores up to rounding,
    and else is refused by a ``ValueError`` before anything large is made. The estimate is that of the program itself,
    rounded up. What takes less than 64 MB is never refused. Without such a block the limit is the memory that is free,
    of the machine, the control group or the accelerator.

    Args:
        limit: bytes, also as ``"2GB"``.

    Raises:
        ValueError: not a size.

    Example:
        >>> with memory_limit("2GB"):
        ...     features_in_memory()
        2000000000
    """
    return set_within(_LIMIT, parse_bytes(limit))


def features_in_memory() -> int:
    """Bytes of features that may be read at once."""
    most, _ = _room()
    if most is None:
        return _UNKNOWN
    return most if _LIMIT.get() is not None else max(most // _SHARE, 1)


def may_be_held(size: int) -> bool:
    """Whether an array of so many bytes is no more than the features that may be read at once."""
    return (size <= _ALWAYS and _LIMIT.get() is None) or size <= features_in_memory()


def taken_by(kernel: Program, arrays: Sequence[Any], shards: Shards | None = None) -> int:
    """Bytes that ``sharded(kernel, arrays, shards)`` takes at most, with what is done to its arrays before.

    Args:
        kernel, arrays, shards: as for ``bsjax.engine.sharding.bytes_needed``, in the dtype of the metric;
            ``jax.ShapeDtypeStruct`` in the place of values that have not been read.
    """
    # In another order or dtype than they were given in.
    copies = sum([leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(arrays)])
    return bytes_needed(kernel, arrays, shards) + copies


def fits(needed: int) -> bool:
    """Whether so many bytes may be taken."""
    if needed <= _ALWAYS and _LIMIT.get() is None:
        return True  # without a look at what is free
    most, _ = _room()
    return most is None or needed <= most


def refuse_unless_it_fits(needed: int, what: str, advice: str = "fewer stimuli or neuroids") -> None:
    """Refuses what takes too many bytes.

    Args:
        needed: how many it takes.
        what: for the message, e.g. ``"rdm of 50,000 stimuli"``.
        advice: what takes less.

    Raises:
        ValueError: it does not fit; the message has the need, the limit, where the limit is from and what to do.

    Example:
        >>> with memory_limit("100MB"):
        ...     refuse_unless_it_fits(2_000_000_000, "rdm of 10,000 stimuli", "fewer stimuli")
        Traceback (most recent call last):
        ...
        ValueError: rdm of 10,000 stimuli takes 2 GB of memory, and bsjax.memory_limit allows 100 MB: take fewer ...
    """
    if needed <= _ALWAYS or fits(needed):
        return
    most, where = _room()
    raise ValueError(
        f"{what} takes {in_words(needed)} of memory, and {where.format(in_words(most or 0))}: take {advice} or "
        'dtype="float32", or allow more by bsjax.memory_limit'
    )


def within_limit(kernel: Program, arrays: Sequence[Any], what: str, advice: str) -> Any:
    """``kernel(*arrays)``, on the host.

    Raises:
        ValueError: it takes too much memory, see ``refuse_unless_it_fits``.
    """
    refuse_unless_it_fits(taken_by(kernel, arrays), what, advice)
    return to_host(kernel(*arrays))


def neuroids_at_a_time(takes: Callable[[int], int], width: int, what: str) -> int:
    """How many of ``width`` neuroids, of which each is computed by itself, fit in memory together.

    Args:
        takes: bytes that so many neuroids take.
        width: how many there are.
        what: for the message.

    Raises:
        ValueError: one does not fit, see ``refuse_unless_it_fits``.

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
    refuse_unless_it_fits(needed, what, "fewer stimuli or repetitions")
    return units


def _room() -> tuple[int | None, str]:
    """Bytes that may be taken, None if that is unknown, and whose limit it is."""
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
