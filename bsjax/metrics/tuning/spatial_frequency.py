"""Spatial frequency tuning: preferred frequency and bandwidth.
Spatial frequencies are in cycles per degree, evenly spaced in octaves.
"""

from functools import cache

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from bsjax.engine.precision import at_full_precision
from bsjax.metrics.tuning.curves import Levels, PerUnit, flanks, nan_without_curve, smoothing_matrix, spline_matrix

_SAMPLES = 100
_NEIGHBOUR = 0.2  # weight of a neighbour in the filter, relative to the frequency itself


@at_full_precision
def peak_spatial_frequency(curves: Float[Array, "units frequencies"], *, frequencies: Levels) -> PerUnit:
    """Preferred spatial frequency: the position of the peak of the smoothed curve, in cycles per degree.

    The curve is smoothed with the weights 0.2, 1, 0.2 (divided by 1.4), with its outermost values repeated. A cubic
    spline over the logarithm of the frequency interpolates it at 100 points from the lowest to the highest frequency.

    Args:
        curves: responses to each frequency.
        frequencies: in cycles per degree, ascending, at least four.

    Returns:
        One of the 100 frequencies for each unit; NaN for a curve with a NaN. Gradients are zero.

    Source: De Valois, Albrecht & Thorell 1982; the interpolation: Marques, Schrimpf & DiCarlo 2021.

    Example:
        >>> import jax.numpy as jnp
        >>> octaves = jnp.arange(-2.0, 4.0, 0.5)
        >>> curves = jnp.exp(-((octaves - 1.0) ** 2))[None]
        >>> print(peak_spatial_frequency(curves, frequencies=tuple((2.0**octaves).tolist())).round(2))
        [2.]
    """
    matrix, octaves = _sampled(tuple(frequencies))
    samples = curves @ jnp.asarray(matrix, curves.dtype).T
    peaks = jnp.take(jnp.asarray(np.exp2(octaves), curves.dtype), jnp.argmax(samples, axis=1))
    return nan_without_curve(peaks, curves)


@at_full_precision
def spatial_frequency_bandwidth(curves: Float[Array, "units frequencies"], *, frequencies: Levels) -> PerUnit:
    r"""Bandwidth: the frequency at the lower flank of the smoothed curve, in percent of that at the upper flank.

    The curve is sampled as in ``peak_spatial_frequency``. The flanks are the samples nearest to the peak at which the
    curve is at most 0.707 of the peak.

    Args:
        curves: responses to each frequency.
        frequencies: in cycles per degree, ascending, at least four.

    Returns:
        Percent, close to 100 for the narrowest tuning; NaN where a flank is missing or the peak is not positive.
        Gradients are zero.

    Source: Schiller, Finlay & Volman 1976; the interpolation: Marques, Schrimpf & DiCarlo 2021.

    Example:
        >>> import jax.numpy as jnp
        >>> octaves = jnp.arange(-2.0, 4.0, 0.5)
        >>> curves = jnp.exp(-((octaves - 1.0) ** 2))[None]
        >>> print(spatial_frequency_bandwidth(curves, frequencies=tuple((2.0**octaves).tolist())).round(1))
        [39.7]
    """
    matrix, octaves = _sampled(tuple(frequencies))
    samples = curves @ jnp.asarray(matrix, curves.dtype).T
    left, right, undefined = flanks(samples, jnp.argmax(samples, axis=1))
    # Samples are evenly spaced in octaves: the ratio depends only on the distance between them.
    step = (octaves[-1] - octaves[0]) / (_SAMPLES - 1)
    ratio = 100.0 * jnp.exp2(float(step) * (left - right).astype(curves.dtype))
    return jnp.where(undefined, jnp.full_like(ratio, jnp.nan), ratio)


@cache
def _sampled(frequencies: Levels) -> tuple[np.ndarray, np.ndarray]:
    """Matrix from a curve to its smoothed and interpolated samples, and their positions in octaves."""
    octaves = np.log2(frequencies)
    at = np.linspace(octaves[0], octaves[-1], _SAMPLES)
    extended = np.pad(np.eye(len(octaves)), ((1, 1), (0, 0)), mode="edge")
    smooth = smoothing_matrix(len(octaves), _NEIGHBOUR) @ extended
    return spline_matrix(tuple(octaves.tolist()), tuple(at.tolist())) @ smooth, at
