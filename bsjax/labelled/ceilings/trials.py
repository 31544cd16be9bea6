"""Single trials from rows into an array of repetitions, for the ceilings that halve them."""

from typing import NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from bsjax.labelled.align import STIMULUS, coordinate, listed


class Trials(NamedTuple):
    """Single trials of stimuli that need not have the same repetitions.

    Attributes:
        values: ``(repetitions, stimuli, ...)``, both in sorted order; NaN where there is no trial.
        there: ``(repetitions, stimuli)``, True where a trial exists.
        stimuli: their identifiers, in that order.
    """

    values: np.ndarray
    there: np.ndarray
    stimuli: np.ndarray

    @property
    def balanced(self) -> bool:
        """Whether all stimuli have the same repetitions."""
        return bool(self.there.all())


def by_repetition(assembly: xr.DataArray, split_coord: str, stimulus_coord: str = STIMULUS) -> Trials:
    """Trials by repetition and stimulus; a presentation without a single value did not happen.

    Args:
        assembly: (presentation, ...), one row per trial.
        split_coord: the coordinate of the repetitions, on presentation.
        stimulus_coord: the coordinate of the stimuli, on presentation.

    Raises:
        ValueError: a coordinate is missing, a trial is there twice, or nothing is repeated.
    """
    stimuli = coordinate(assembly, stimulus_coord, "presentation", "assembly")
    repetitions = coordinate(assembly, split_coord, "presentation", "assembly")
    values = np.asarray(assembly.values, float)
    measured = ~np.isnan(values).all(axis=tuple(range(1, values.ndim)))
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
    there = np.zeros(len(labels) * len(ids), bool)
    there[cell] = True
    trials = _in_cells(values if measured.all() else values[measured], cell, len(there))
    there = there.reshape(len(labels), len(ids))
    if not (there.sum(axis=0) > 1).any():
        raise ValueError(f"a ceiling needs repeated stimuli: no stimulus has two values of {split_coord!r}")
    return Trials(trials.reshape(*there.shape, *values.shape[1:]), there, np.asarray(ids))


def _in_cells(rows: np.ndarray, cell: np.ndarray, cells: int) -> np.ndarray:
    """Every row in its cell and NaN in the others; rows that are in order and leave none out are not copied."""
    if np.array_equal(cell, np.arange(cells)):
        return rows
    filled = np.full((cells, *rows.shape[1:]), np.nan)
    filled[cell] = rows
    return filled
