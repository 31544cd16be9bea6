"""Spectral analysis of how a target aligns with the dimensions of a source, and of what a regression can learn."""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
import xarray as xr

from bsjax.engine.precision import precision
from bsjax.engine.programs.compilation import compiled
from bsjax.labelled.aggregate import neuroid_coords
from bsjax.labelled.align import aligned, finite_values, two_dimensional
from bsjax.labelled.settings import finite_number, whole_number
from bsjax.metrics.similarity import alignment_spectrum as kernels

_CURVE = 20


def alignment_spectrum(
    source: xr.DataArray,
    target: xr.DataArray,
    n_train: Sequence[int] | None = None,
    alpha: float = 1.0,
    dtype: str | None = None,
) -> xr.Dataset:
    """The share of each neuroid's variance along each mode of the source, and the learning curve that follows.

    Two sources can have the same score for different reasons: the target may lie along few strong modes, or along many
    weak modes that are learned. ``cumulative`` is the share of the target in the first modes; ``predicted_error`` is
    the error of ridge regression after a number of training stimuli. The prediction treats the stimuli as the
    population from which training stimuli are drawn. It agrees with cross-validation for up to about half of the
    stimuli. For more it is too optimistic, because noise lies along the modes of all stimuli too.

    Args:
        source, target: (presentation, neuroid) with ``stimulus_id``, the same stimuli on both sides, in any order.
        n_train: numbers of training stimuli; by default 20 numbers from 2 to half of the stimuli.
        alpha: penalty of the ridge regression, as in the metric ``ridge``; 0 for least squares.
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

    Returns:
        A dataset with the dimensions ``mode`` (from 1, in descending order), ``neuroid`` and ``n_train``:
        ``eigenvalue`` (mode), the variance of the source along each mode; ``share`` and ``cumulative`` (mode, neuroid)
        of each neuroid's variance; ``beyond`` (neuroid), the share along no mode; ``learnability`` (n_train, mode), the
        learned share of a mode; ``predicted_error`` (n_train, neuroid), the expected squared error for a new stimulus
        relative to the variance, 1 minus R²; ``error_by_mode`` (n_train, mode), the average contribution of each mode.
        The attributes ``source_dimensionality`` and ``target_dimensionality`` are participation ratios.

    Raises:
        ValueError: stimuli differ or repeat, values are NaN, fewer than 2 training stimuli, or a negative penalty.

    Source: Canatar, Feather, Wakhloo & Chung 2023; Elmoznino & Bonner 2024.

    Example:
        >>> ids = {"stimulus_id": ("presentation", list("abcd"))}
        >>> source = xr.DataArray([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]], ids, ["presentation", "neuroid"])
        >>> target = xr.DataArray([[2.0], [-2.0], [1.0], [-1.0]], ids, ["presentation", "neuroid"])
        >>> alignment_spectrum(source, target)["share"].values.round(2).tolist()
        [[0.8], [0.2]]
    """
    source, target = two_dimensional(source, "source"), two_dimensional(target, "target")
    x, y = finite_values(aligned(source, target), "source"), finite_values(target, "target")
    n = len(target)
    numbers = np.unique(np.linspace(2, max(n // 2, 2), _CURVE).astype(int)) if n_train is None else np.asarray(n_train)
    counts = [whole_number(number, "n_train", 2) for number in np.atleast_1d(numbers).tolist()]
    with precision(dtype) as computed:
        sides = [jnp.asarray(values, computed) for values in (x, y)]
        spectrum = compiled(kernels.alignment_spectrum)(*sides)
        predicted = compiled(kernels.predicted_errors)(
            spectrum, jnp.asarray(counts, computed), jnp.asarray(finite_number(alpha, "alpha"), computed)
        )
        dimensions = [float(compiled(kernels.effective_dimensionality)(values)) for values in sides]
    shares = np.asarray(spectrum.shares)
    return xr.Dataset(
        {
            "eigenvalue": ("mode", np.asarray(spectrum.eigenvalues)),
            "share": (("mode", "neuroid"), shares),
            "cumulative": (("mode", "neuroid"), np.cumsum(shares, axis=0)),
            "beyond": ("neuroid", 1 - shares.sum(axis=0)),
            "learnability": (("n_train", "mode"), np.asarray(predicted.learnability)),
            "predicted_error": (("n_train", "neuroid"), np.asarray(predicted.error)),
            "error_by_mode": (("n_train", "mode"), np.asarray(predicted.by_mode)),
        },
        {"mode": np.arange(1, len(shares) + 1), "n_train": counts, **neuroid_coords(target)},
        {"source_dimensionality": dimensions[0], "target_dimensionality": dimensions[1], "alpha": float(alpha)},
    )
