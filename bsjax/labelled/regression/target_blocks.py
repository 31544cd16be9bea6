"""Blocks of targets of a regression that predicts each target independently of the others.

Where all targets together need too much memory, blocks are fitted one after the other; on a cluster, workers fit them.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any, Protocol

import numpy as np
import xarray as xr

from bsjax.core.context import set_within
from bsjax.engine.streaming import DependsOn
from bsjax.labelled.streaming import compress

Fitted = tuple[np.ndarray, dict[str, np.ndarray]]
"""Values of a regression, targets on the last axis, and its report."""


class Spread(Protocol):
    """What fits blocks of targets elsewhere."""

    def least_blocks(self, stimuli: int, targets: int) -> int:
        """The number of blocks that keeps all workers busy; 1 if targets are better fitted here."""
        ...

    def __call__(
        self, fit: Callable[..., list[Fitted]], source: Any, prepare: Callable[[Any], Any], blocks: Sequence[Any]
    ) -> list[Fitted]:
        """``fit([prepare(source)], block)[0]`` of each block; sources of equal content are prepared once."""
        ...


_SPREAD: ContextVar[Spread | None] = ContextVar("where blocks of targets are fitted", default=None)


def spread_by(spread: Spread | None) -> AbstractContextManager[None]:
    """Context manager in which ``spread`` fits the targets of regressions; None fits them in this process."""
    return set_within(_SPREAD, spread)


def spread_of(stimuli: int, targets: int) -> Spread | None:
    """What fits targets elsewhere; None if so many are fitted in this process."""
    spread = _SPREAD.get()
    return None if spread is None or spread.least_blocks(stimuli, targets) < 2 else spread


def prepared_width(n: int, width: int, depends_on: DependsOn) -> int:
    """The number of columns of ``prepared`` features."""
    return n if depends_on == "inner products" and width > n + 1 else width


def prepared(x: np.ndarray, depends_on: DependsOn) -> np.ndarray:
    """Features as they are sent to workers: a factor of their Gram matrix where that suffices and has fewer columns."""
    if prepared_width(len(x), x.shape[1], depends_on) == x.shape[1]:
        return x
    return compress(xr.DataArray(x, dims=["presentation", "neuroid"]), depends_on=depends_on)[0].values


def blocks_of(targets: int, most: int) -> list[slice]:
    """Blocks of at most ``most`` targets, equally large except for the last one.

    Example:
        >>> [(block.start, block.stop) for block in blocks_of(10, 4)]
        [(0, 4), (4, 8), (8, 10)]
    """
    each = -(-targets // -(-targets // most))
    return [slice(start, min(start + each, targets)) for start in range(0, targets, each)]


def joined(parts: Sequence[Fitted], blocks: Sequence[slice]) -> Fitted:
    """The values and the report of all targets from those of blocks, which may be padded.

    What is reported of all targets together, such as the dimensionality of the features, is that of the first block.

    Example:
        >>> parts = [(np.ones((1, 2)), {"alpha": np.ones((1, 2)), "of folds": np.ones(1)})] * 2
        >>> values, report = joined(parts, blocks_of(3, 2))
        >>> values.shape, report["alpha"].shape, report["of folds"].shape
        ((1, 3), (1, 3), (1,))
    """
    widths = [block.stop - block.start for block in blocks]

    def of_all(of_blocks: Sequence[np.ndarray]) -> np.ndarray:
        if of_blocks[0].ndim < parts[0][0].ndim:
            return of_blocks[0]
        return np.concatenate([each[..., :width] for each, width in zip(of_blocks, widths, strict=True)], axis=-1)

    values, reports = zip(*parts, strict=True)
    return of_all(values), {name: of_all([report[name] for report in reports]) for name in reports[0]}


def part_of(fitted: Fitted, block: slice) -> Fitted:
    """The values and the report of a block of targets, from those of all; the inverse of ``joined``.

    Example:
        >>> values, report = part_of((np.eye(3), {"alpha": np.eye(3), "of folds": np.ones(3)}), slice(2))
        >>> values.shape, report["alpha"].shape, report["of folds"].shape
        ((3, 2), (3, 2), (3,))
    """
    values, report = fitted
    of_targets = {name: each[..., block] for name, each in report.items() if each.ndim >= values.ndim}
    return values[..., block], {**report, **of_targets}
