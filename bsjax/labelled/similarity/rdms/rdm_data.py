"""Dissimilarity matrices as data: made of responses or single trials, with their labels."""

from typing import Any

import numpy as np
import xarray as xr

from bsjax.data.types.assemblies import RDMAssembly
from bsjax.engine.running import run
from bsjax.labelled.align import STIMULUS, float_values, two_dimensional, unique_ids
from bsjax.labelled.similarity.rdms.subject_responses import LEFT, RIGHT
from bsjax.labelled.similarity.trials import whole_trials
from bsjax.metrics.similarity.rdms.dissimilarities import DISSIMILARITIES, Dissimilarity, dissimilarity_named
from bsjax.metrics.similarity.rdms.noise_covariance import Noise
from bsjax.metrics.similarity.rdms.rdm import rdm
from bsjax.metrics.similarity.rdms.trial_rdms import TRIAL_DISSIMILARITIES, rdm_of_trials


def rdm_of(
    assembly: xr.DataArray,
    dissimilarity: str | Dissimilarity = "correlation",
    noise: Noise | None = "shrinkage_diag",
    split_coord: str = "repetition",
    dtype: str | None = None,
) -> RDMAssembly:
    """The RDM of responses or single trials.

    Args:
        assembly: responses (presentation, neuroid) with ``stimulus_id``. For dissimilarities of trials, a row for each
            trial, with ``split_coord``; a trial has all neuroids or none.
        dissimilarity: of responses, an entry of ``DISSIMILARITIES`` or its name, such as ``"euclidean"``; of single
            trials, ``"mahalanobis"``, ``"crossnobis"`` or ``"poisson_cv"``.
        noise: how the covariance of noise is estimated for ``"mahalanobis"`` and ``"crossnobis"``, see
            ``bsjax.metrics.noise_covariance``; None for the identity.
        split_coord: the coordinate of the repetitions, which are the folds of cross-validated dissimilarities.
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

    Returns:
        (stimulus_left, stimulus_right), with the identifiers of the stimuli on both; those of trials are sorted.

    Raises:
        ValueError: stimuli repeat for a dissimilarity of responses, or none does for one of trials; responses are NaN;
            the dissimilarity is unknown; or the computation needs more memory than is available.

    Source: Kriegeskorte, Mur & Bandettini 2008; Walther et al. 2016 (of trials).

    Example:
        >>> coords = {"stimulus_id": ("presentation", ["a", "b"])}
        >>> responses = xr.DataArray([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]], coords, ["presentation", "neuroid"])
        >>> rdm_of(responses).values.round(3).tolist()
        [[0.0, 2.0], [2.0, 0.0]]
    """
    if (
        isinstance(dissimilarity, str)
        and dissimilarity not in DISSIMILARITIES
        and dissimilarity in TRIAL_DISSIMILARITIES
    ):
        trials = whole_trials(assembly, split_coord)
        ids, arrays, kernel = trials.stimuli, (trials.values, trials.mask), rdm_of_trials
        known: dict[str, Any] = {"dissimilarity": dissimilarity, "noise": noise}
    else:
        assembly = two_dimensional(assembly, "assembly")
        ids, arrays, kernel = unique_ids(assembly, "assembly"), (float_values(assembly, "assembly"),), rdm
        known = {"dissimilarity": dissimilarity_named(dissimilarity)}
    takes = f"the RDM of {len(ids):,} stimuli"
    values = run(kernel, *arrays, dtype=dtype, takes=takes, advice="fewer stimuli", **known)
    coords = {f"{STIMULUS}_left": (LEFT, ids), f"{STIMULUS}_right": (RIGHT, ids)}
    return RDMAssembly(np.asarray(values), coords, [LEFT, RIGHT])
