"""A test of whether responses cluster by the object shown, so that stimuli are not independent samples."""

from typing import Any

import numpy as np
import pandas as pd
import scipy
import xarray as xr

from bsjax.core.files import warn_once
from bsjax.labelled.align import STIMULUS

# The coordinate that splits are stratified by.
OBJECT = "object_name"
# Approximate number of neuroids that are tested.
_NEUROIDS = 64
_SIGNIFICANT = 0.01
# With fewer objects, their spread says nothing about other objects.
_FEWEST = 5


def clustered_by(measured: xr.DataArray) -> str | None:
    """The coordinate by which responses cluster significantly; None if they do not.

    Stimuli of one object then have similar effects on the score, and an error that treats them as independent is too
    small. The test compares the variance of responses between objects with that within objects, pooled over neuroids,
    by an F statistic. Its degrees of freedom follow from the effective number of independent neuroids.

    Args:
        measured: responses of neuroids, with or without repetitions. Other data are not tested.

    Warns:
        RuntimeWarning: responses cluster by too few objects to generalise to others; once in a process.

    Source: Anderson 2001, "A new method for non-parametric multivariate analysis of variance".
    """
    named = all(name in measured.coords and measured[name].dims == ("presentation",) for name in (STIMULUS, OBJECT))
    if not named or "neuroid" not in measured.dims or measured.dtype.kind not in "iufb":
        return None
    step = max(1, measured.sizes["neuroid"] // _NEUROIDS)
    some = measured.isel(neuroid=slice(None, None, step)).transpose("presentation", ...)
    flat = np.asarray(some.values, float).reshape(len(some), -1)
    means: Any = pd.DataFrame(flat).groupby(np.asarray(measured[STIMULUS].values)).mean()
    shown: Any = pd.Series(measured[OBJECT].values, np.asarray(measured[STIMULUS].values))
    codes, objects = pd.factorize(shown[~shown.index.duplicated()].reindex(means.index))
    responses = means.to_numpy()[:, np.isfinite(means.to_numpy()).all(axis=0)]
    n, count = len(responses), len(objects)
    deviations = responses.std(axis=0)
    responses = responses[:, deviations > 0]
    if not 1 < count < n or not responses.size:
        return None
    scaled = (responses - responses.mean(axis=0)) / deviations[deviations > 0]
    covariance = scaled.T @ scaled
    neuroids = np.trace(covariance) ** 2 / np.sum(covariance**2)
    sums = np.stack([np.bincount(codes, column, count) for column in scaled.T])
    between = np.sum(sums**2 / np.bincount(codes, minlength=count))
    within = max(np.trace(covariance) - between, np.finfo(float).tiny)
    ratio = between / (count - 1) / (within / (n - count))
    if scipy.special.fdtrc(neuroids * (count - 1), neuroids * (n - count), ratio) > _SIGNIFICANT:
        return None
    if count < _FEWEST:
        warn_once(
            f"responses cluster by {OBJECT}, of which there are {count}: errors and intervals over the stimuli hold "
            f"for other stimuli of these {count} alone, and are too small for others. Record at least {_FEWEST}, or "
            f"say that no others are meant by Resampling(strata={OBJECT!r}), --resample stimuli/{OBJECT}",
        )
        return None
    return OBJECT
