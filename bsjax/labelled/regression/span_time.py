"""Regression with weights shared by all time bins, scored in each bin."""

from typing import Any

import xarray as xr

from bsjax.labelled.aggregate import NEUROID, SPLIT, coords_on
from bsjax.labelled.align import TIME_BIN, at_positions, three_dimensional
from bsjax.labelled.regression.crossvalidation import CrossValidatedRegression
from bsjax.labelled.score import Score
from bsjax.metrics import cross_validate_over_time


class SpanTimeCrossRegressedCorrelation(CrossValidatedRegression):
    """Cross-validated regression with one set of weights for all time bins, scored by Pearson correlation in each.

    Every time bin of a stimulus is a sample of the same regression. The score has one value per time bin: the mean over
    splits of the median over neuroids; ``raw`` has one correlation per split, time bin and neuroid.

    Args:
        mapping, identifier, crossvalidation_kwargs, dtype, settings: as in ``CrossRegressedCorrelation``.

    Source: Kar et al. 2019; Brain-Score's ``spantime_pls`` and ``spantime_ridge``.
    """

    called = "spantime_{}"

    def __call__(self, source: xr.DataArray, target: xr.DataArray) -> Score:
        """Scores how well ``source`` predicts ``target`` in each of their time bins.

        Args:
            source, target: (presentation, neuroid, time_bin) with ``stimulus_id`` and the same bins, identified by
                ``time_bin_start`` and ``time_bin_end``.

        Raises:
            ValueError: stimuli or time bins differ, stimuli repeat or are too few, a coordinate is missing, values are
                NaN, or the computation needs more memory than is available.
        """
        source, target = three_dimensional(source, "source"), three_dimensional(target, "target")
        if (order := _order_of_bins(source, target)) is not None:
            source = at_positions(source, {TIME_BIN: order})
        coords = coords_on(target, TIME_BIN, NEUROID)
        return self._over_folds(cross_validate_over_time, source, target, coords, (SPLIT, TIME_BIN, NEUROID))


def _order_of_bins(source: xr.DataArray, target: xr.DataArray) -> list[int] | None:
    """Positions that put the bins of ``source`` in the target's order; None, which saves a copy, if they are."""
    theirs, ours = (list(zip(*_bins(a, what), strict=True)) for a, what in ((target, "target"), (source, "source")))
    if sorted(theirs) != sorted(ours) or len(set(ours)) != len(ours):
        raise ValueError(f"source and target must have the same time bins, once each; source: {ours}, target: {theirs}")
    return None if ours == theirs else [ours.index(interval) for interval in theirs]


def _bins(assembly: xr.DataArray, what: str) -> tuple[list[Any], list[Any]]:
    missing = [name for name in ("time_bin_start", "time_bin_end") if name not in assembly.coords]
    if missing:
        raise ValueError(f"{what} has no coordinate {' and no '.join(missing)} on its time bins")
    return assembly["time_bin_start"].values.tolist(), assembly["time_bin_end"].values.tolist()
