"""Responses to gratings: what they have of a mean and a modulation, and the curve through the preferred grating."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from bsjax.engine.precision import at_full_precision
from bsjax.metrics.numerics import safe_sqrt


class Preferred(NamedTuple):
    """Each unit's greatest response and the curve through it.

    Attributes:
        curve: ``(units, levels)``, the responses along one axis of the grid, all else as preferred.
        height: ``(units,)``, the greatest response.
        place: ``(units,)``, its position in the flattened grid; the first one of equals.
    """

    curve: Float[Array, "units levels"]
    height: Float[Array, " units"]
    place: Int[Array, " units"]


def modulus(a: Float[Array, "*shape"], b: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    r"""The length :math:`\sqrt{a^2 + b^2}`, with a zero gradient where it is zero.

    Example:
        >>> import jax.numpy as jnp
        >>> print(modulus(jnp.array([3.0, 0.0]), jnp.array([4.0, 0.0])))
        [5. 0.]
    """
    return safe_sqrt(a**2 + b**2)


@at_full_precision
def phase_components(
    responses: Float[Array, "*stimuli phases"],
) -> tuple[Float[Array, "*stimuli"], Float[Array, "*stimuli"]]:
    r"""How much a response to gratings has of a mean (DC) and of a modulation by the phase (AC).

    .. math:: DC = \frac{1}{n} \sum_k r_k, \qquad AC = \frac{2}{n} \Bigl| \sum_k r_k e^{-2 \pi i k / n} \Bigr|

    Args:
        responses: to ``n >= 2`` evenly spaced phases, ascending, on the last axis.

    Returns:
        DC and AC, in the unit of the responses. A response ``a + b cos(phase)`` has ``DC = a`` and ``AC = |b|`` from
        three phases on.

    Raises:
        ValueError: there is one phase only.

    Source: Skottun et al. 1991.

    Example:
        >>> import jax.numpy as jnp
        >>> print(*phase_components(jnp.array([5.0, 3.0, 1.0, 3.0])))
        3.0 2.0
    """
    phases = responses.shape[-1]
    if phases < 2:
        raise ValueError(f"a modulation by the phase needs responses to two phases or more, got {phases}")
    angles = 2 * np.pi * np.arange(phases) / phases
    cosine, sine = (responses @ jnp.asarray(wave, responses.dtype) for wave in (np.cos(angles), np.sin(angles)))
    return jnp.mean(responses, axis=-1), modulus(cosine, sine) * (2.0 / phases)


def preferred(responses: Float[Array, "units *grid last"], axis: int) -> Preferred:
    """The greatest response of each unit over a grid of stimuli, and the curve through it along one axis.

    Args:
        responses: unit by stimulus parameters, one axis each.
        axis: of the grid, counted from 0 without the axis of the units.

    Example:
        >>> import jax.numpy as jnp
        >>> best = preferred(jnp.array([[[1.0, 2.0, 3.0], [7.0, 9.0, 8.0]]]), axis=1)
        >>> print(best.curve, best.height, best.place)
        [[7. 9. 8.]] [9.] [4]
    """
    units, *grid = responses.shape
    flat = responses.reshape(units, -1)
    place = jnp.argmax(flat, axis=1)
    others = list(jnp.unravel_index(place, grid))
    del others[axis]
    curve = jnp.moveaxis(responses, axis + 1, -1)[(jnp.arange(units), *others)]
    return Preferred(curve, jnp.max(flat, axis=1), place)
