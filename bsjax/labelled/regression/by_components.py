"""PLS regression, scored at every number of components."""

import numpy as np
import xarray as xr

from bsjax.labelled.aggregate import NEUROID, SPLIT, neuroid_coords
from bsjax.labelled.align import two_dimensional
from bsjax.labelled.regression.crossvalidation import CrossValidatedRegression
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
