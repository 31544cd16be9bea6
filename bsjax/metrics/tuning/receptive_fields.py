"""Receptive field maps and centres, from responses to stimuli flashed at the points of a grid."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from bsjax.engine.precision import at_full_precision
from bsjax.metrics.numerics import divide_or_nan


def receptive_field_maps(responses: Float[Array, "y x k n"], blank: Float[Array, " n"]) -> Float[Array, "y x n"]:
    """Receptive field maps: the greatest response at each position, minus the response to a blank image.

    Negative responses and negative differences are set to zero.

    Args:
        responses: responses to ``k`` stimuli at each of ``y`` times ``x`` positions.
        blank: responses to a blank image.

    Source: Marques et al. 2021.

    Example:
        >>> import jax.numpy as jnp
        >>> responses = jnp.array([[[[3.0], [1.0]], [[0.5], [-2.0]]]])
        >>> print(receptive_field_maps(responses, jnp.array([1.0]))[:, :, 0])
        [[2. 0.]]
    """
    driven = jnp.max(jax.nn.relu(responses), axis=2) - jax.nn.relu(blank)[None, None]
    return jax.nn.relu(driven)


@at_full_precision
def receptive_field_centres(
    maps: Float[Array, "y x n"], y: Float[Array, " y"], x: Float[Array, " x"], threshold: float = 0.05
) -> Float[Array, "n 2"]:
    r"""Centre of mass of the receptive field of each unit.

    The receptive field consists of the positions where the response exceeds ``threshold`` times its maximum. The mean
    of grid indices, weighted by responses, is converted to a position by linear interpolation.

    Args:
        maps: non-negative responses at every position, from :func:`receptive_field_maps`.
        y, x: positions along the two axes.
        threshold: fraction of the greatest response.

    Returns:
        ``(y, x)`` of each unit; NaN, with a zero gradient, for a unit without responses.

    Source: Marques et al. 2021.

    Example:
        >>> import jax.numpy as jnp
        >>> maps = jnp.array([[0.0, 3.0, 1.0], [0.0, 0.1, 0.0]])[:, :, None]
        >>> print(receptive_field_centres(maps, jnp.array([0.0, 1.0]), jnp.array([-1.0, 0.0, 1.0])))
        [[0.   0.25]]
    """
    peak = jnp.max(maps, axis=(0, 1))
    weights = jnp.where(maps > threshold * peak[None, None], maps, jnp.zeros_like(maps))
    total = jnp.sum(weights, axis=(0, 1))
    silent = peak <= 0

    def centre(along: Float[Array, "m n"], positions: Float[Array, " m"]) -> Float[Array, " n"]:
        indices = jnp.arange(len(positions), dtype=maps.dtype)
        mean = divide_or_nan(indices @ along, total, silent)
        place = jnp.interp(jnp.where(silent, jnp.zeros_like(mean), mean), indices, positions)
        return jnp.where(silent, jnp.full_like(place, jnp.nan), place)

    return jnp.stack([centre(jnp.sum(weights, axis=1), y), centre(jnp.sum(weights, axis=0), x)], axis=-1)
