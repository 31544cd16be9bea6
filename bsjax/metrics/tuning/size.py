"""Size tuning: how far a receptive field reaches, and how strongly its surround suppresses it.

A curve is the response to gratings of growing radius, in spikes per second above the spontaneous rate.
"""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from bsjax.metrics.numerics import divide_or_nan
from bsjax.metrics.tuning.curves import PerUnit

_SUPPRESSED = 0.1  # a unit with no more suppression than this has no surround
_NEAR_PEAK, _NEAR_PLATEAU = 0.95, 0.05


def surround_suppression_index(curves: Float[Array, "units radii"]) -> PerUnit:
    """How much the response to the largest grating lies below the greatest one, as a share of the greatest.

    Args:
        curves: responses to each radius, ascending.

    Returns:
        0 without suppression, 1 where the largest grating leaves no response; NaN where no response is above zero.

    Source: Cavanaugh, Bair & Movshon 2002.

    Example:
        >>> import jax.numpy as jnp
        >>> print(surround_suppression_index(jnp.array([[1.0, 8.0, 10.0, 4.0], [1.0, 2.0, 3.0, 3.0]])))
        [0.6 0. ]
    """
    peak = jnp.max(curves, axis=1)
    return divide_or_nan(peak - curves[:, -1], peak, ~(peak > 0))


def grating_summation_field(curves: Float[Array, "units radii"], radii: Float[Array, " radii"]) -> PerUnit:
    """The diameter of the smallest grating whose response is at least 95 % of the greatest one.

    Args:
        curves: responses to each radius.
        radii: ascending, in degrees.

    Returns:
        Degrees; NaN for a unit whose suppression index is not above 0.1. Gradients reach the radii alone.

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
    """The diameter of the smallest grating beyond the peak whose response is within 5 % of that to the largest one.

    Args:
        curves: responses to each radius.
        radii: ascending, in degrees.

    Returns:
        Degrees; NaN for a unit whose suppression index is not above 0.1. Gradients reach the radii alone.

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
    """Twice the first radius that is reached; NaN for a unit that is not suppressed."""
    diameter = 2.0 * jnp.take(radii, jnp.argmax(reached, axis=1))
    suppressed = surround_suppression_index(curves) > _SUPPRESSED
    return jnp.where(suppressed, diameter, jnp.full_like(diameter, jnp.nan))
