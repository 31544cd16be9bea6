"""Size tuning: extent of the receptive field, and surround suppression.

A curve holds the responses to gratings of increasing radius, in spikes per second above the spontaneous rate.
"""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from bsjax.metrics.numerics import divide_or_nan
from bsjax.metrics.tuning.curves import PerUnit

_SUPPRESSED = 0.1  # a unit with no more suppression than this has no surround
_NEAR_PEAK, _NEAR_PLATEAU = 0.95, 0.05


def surround_suppression_index(curves: Float[Array, "units radii"]) -> PerUnit:
    """Suppression index: the drop from the greatest response to that to the largest grating, relative to the greatest.

    Args:
        curves: responses to each radius, ascending.

    Returns:
        0 without suppression, 1 where the largest grating evokes no response; NaN where no response is positive.

    Source: Cavanaugh, Bair & Movshon 2002.

    Example:
        >>> import jax.numpy as jnp
        >>> print(surround_suppression_index(jnp.array([[1.0, 8.0, 10.0, 4.0], [1.0, 2.0, 3.0, 3.0]])))
        [0.6 0. ]
    """
    peak = jnp.max(curves, axis=1)
    return divide_or_nan(peak - curves[:, -1], peak, ~(peak > 0))


def grating_summation_field(curves: Float[Array, "units radii"], radii: Float[Array, " radii"]) -> PerUnit:
    """Grating summation field: diameter of the smallest grating whose response is at least 95 % of the greatest.

    Args:
        curves: responses to each radius.
        radii: ascending, in degrees.

    Returns:
        Degrees; NaN for a unit whose suppression index is at most 0.1. Only the radii have gradients.

    Source: Cavanaugh, Bair & Movshon 2002.

    Example:
        >>> import jax.numpy as jnp
        >>> curves = jnp.array([[1.0, 9.8, 10.0, 4.0], [1.0, 2.0, 3.0, 3.0]])
        >>> print(grating_summation_field(curves, jnp.array([0.5, 1.0, 2.0, 4.0])))
        [ 2. nan]
    """
    near = curves >= _NEAR_PEAK * jnp.max(curves, axis=1, keepdims=True)
    return _diameter(near, curves, radii)


def surround_diameter(curves: Float[Array, "units radii"], radii: Float[Array, " radii"]) -> PerUnit:
    """Surround diameter: that of the smallest grating beyond the peak with a response near that to the largest grating.

    Near means at most 5 % above it.

    Args:
        curves: responses to each radius.
        radii: ascending, in degrees.

    Returns:
        Degrees; NaN for a unit whose suppression index is at most 0.1. Only the radii have gradients.

    Source: Cavanaugh, Bair & Movshon 2002.

    Example:
        >>> import jax.numpy as jnp
        >>> curves = jnp.array([[1.0, 10.0, 4.1, 4.0], [1.0, 2.0, 3.0, 3.0]])
        >>> print(surround_diameter(curves, jnp.array([0.5, 1.0, 2.0, 4.0])))
        [ 4. nan]
    """
    plateau = curves[:, -1:]
    beyond = jnp.arange(curves.shape[1])[None, :] > jnp.argmax(curves, axis=1)[:, None]
    return _diameter(beyond & (curves <= plateau + _NEAR_PLATEAU * jnp.abs(plateau)), curves, radii)


def _diameter(
    reached: Bool[Array, "units radii"], curves: Float[Array, "units radii"], radii: Float[Array, " radii"]
) -> PerUnit:
    """Twice the first radius that meets the criterion; NaN for a unit without suppression."""
    diameter = 2.0 * jnp.take(radii, jnp.argmax(reached, axis=1))
    suppressed = surround_suppression_index(curves) > _SUPPRESSED
    return jnp.where(suppressed, diameter, jnp.full_like(diameter, jnp.nan))
