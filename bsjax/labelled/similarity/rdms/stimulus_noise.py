"""The covariance of noise between stimuli (``sigma_k``) with its labels, as a setting of a metric."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from bsjax.labelled.align import STIMULUS, matched

SIGMA_K = "sigma_k"


def stimulus_noise(given: Any) -> dict[str, Any] | None:
    """The covariance of noise between stimuli as plain values, which are a setting: ``ids`` and ``values``.

    Args:
        given: variances or covariances, as a pandas table with the ids of the stimuli as index (and columns), or an
            array of stimuli 0, 1, ...; what this function returned; or None.

    Raises:
        ValueError: values are no covariance.

    Example:
        >>> stimulus_noise(pd.Series({"a": 1.0, "b": 0.5}))
        {'ids': ['a', 'b'], 'values': [1.0, 0.5]}
    """
    if given is None:
        return None
    if isinstance(given, Mapping):
        ids, values = given["ids"], np.asarray(given["values"], float)
    elif isinstance(given, pd.DataFrame):
        order = matched(
            given.columns, given.index, (f"columns of {SIGMA_K}", f"rows of {SIGMA_K}"), STIMULUS, "stimuli"
        )
        ids, values = given.index, given.to_numpy(float)[:, order]
    else:
        values = np.asarray(given, float)
        ids = given.index if isinstance(given, pd.Series) else range(len(values))
    square = np.diag(values) if values.ndim == 1 else values
    known = square.shape == (len(ids), len(ids)) and np.isfinite(square).all() and np.allclose(square, square.T)
    if not known or np.linalg.eigvalsh(square)[0] <= 0:
        raise ValueError(
            f"{SIGMA_K} must be variances (stimuli,) or a covariance (stimuli, stimuli) that is symmetric and positive "
            "definite: no variance is 0, and no stimulus is a sum of others"
        )
    return {"ids": [str(each) for each in ids], "values": values.tolist()}


def values_in_order(noise: Mapping[str, Any], ids: Any) -> np.ndarray:
    """The values of ``stimulus_noise`` in the order of stimuli.

    Raises:
        ValueError: stimuli differ.

    Example:
        >>> values_in_order({"ids": ["a", "b"], "values": [1.0, 0.5]}, ["b", "a"])
        array([0.5, 1. ])
    """
    order = matched(noise["ids"], np.asarray(ids).astype(str), (SIGMA_K, "target"), STIMULUS, "stimuli")
    values = np.asarray(noise["values"], float)
    return values[order] if values.ndim == 1 else values[np.ix_(order, order)]
