"""Dissimilarity matrices as assemblies, for plugins that use their parts."""

from typing import Any

import numpy as np
from scipy.stats import spearmanr

from bsjax.compat.assemblies import DataAssembly, walk_coords
from bsjax.compat.metrics.regression import Defaults


class RDM:
    """One minus the correlation of the responses to each pair of stimuli; both dimensions have the same name.

    Args:
        neuroid_dim: the dimension of neuroids.
    """

    def __init__(self, neuroid_dim: str = Defaults.neuroid_dim) -> None:
        self._neuroid_dim = neuroid_dim

    def __call__(self, assembly: Any) -> DataAssembly:
        """The matrix of two-dimensional responses, with the coordinates of the stimuli.

        Raises:
            ValueError: the dimensions differ.
        """
        others = [dim for dim in assembly.dims if dim != self._neuroid_dim]
        if len(assembly.dims) != 2 or len(others) != 1:
            raise ValueError(
                f"expected responses of {self._neuroid_dim!r} and one other dimension, got {assembly.dims}"
            )
        (dim,) = others
        values = assembly.values if assembly.dims[-1] == self._neuroid_dim else assembly.values.T
        coords = {name: (dims, each) for name, dims, each in walk_coords(assembly) if dims in ((), (dim,))}
        return DataAssembly(1 - np.corrcoef(values), coords=coords, dims=[dim, dim])


class RDMSimilarity:
    """Spearman correlation of the upper triangles of two matrices.

    Args:
        comparison_coord: coordinate of the stimuli, by which rows are matched.
    """

    def __init__(self, comparison_coord: str = Defaults.stimulus_coord) -> None:
        self._comparison_coord = comparison_coord

    def __call__(self, rdm_assembly1: Any, rdm_assembly2: Any) -> float:
        """The correlation.

        Raises:
            ValueError: the stimuli of the matrices differ, or a matrix is not one of dissimilarities.
        """
        sides = []
        for rdm in (rdm_assembly1, rdm_assembly2):
            diagonal = np.diag(rdm.values) if rdm.ndim == 2 and len(set(rdm.shape)) == 1 else np.ones(1)
            # NaN on the diagonal belongs to a stimulus without variance.
            if not np.allclose(np.nan_to_num(diagonal), 0, atol=1e-6):
                raise ValueError(
                    f"expected a square matrix of dissimilarities, 0 on its diagonal, got the shape {rdm.shape}"
                )
            names = rdm[self._comparison_coord].values
            order = np.argsort(names, kind="stable")
            sides.append((names[order], rdm.values[np.ix_(order, order)][np.triu_indices(len(order), 1)]))
        (names, one), (others, two) = sides
        if not np.array_equal(names, others):
            raise ValueError(f"both matrices must be of the same stimuli, by {self._comparison_coord!r}")
        correlation: Any = spearmanr(one, two)
        return float(correlation[0])
