"""Responses to gratings: mean and modulation over phase, and tuning curves through the preferred grating."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from bsjax.engine.precision import at_full_precision
from bsjax.metrics.numerics import safe_sqrt


class Preferred(NamedTuple):
    """The greatest response of each unit and the tuning curve through it.

    Attributes:
        curve: ``(units, levels)``, responses along one axis of the grid, with all other parameters as preferred.
        height: ``(units,)``, the greatest response.
        place: ``(units,)``, its index in the flattened grid; the first one if several are equal.
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
    r"""Mean (DC) and modulation (AC) of responses to gratings over their phase.

    .. math:: DC = \frac{1}{n} \sum_k r_k, \qquad AC = \frac{2}{n} \Bigl| \sum_k r_k e^{-2 \pi i k / n} \Bigr|

    Args:
        responses: responses to ``n >= 2`` evenly spaced, ascending phases, along the last axis.

    Returns:
        DC and AC, in the unit of the responses. With at least three phases, a response ``a + b cos(phase)`` has
        ``DC = a`` and ``AC = |b|``.

    Raises:
        ValueError: there are fewer than two phases.

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
    """The greatest response of each unit over a grid of stimuli, and the tuning curve through it along one axis.

    Args:
        responses: ``(units, ...)``, with one axis per stimulus parameter.
        axis: axis of the grid for the curve, from 0, not counting the axis of the units.

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
