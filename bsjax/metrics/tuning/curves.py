"""Common steps in the analysis of tuning curves: smoothing, spline interpolation, and the flanks of the peak.

A curve is smoothed by a short filter and interpolated by a cubic spline. Both are linear in the measured values;
together they are a constant matrix, computed once for each set of stimuli. A single matrix product serves all units.
"""

from functools import cache
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

Levels = tuple[float, ...]
"""Ascending values of a stimulus parameter; a tuple (hashable), because compiled kernels depend on the values."""

PerUnit = Float[Array, " units"]
"""One number for each unit."""

BANDWIDTH_LEVEL = 0.707
"""Fraction of the peak at which the width of a curve is measured: half power."""

_CUBIC = 3


class Flanks(NamedTuple):
    """The samples nearest to the peak of a curve at which it has fallen off.

    Attributes:
        left, right: ``(units,)``, indices of these samples.
        undefined: ``(units,)``, True where a side has no such sample, or the peak is not positive.
    """

    left: Int[Array, " units"]
    right: Int[Array, " units"]
    undefined: Bool[Array, " units"]


@cache
def spline_matrix(points: Levels, at: Levels) -> np.ndarray:
    """Matrix from values at ``points`` to samples of their interpolating cubic spline ``at`` other positions.

    The third derivative of the spline is continuous at the second and the penultimate point ("not-a-knot"), as for
    SciPy's ``UnivariateSpline`` without smoothing. Outside the points, the spline is extrapolated.

    Args:
        points: positions of the values, ascending, at least four.
        at: positions of the samples.

    Returns:
        ``(at, points)`` in float64, cached and read-only.

    Raises:
        ValueError: there are fewer than four points, or they are not ascending.

    Example:
        >>> cubes = np.arange(5.0) ** 3
        >>> print((spline_matrix((0.0, 1.0, 2.0, 3.0, 4.0), (0.5, 5.0)) @ cubes).round(6))
        [  0.125 125.   ]
    """
    if len(points) <= _CUBIC or not (np.diff(points) > 0).all():
        raise ValueError(f"a cubic spline needs four ascending points or more, got {list(points)}")
    from scipy.interpolate import make_interp_spline  # imported here because the import is slow

    matrix = make_interp_spline(points, np.eye(len(points)), k=_CUBIC)(at)
    matrix.flags.writeable = False
    return matrix


def smoothing_matrix(count: int, neighbour: float) -> np.ndarray:
    """Matrix that averages each of ``count + 2`` values, except the first and the last, with its two neighbours.

    Args:
        count: number of averages.
        neighbour: weight of each neighbour relative to the value itself; weights are normalised to sum 1.

    Example:
        >>> print(smoothing_matrix(2, 0.5) @ [0.0, 0.0, 4.0, 8.0])
        [1. 4.]
    """
    weights = np.array([neighbour, 1.0, neighbour]) / (1.0 + 2.0 * neighbour)
    return np.sum([weight * np.eye(count, count + 2, k) for k, weight in enumerate(weights)], axis=0)


def flanks(samples: Float[Array, "units samples"], peak: Int[Array, " units"]) -> Flanks:
    """The nearest sample on each side of the peak that is at most 0.707 of the peak.

    Args:
        samples: a finely sampled curve for each unit.
        peak: index of the peak of each unit.

    Example:
        >>> import jax.numpy as jnp
        >>> print(flanks(jnp.array([[0.0, 5.0, 9.0, 10.0, 8.0, 7.0, 0.0]]), jnp.array([3]))[:2])
        (Array([1], dtype=int32), Array([5], dtype=int32))
    """
    count = samples.shape[1]
    height = jnp.take_along_axis(samples, peak[:, None], axis=1)
    place = jnp.arange(count, dtype=peak.dtype)[None, :]
    low = samples <= BANDWIDTH_LEVEL * height
    left = jnp.max(jnp.where(low & (place < peak[:, None]), place, -1), axis=1)
    right = jnp.min(jnp.where(low & (place > peak[:, None]), place, count), axis=1)
    return Flanks(left, right, (left < 0) | (right == count) | ~(height[:, 0] > 0))


def selective(widths: PerUnit, curves: Float[Array, "units levels"]) -> PerUnit:
    """1 for a unit whose width is defined, 0 for one whose curve never falls off, NaN where the curve has a NaN.

    Example:
        >>> import jax.numpy as jnp
        >>> widths, curves = jnp.array([20.0, jnp.nan, jnp.nan]), jnp.array([[1.0, 9.0], [3.0, 3.0], [1.0, jnp.nan]])
        >>> print(selective(widths, curves))
        [ 1.  0. nan]
    """
    return nan_without_curve((~jnp.isnan(widths)).astype(curves.dtype), curves)


def nan_without_curve(values: PerUnit, curves: Float[Array, "units levels"]) -> PerUnit:
    """``values``, with NaN for units whose curve has a NaN, which the position of a peak would hide."""
    return jnp.where(jnp.isnan(curves).any(axis=1), jnp.full_like(values, jnp.nan), values)
