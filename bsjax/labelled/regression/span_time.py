"""Regression with weights shared by all time bins, scored in each bin."""

from collections.abc import Mapping as MappingABC
from dataclasses import dataclass, field
from typing import Any

import xarray as xr

from bsjax.labelled.aggregate import coords_on, of_splits, over_splits
from bsjax.labelled.align import STIMULUS, TIME_BIN, at_positions, finite_values, order_of, reordered, three_dimensional
from bsjax.labelled.regression.crossvalidation import FEWER, CrossValidatedRegression, check_sizes, check_strata
from bsjax.labelled.score import Score
from bsjax.metrics import Mapping, cross_validate_over_time, make_folds


@dataclass(frozen=True)
class SpanTimeCrossRegressedCorrelation(CrossValidatedRegression):
    """Cross-validated regression with one set of weights for all time bins, scored by Pearson correlation in each.

    Every time bin of a stimulus is a sample of the same regression. The score has one value per time bin: the mean over
    splits of the median over neuroids; ``raw`` has one correlation per split, time bin and neuroid.

    Args:
        mapping, identifier, crossvalidation_kwargs, dtype, settings: as in ``CrossRegressedCorrelation``.

    Source: Kar et al. 2019; Brain-Score's ``spantime_pls`` and ``spantime_ridge``.
    """

    called = "spantime_{}"

    mapping: Mapping
    identifier: str = ""
    crossvalidation_kwargs: MappingABC[str, Any] | None = field(default=None, hash=False)
    dtype: str | None = None
    settings: Any = field(default=None, hash=False)

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
        order = order_of(source, target, target_repeats=self.crossvalidation.unique_split_values)
        of_bins, n, (width, bins) = _order_of_bins(source, target), len(target), source.shape[1:]
        splits = self.crossvalidation.of(target)
        n_train, n_test = (min(len(rows) for rows in part) for part in zip(*splits, strict=True))
        check_sizes(self.mapping, source, n_train * bins, n_test)
        source = reordered(source, order)
        if of_bins is not None:
            source = at_positions(source, {TIME_BIN: of_bins})
        check_strata(source, target, self.crossvalidation.stratification_coord)
        x, y = finite_values(source, "source"), finite_values(target, "target")
        what = f"{self.identifier} of {n:,} stimuli in {bins} bins, {width:,} features and {target.shape[1]:,} neuroids"
        folds = make_folds(n, splits)
        raw = self.run(cross_validate_over_time, x, y, folds, takes=what, advice=FEWER, mapping=self.mapping)
        coords, dims = coords_on(target, TIME_BIN, "neuroid"), ("split", TIME_BIN, "neuroid")
        return over_splits(raw, coords, self.provenance(), dims=dims, shared=of_splits(splits, target[STIMULUS].values))


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
