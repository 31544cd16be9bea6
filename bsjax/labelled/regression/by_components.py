"""PLS regression, scored at every number of components."""

from collections.abc import Mapping as MappingABC
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import xarray as xr

from bsjax.labelled.aggregate import NEUROID, SPLIT, neuroid_coords, of_splits, over_splits
from bsjax.labelled.align import STIMULUS, finite_values, order_of, reordered, two_dimensional
from bsjax.labelled.regression.crossvalidation import (
    FEWER,
    CrossValidatedRegression,
    ReversePredictivity,
    check_sizes,
    check_strata,
)
from bsjax.labelled.regression.mappings import pls
from bsjax.labelled.score import Score
from bsjax.metrics import Mapping, cross_validate_by_components, make_folds

COMPONENT = "component"


@dataclass(frozen=True)
class PLSByComponents(CrossValidatedRegression):
    """Cross-validated PLS regression, scored by Pearson correlation at every number of components, from one fit.

    The score has one value for each number of components, from 1 to that of the mapping: the mean over splits of the
    median over neuroids. ``raw`` has one correlation per split, number of components and neuroid.

    Args:
        mapping: PLS with the largest number of components.
        identifier, crossvalidation_kwargs, dtype, settings: as in ``CrossRegressedCorrelation``.

    Source: Wold 1975.
    """

    called = "{}_by_components"

    mapping: Mapping
    identifier: str = ""
    crossvalidation_kwargs: MappingABC[str, Any] | None = field(default=None, hash=False)
    dtype: str | None = None
    settings: Any = field(default=None, hash=False)

    def __call__(self, source: xr.DataArray, target: xr.DataArray) -> Score:
        """Scores how well ``source`` predicts ``target`` with each number of components.

        Args:
            source, target: as for ``CrossRegressedCorrelation``.

        Raises:
            ValueError: as for ``CrossRegressedCorrelation``.
        """
        source, target = two_dimensional(source, "source"), two_dimensional(target, "target")
        order = order_of(source, target, target_repeats=self.crossvalidation.unique_split_values)
        splits, n = self.crossvalidation.of(target), len(target)
        check_sizes(self.mapping, source, *(min(len(rows) for rows in part) for part in zip(*splits, strict=True)))
        source = reordered(source, order)
        check_strata(source, target, self.crossvalidation.stratification_coord)
        x, y = finite_values(source, "source"), finite_values(target, "target")
        what = f"{self.identifier} of {n:,} stimuli, {x.shape[1]:,} features and {y.shape[1]:,} neuroids"
        folds = make_folds(n, splits)
        raw = self.run(cross_validate_by_components, x, y, folds, takes=what, advice=FEWER, mapping=self.mapping)
        coords = neuroid_coords(target) | {COMPONENT: (COMPONENT, np.arange(1, raw.shape[1] + 1))}
        shared = of_splits(splits, target[STIMULUS].values)
        return over_splits(raw, coords, self.provenance(), dims=(SPLIT, COMPONENT, NEUROID), shared=shared)


def pls_by_components(
    crossvalidation_kwargs: MappingABC[str, Any] | None = None,
    *,
    n_components: int = 25,
    solver: Literal["converged", "nipals"] = "converged",
    dtype: str | None = None,
) -> PLSByComponents:
    """PLS scored at each number of components up to ``n_components``; settings as for ``pls``."""
    return PLSByComponents(pls(n_components, solver), "pls_by_components", crossvalidation_kwargs, dtype)


def reverse_pls_by_components(
    crossvalidation_kwargs: MappingABC[str, Any] | None = None,
    *,
    n_components: int = 25,
    solver: Literal["converged", "nipals"] = "converged",
    dtype: str | None = None,
) -> ReversePredictivity:
    """``pls_by_components`` from neuroids to model units."""
    name = "reverse_pls_by_components"
    return ReversePredictivity(PLSByComponents(pls(n_components, solver), name, crossvalidation_kwargs, dtype))
