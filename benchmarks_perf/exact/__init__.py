"""Exact answers in float64 NumPy and SciPy: slow, plain, and independent of what is measured.

An answer is ``{"score": ..., "raw": ...}``, as the workers give it; ``raw`` only where a score has one. Where all would
take minutes, ``"of"`` says which entries of the first axis of either were computed.
"""

from .behaviour import i2n
from .regression import (
    Fit,
    alpha_per_target,
    banded_ridge,
    crossvalidated,
    layers,
    least_squares,
    neuron_to_neuron,
    pls,
    ridge,
    ridgecv_split,
    spantime_ridge,
)
from .similarity import (
    bootstraps,
    cca,
    cka,
    internal_consistency,
    procrustes,
    rdm,
    rdm_of_trials,
    searchlight,
    similarity_matrix,
)

__all__ = [
    "Fit",
    "alpha_per_target",
    "banded_ridge",
    "bootstraps",
    "cca",
    "cka",
    "crossvalidated",
    "i2n",
    "internal_consistency",
    "layers",
    "least_squares",
    "neuron_to_neuron",
    "pls",
    "procrustes",
    "rdm",
    "rdm_of_trials",
    "ridge",
    "ridgecv_split",
    "searchlight",
    "similarity_matrix",
    "spantime_ridge",
]
