"""Dry runs: computations whose programs are compiled for the shapes of their arrays, but not run."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

import jax
import numpy as np

from bsjax.core.context import set_within
from bsjax.engine.programs.operations import Step

T = TypeVar("T")


@dataclass
class DryRun:
    """What a dry run would do.

    Attributes:
        steps: of all its programs.
        copies: bytes of the arguments that are cast or padded before programs are called.
        programs: the bytes that the program in need of the most takes, beside these copies.
    """

    steps: list[Step] = field(default_factory=list)
    copies: int = 0
    programs: int = 0

    @property
    def memory(self) -> int:
        """Bytes of memory that it takes, beside the arrays that it is given."""
        return self.copies + self.programs

    def cast(self, values: np.ndarray | jax.Array, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """Notes the size of a cast or padded copy, and returns a hollow one."""
        made = hollow(shape, dtype)
        if (values.shape, values.dtype) != (made.shape, made.dtype):
            self.copies += made.nbytes
        return made


_RUNNING: ContextVar[DryRun | None] = ContextVar("dry run", default=None)


@contextmanager
def dry_run() -> Iterator[DryRun]:
    """Context manager in which programs are compiled and their steps noted, but not run.

    Results of programs are zeros that take no memory. Arrays without values for the arguments are made by ``hollow``.

    Example:
        >>> from bsjax.engine.programs.compilation import compiled
        >>> from bsjax.metrics import pearson
        >>> with dry_run() as would:
        ...     made = compiled(pearson)(*[hollow((1_000_000, 1000), np.float32)] * 2)
        >>> made.shape, would.memory > 8 * 10**9
        ((1000,), True)
    """
    noted = DryRun()
    with set_within(_RUNNING, noted):
        yield noted


running_dry = _RUNNING.get
"""The dry run that is going on; None in an ordinary run, which is asked in every call."""


def freeing_copies(parts: Iterable[T]) -> Iterator[T]:
    """The parts of a computation, run one after the other: a dry run counts the copies that the last one makes.

    Example:
        >>> with dry_run() as would:
        ...     for _ in freeing_copies(range(3)):
        ...         _ = would.cast(hollow(10, np.float32), (10,), np.float64)
        >>> would.copies
        80
    """
    noted = running_dry()
    before = 0 if noted is None else noted.copies
    for part in parts:
        if noted is not None:
            noted.copies = before
        yield part


def hollow(shape: Any, dtype: Any) -> np.ndarray:
    """An array of zeros that takes no memory.

    Example:
        >>> hollow((10**6, 10**6), np.float32).nbytes
        4000000000000
    """
    return np.broadcast_to(np.zeros((), dtype), shape)
