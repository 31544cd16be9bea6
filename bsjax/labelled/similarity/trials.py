"""Arrangement of single trials by repetition and stimulus, for RDMs and ceilings of repeated measurements."""

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import jax
import numpy as np
import pandas as pd
import xarray as xr

from bsjax.core.given_arrays import unmasked
from bsjax.data.types.array_blocks import cut
from bsjax.engine.memory_limit import neuroids_at_a_time, taken_by
from bsjax.engine.precision import in_dtype, precision
from bsjax.engine.programs.compilation import compiled
from bsjax.engine.transfers import to_host
from bsjax.labelled.aggregate import over_neuroids
from bsjax.labelled.align import STIMULUS, TIME_BIN, coordinate, listed, require, two_dimensional
from bsjax.labelled.metric import Metric
from bsjax.labelled.score import Score
from bsjax.metrics.ceilings.consistency import FEWEST_STIMULI

# Number of values that are checked at a time.
_LOOKED_AT = 1 << 20
# Number of values of trials in a block of neuroids: more would take much memory, and no less time.
_IN_BLOCK = 1 << 23


@dataclass(frozen=True)
class Trials:
    """Single trials of stimuli that need not have the same repetitions.

    Attributes:
        rows: ``(presentations, ...)``, as given.
        measured: True for the rows that hold a trial.
        cell: for each trial, its position in the flattened (repetitions, stimuli).
        mask: ``(repetitions, stimuli)``, True where a trial exists.
        stimuli: identifiers of the stimuli, sorted.
        whole: whether all values of all trials are finite.
    """

    rows: np.ndarray
    measured: np.ndarray
    cell: np.ndarray
    mask: np.ndarray
    stimuli: np.ndarray
    whole: bool

    @property
    def balanced(self) -> bool:
        """Whether all stimuli have the same repetitions."""
        return bool(self.mask.all())

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape of ``values``, without computing them."""
        repetitions, stimuli = self.mask.shape
        return repetitions, stimuli, math.prod(self.rows.shape[1:])

    @cached_property
    def values(self) -> np.ndarray:
        """``(repetitions, stimuli, columns)``, repetitions and stimuli sorted; NaN where there is no trial."""
        return self.columns(slice(None))

    def columns(self, part: slice) -> np.ndarray:
        """``values`` of some neuroids, without a copy if the rows are complete and sorted."""
        rows = self.rows[..., part]
        if not self.measured.all():
            rows = rows[self.measured]
        if not np.array_equal(self.cell, np.arange(self.mask.size)):
            filled = np.full((self.mask.size, *rows.shape[1:]), np.nan, rows.dtype)
            filled[self.cell] = rows
            rows = filled
        return rows.reshape(*self.mask.shape, -1)

    def repeated(self) -> int:
        """Number of stimuli with at least two trials."""
        return int((self.mask.sum(axis=0) > 1).sum())


def as_trials(given: Any, split_coord: str) -> xr.DataArray:
    """Single trials with labels: an assembly as it is, or an array labelled by numbers.

    Args:
        given: an assembly, or an array ``(repetitions, stimuli, neuroids)``, optionally with time bins last, and with
            NaN where a stimulus was shown less often.
        split_coord: the coordinate of the repetitions.

    Raises:
        ValueError: an array of another shape, or with masked values.

    Warns:
        UserWarning: an array with more repetitions than stimuli, whose axes may be exchanged.

    Example:
        >>> dict(as_trials(np.zeros((2, 3, 4)), "repetition").sizes)
        {'presentation': 6, 'neuroid': 4}
    """
    if isinstance(given, xr.DataArray):
        return given
    values = np.asarray(unmasked(given, "the array of trials"))
    if values.ndim not in (3, 4):
        raise ValueError(
            "single trials are an assembly, or an array (repetitions, stimuli, neuroids) or (repetitions, stimuli, "
            f"neuroids, time bins); got one of shape {values.shape}"
        )
    repetitions, stimuli, *units = values.shape
    if repetitions > stimuli:
        warnings.warn(
            f"an array of single trials is (repetitions, stimuli, neuroids[, time bins]): this one, of shape "
            f"{values.shape}, has {repetitions} repetitions of {stimuli} stimuli. If it is the other way round, pass "
            "array.swapaxes(0, 1)",
            stacklevel=4,
        )
    coords = {
        STIMULUS: ("presentation", np.tile(np.arange(stimuli), repetitions)),
        split_coord: ("presentation", np.repeat(np.arange(repetitions), stimuli)),
    }
    dims = ["presentation", "neuroid", TIME_BIN][: values.ndim - 1]
    return xr.DataArray(values.reshape(-1, *units), coords, dims)


def by_repetition(assembly: xr.DataArray, split_coord: str, stimulus_coord: str = STIMULUS) -> Trials:
    """Trials by repetition and stimulus; a presentation without any value counts as not shown.

    Args:
        assembly: (presentation, ...), one row per trial.
        split_coord: the coordinate of the repetitions, on presentation.
        stimulus_coord: the coordinate of the stimuli, on presentation.

    Raises:
        ValueError: a coordinate is missing, a trial is repeated, or nothing is repeated.
    """
    require(assembly, {"presentation": [stimulus_coord, split_coord]}, "assembly")
    stimuli = coordinate(assembly, stimulus_coord, "presentation", "assembly")
    repetitions = coordinate(assembly, split_coord, "presentation", "assembly")
    rows = np.asarray(assembly.values)
    rows = rows if rows.dtype.kind == "f" else rows.astype(float)
    measured, whole = _looked_at(rows)
    column, ids = pd.factorize(stimuli[measured], sort=True)
    row, labels = pd.factorize(repetitions[measured], sort=True)
    cell = row * len(ids) + column
    repeated = pd.Index(cell).duplicated()
    if repeated.any():
        twice = pd.unique(stimuli[measured][repeated])
        raise ValueError(
            f"assembly holds the same {split_coord} more than once for {listed(twice, stimulus_coord)}: "
            "number the repetitions of each stimulus, or select one condition"
        )
    mask = np.zeros(len(labels) * len(ids), bool)
    mask[cell] = True
    trials = Trials(rows, measured, cell, mask.reshape(len(labels), len(ids)), np.asarray(ids), whole)
    if not trials.repeated():
        raise ValueError(f"repeated stimuli are needed: no stimulus has two values of {split_coord!r}")
    return trials


def whole_trials(given: Any, split_coord: str, what: str = "target") -> Trials:
    """``by_repetition`` of trials that all have all neuroids.

    Args:
        given, split_coord: as for ``as_trials``.
        what: its name in messages.

    Raises:
        ValueError: a coordinate is missing, a trial is repeated or lacks neuroids, or nothing is repeated.
    """
    trials = by_repetition(two_dimensional(as_trials(given, split_coord), what), split_coord)
    if not trials.whole:
        lost = np.flatnonzero(~np.isfinite(trials.rows[trials.measured]).all(axis=0))
        raise ValueError(
            f"trials of {what} lack values of {listed(lost, 'neuroids (by position)')}, and this comparison needs all "
            "neuroids of a trial: drop those neuroids, or those trials"
        )
    return trials


def of_neuroids(
    metric: Metric, kernel: Callable[..., Any], trials: Trials, *beside: np.ndarray
) -> tuple[list[Any], np.ndarray]:
    """The results of a kernel of trials per neuroid, computed in blocks of neuroids that fit in memory.

    The second result is a mask of the neuroids with at least ``FEWEST_STIMULI`` repeated stimuli.

    Args:
        metric: the metric whose dtype is used.
        kernel: takes the arrays in ``beside``, then trials ``(repetitions, stimuli, units)`` and their mask.
        trials, beside: the single trials, and arrays whose last axis is the neuroids.

    Raises:
        ValueError: a single neuroid needs more memory than is available.
    """
    *cells, width = trials.shape
    program = compiled(kernel)
    found, enough = [], []
    with precision(metric.dtype) as dtype:

        def takes(units: int) -> int:
            shapes = [jax.ShapeDtypeStruct((*each.shape[:-1], units), dtype) for each in beside]
            shapes += [jax.ShapeDtypeStruct((*cells, units), kind) for kind in (dtype, np.dtype(bool))]
            return taken_by(program, shapes) + math.prod(shapes[-1].shape) * trials.rows.itemsize

        most = min(width, max(_IN_BLOCK // math.prod(cells), 1))
        units = neuroids_at_a_time(takes, most, f"{metric.identifier} of {trials.shape[1]:,} stimuli")
        blocks = -(-width // units)
        for part in cut([width], -(-width // blocks)):  # of equal size, which share a program
            values = trials.columns(part)
            finite = np.isfinite(values)
            enough.append((finite.sum(axis=0) > 1).sum(axis=0) >= FEWEST_STIMULI)
            given = [in_dtype(each, dtype) for each in (*(each[..., part] for each in beside), values)]
            found.append(jax.tree.leaves(to_host(program(*given, finite))))
    return [np.concatenate(parts, axis=-1) for parts in zip(*found, strict=True)], np.concatenate(enough)


def too_few_repeated(trials: Trials, fewest: int = FEWEST_STIMULI) -> str | None:
    """Why a ceiling with few repeated stimuli is undefined; None if there are enough."""
    repeated = trials.repeated()
    return None if repeated >= fewest else f"the ceiling takes {fewest} repeated stimuli, there are {repeated}"


def median_over_neuroids(
    metric: Metric, raw: np.ndarray, coords: Mapping[str, Any], trials: Trials, formula: str
) -> Score:
    """The median over neuroids of one value each, with its error from a bootstrap over neuroids."""
    made = metric.provenance(reason=too_few_repeated(trials))
    return replace(over_neuroids(raw, coords, made), formula=formula)


def _looked_at(rows: np.ndarray) -> tuple[np.ndarray, bool]:
    """A mask of the rows with any value, and whether these rows are all finite; checked in blocks."""
    step = max(1, _LOOKED_AT // max(1, math.prod(rows.shape[1:])))
    measured, whole = np.zeros(len(rows), bool), True
    for start in range(0, len(rows), step):
        part = rows[start : start + step].reshape(len(rows[start : start + step]), -1)
        given = ~np.isnan(part).all(axis=1)
        measured[start : start + step] = given
        whole = whole and bool(np.isfinite(part[given]).all())
    return measured, whole
