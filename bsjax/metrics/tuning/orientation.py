"""Orientation tuning: selectivity, bandwidth and preferred orientation.

Orientations are in degrees, evenly spaced over [0, 180). A curve holds the response to each orientation, in any unit.
"""

from functools import cache

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from bsjax.engine.precision import at_full_precision
from bsjax.metrics.numerics import divide_or_nan
from bsjax.metrics.tuning.curves import Levels, PerUnit, flanks, nan_without_curve, smoothing_matrix, spline_matrix
from bsjax.metrics.tuning.gratings import modulus

_PERIOD = 180
_SAMPLES = tuple(float(degree) for degree in range(-_PERIOD, 2 * _PERIOD))
_BROAD, _NARROW = 0.4, 0.2  # weights of a neighbour in the filters, relative to the orientation itself
_LAST_BIN = 157.5  # orientations from here on count as negative ones


@at_full_precision
def circular_variance(curves: Float[Array, "units orientations"], *, orientations: Levels) -> PerUnit:
    r"""Circular variance: one minus the normalised length of the response vector, with doubled angles.

    .. math:: 1 - \frac{|\sum_k r_k e^{2 i \theta_k}|}{\sum_k |r_k|}

    Args:
        curves: responses to each orientation.
        orientations: :math:`\theta_k`, in degrees.

    Returns:
        0 for a response to a single orientation, 1 for equal responses to all; NaN for a curve of zeros.

    Source: Ringach, Shapley & Hawken 2002.

    Example:
        >>> import jax.numpy as jnp
        >>> curves = jnp.array([[0.0, 8.0, 0.0, 0.0], [3.0, 3.0, 3.0, 3.0]])
        >>> print(circular_variance(curves, orientations=(0.0, 45.0, 90.0, 135.0)).round(3))
        [0. 1.]
    """
    angles = 2 * np.deg2rad(orientations)
    cosine, sine = (curves @ jnp.asarray(wave, curves.dtype) for wave in (np.cos(angles), np.sin(angles)))
    total = jnp.sum(jnp.abs(curves), axis=1)
    return 1.0 - divide_or_nan(modulus(cosine, sine), total, total == 0)


def orthogonal_preferred_ratio(curves: Float[Array, "units orientations"]) -> PerUnit:
    """Ratio of the response to the orthogonal orientation to that to the preferred orientation.

    Args:
        curves: responses to each orientation. The orthogonal one is half the number of orientations away.

    Returns:
        At most 1; NaN where no response is positive.

    Source: Ringach, Shapley & Hawken 2002.

    Example:
        >>> import jax.numpy as jnp
        >>> print(orthogonal_preferred_ratio(jnp.array([[2.0, 5.0, 8.0, 5.0]])))
        [0.25]
    """
    count = curves.shape[1]
    orthogonal = (jnp.argmax(curves, axis=1) + count // 2) % count
    height = jnp.max(curves, axis=1)
    ratio = jnp.take_along_axis(curves, orthogonal[:, None], axis=1)[:, 0]
    return divide_or_nan(ratio, height, ~(height > 0))


@at_full_precision
def half_bandwidth(curves: Float[Array, "units orientations"], *, orientations: Levels) -> PerUnit:
    r"""Half bandwidth: half the width of the smoothed curve at :math:`1/\sqrt 2` of its peak, in degrees.

    The curve is repeated over three periods, smoothed with the weights 0.4, 1, 0.4 (divided by 1.8) and interpolated by
    a cubic spline at every degree from -180 to 359. The width extends from the peak in [0, 179] to the nearest degree
    on each side at which the curve is at most 0.707 of the peak.

    Args:
        curves: responses to each orientation.
        orientations: in degrees, ascending, at least two.

    Returns:
        Half widths in steps of half a degree. NaN where the curve does not fall that low, where the full width exceeds
        180 degrees, and where no response is positive. Gradients are zero, because the width is a number of samples.

    Source: Ringach, Shapley & Hawken 2002; the interpolation: Marques, Schrimpf & DiCarlo 2021.

    Example:
        >>> import jax.numpy as jnp
        >>> theta = jnp.arange(0.0, 180.0, 15.0)
        >>> curves = jnp.exp(2.0 * jnp.cos(2.0 * jnp.deg2rad(theta - 60.0)))[None]
        >>> print(half_bandwidth(curves, orientations=tuple(theta.tolist())))
        [20.]
    """
    samples = curves @ jnp.asarray(_sampled(tuple(orientations), _BROAD), curves.dtype).T
    left, right, undefined = flanks(samples, jnp.argmax(samples[:, _PERIOD : 2 * _PERIOD], axis=1) + _PERIOD)
    width = right - left
    return jnp.where(undefined | (width > _PERIOD), jnp.nan, width.astype(curves.dtype) / 2.0)


@at_full_precision
def preferred_orientation(curves: Float[Array, "units orientations"], *, orientations: Levels) -> PerUnit:
    """Preferred orientation: the position of the peak of the smoothed curve, in degrees.

    The curve is smoothed and interpolated as for ``half_bandwidth``, with the weights 0.2, 1, 0.2 (divided by 1.4).
    Orientations of 157.5 degrees and more are returned as negative ones, so that orientations around 0 are contiguous.

    Args:
        curves: responses to each orientation.
        orientations: in degrees, ascending, at least two.

    Returns:
        A whole number of degrees from -22 to 157; NaN for a curve with a NaN. Gradients are zero.

    Source: De Valois, Yund & Hepler 1982; the interpolation: Marques, Schrimpf & DiCarlo 2021.

    Example:
        >>> import jax.numpy as jnp
        >>> theta = jnp.arange(0.0, 180.0, 15.0)
        >>> curves = 1.0 + jnp.cos(2.0 * jnp.deg2rad(theta[None, :] - jnp.array([[65.0], [170.0]])))
        >>> print(preferred_orientation(curves, orientations=tuple(theta.tolist())))
        [ 65. -10.]
    """
    samples = curves @ jnp.asarray(_sampled(tuple(orientations), _NARROW), curves.dtype).T
    degrees = jnp.argmax(samples[:, _PERIOD : 2 * _PERIOD], axis=1).astype(curves.dtype)
    return nan_without_curve(jnp.where(degrees >= _LAST_BIN, degrees - _PERIOD, degrees), curves)


@cache
def _sampled(orientations: Levels, neighbour: float) -> np.ndarray:
    """Matrix from a curve to its samples at every degree: it repeats, smooths and interpolates the curve."""
    if len(orientations) < 2:
        raise ValueError(f"a curve needs two orientations or more, got {list(orientations)}")
    # Values outside the three periods are zero, as in the published definition; this affects the outermost points only.
    repeated = np.pad(np.tile(np.eye(len(orientations)), (3, 1)), ((1, 1), (0, 0)))
    smooth = smoothing_matrix(3 * len(orientations), neighbour) @ repeated
    points = np.add.outer((-_PERIOD, 0, _PERIOD), orientations).ravel()
    return spline_matrix(tuple(points.tolist()), _SAMPLES) @ smooth
