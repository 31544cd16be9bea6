"""Checks of assemblies and scores for the tests of plugins."""

import math
import warnings
from typing import Any

import numpy as np
import xarray as xr

from bsjax.compat.metrics.bootstrap import ERROR_KEY, ERROR_NAN_REASON_KEY, ERROR_OVER_KEY
from bsjax.data import NeuroidAssembly


def check_standard_format(assembly: Any, nans_expected: bool = False) -> None:
    """Check that recordings follow the standard format.

    Raises:
        ValueError: dimensions, identifiers or the stimulus set are missing, or values are NaN unless expected.
    """
    if not isinstance(assembly, xr.DataArray):
        raise ValueError(f"not a NeuroidAssembly as benchmarks need it: it is a {type(assembly).__name__}")
    problems = [] if isinstance(assembly, NeuroidAssembly) else [f"it is a {type(assembly).__name__}"]
    problems += [f"no dimension {dim!r}" for dim in ("presentation", "neuroid") if dim not in assembly.dims]
    problems += [f"no coordinate {name!r}" for name in ("stimulus_id", "neuroid_id") if name not in assembly.coords]
    if "stimulus_set_identifier" not in assembly.attrs:
        problems.append("no attribute 'stimulus_set_identifier'")
    if not nans_expected and bool(np.isnan(assembly.values).any()):
        problems.append("values are NaN")
    if problems:
        raise ValueError(f"not a NeuroidAssembly as benchmarks need it: {'; '.join(problems)}")


def assert_stimulus_identifier_is_cacheable(stimuli_identifier: str) -> None:
    """Do nothing, because activations of every stimulus set are cached by image content."""


def assert_valid_uncertainty(score: Any, require_raw: bool = True, allow_nan_with_reason: bool = True) -> None:
    """Check that a score has a usable error, and warn of possible problems.

    Args:
        score: the score, with its error in ``attrs``.
        require_raw: whether it must have raw values.
        allow_nan_with_reason: whether the error may be NaN if a reason is given.

    Raises:
        AssertionError: the error is unusable; tests expect this type.
    """
    try:
        error = float(score.attrs[ERROR_KEY])
    except (KeyError, TypeError, ValueError):
        raise AssertionError(f"attrs['error'] must be a number, got {score.attrs.get(ERROR_KEY)!r}") from None
    problems = []
    if math.isnan(error):
        if not (allow_nan_with_reason and score.attrs.get(ERROR_NAN_REASON_KEY)):
            problems.append("the error is NaN without an attribute 'error_nan_reason'")
    elif not (math.isfinite(error) and error >= 0):
        problems.append(f"the error must be finite and not negative, got {error}")
    else:
        if score.ndim == 0 and error > max(1.0, 2 * abs(float(score))):
            warnings.warn(f"the error, {error:.3f}, is large for a score of {float(score):.3f}", stacklevel=2)
        if not score.attrs.get(ERROR_OVER_KEY):
            warnings.warn("the score has no attribute 'error_over', the resampled dimensions", stacklevel=2)
    if require_raw and "raw" not in score.attrs:
        problems.append("the score has no attribute 'raw', the values that it aggregates")
    if problems:
        raise AssertionError("; ".join(problems))
