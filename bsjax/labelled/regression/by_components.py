"""PLS regression, scored at every number of components."""

from collections.abc import Mapping as MappingABC
from typing import Any, Literal

import numpy as np
import xarray as xr

from bsjax.labelled.aggregate import NEUROID, SPLIT, neuroid_coords
from bsjax.labelled.align import two_dimensional
from bsjax.labelled.regression.crossvalidation import CrossValidatedRegression, ReversePredictivity
from bsjax.labelled.regression.mappings import pls
from bsjax.labelled.score import Score
from bsjax.metrics import PLS, cross_validate_by_components

COMPONENT = "component"


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

    mapping: PLS

    def __call__(self, source: xr.DataArray, target: xr.DataArray) -> Score:
        """Scores how well ``source`` predicts ``target`` with each number of components.

        Args:
            source, target: as for ``CrossRegressedCorrelation``.

        Raises:
            ValueError: as for ``CrossRegressedCorrelation``.
        """
        source, target = two_dimensional(source, "source"), two_dimensional(target, "target")
        coords = neuroid_coords(target) | {COMPONENT: (COMPONENT, np.arange(1, self.mapping.n_components + 1))}
        return self._over_folds(cross_validate_by_components, source, target, coords, (SPLIT, COMPONENT, NEUROID))


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
