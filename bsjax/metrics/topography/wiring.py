"""The length of wiring between units on the cortical surface."""

import jax.numpy as jnp

from bsjax.engine.precision import at_full_precision
from bsjax.metrics.arrays import Features, PerStimulus, Scalar
from bsjax.metrics.numerics import divide_or_nan
from bsjax.metrics.topography.pairs import PairMask, Pairs, Positions, distances, of_two, unit_correlations


def wiring_length(weights: Pairs, positions: Positions, *, where: PairMask | None = None) -> Scalar:
    r"""Mean length of the connections between units, weighted by their strength.

    .. math:: \frac{\sum_{i \ne j} |w_{ij}|\, |p_i - p_j|}{\sum_{i \ne j} |w_{ij}|}

    Args:
        weights: strength of each connection, ``(units, units)``; from any unit to any other, not necessarily symmetric.
        positions: ``(units, 2)`` on the cortical surface, in the dtype of the weights.
        where: ``(units, units)``, True where a pair counts; all if None.

    Returns:
        A scalar in the unit of the positions, e.g. mm; NaN without connections.

    Source: Margalit et al. 2024 (wiring length of TDANN); Chklovskii, Schikorski & Stevens 2002.

    Example:
        >>> places = jnp.array([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0]])
        >>> print(wiring_length(jnp.array([[0.0, 3.0, 1.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]), places))
        1.5
    """
    strength = jnp.where(of_two(len(positions), where), jnp.abs(weights), 0.0)
    total = jnp.sum(strength)
    return divide_or_nan(jnp.sum(strength * distances(positions)), total, total == 0)


@at_full_precision
def wiring_economy(
    x: Features, positions: Positions, *, where: PairMask | None = None, weights: PerStimulus | None = None
) -> Scalar:
    r"""How much shorter the wiring between units that respond alike is than that between any units.

    .. math:: 1 - \frac{L(w)}{L(1)},\quad w_{ij} = \max(r_{ij}, 0)

    L is the ``wiring_length``, where units are connected by their correlation over stimuli if it is positive. L(1) is
    its mean if units exchange their positions at random.

    Args:
        x: responses ``(stimuli, units)``; constant units have no connections.
        positions, where: as in ``wiring_length``, in the dtype of ``x``.
        weights: of the stimuli, ``(stimuli,)``, such as how often a draw holds each; all 1 if None.

    Returns:
        At most 1; 0 on average for shuffled positions, and negative if units that respond alike are far apart. NaN
        where no units that count are correlated, or all are in one place.

    Source: Margalit et al. 2024; Koulakov & Chklovskii 2001, "Orientation preference patterns in mammalian visual
    cortex: a wire length minimization approach".

    Example:
        >>> import numpy as np
        >>> places, stimuli = np.linspace(0, 1, 9), np.linspace(0, 1, 30)[:, None]
        >>> tuned = jnp.asarray(np.exp(-((stimuli - places) ** 2) / 0.1))
        >>> bool(wiring_economy(tuned, jnp.asarray(np.stack([places, 0 * places], 1))) > 0.2)
        True
    """
    correlations, varied = unit_correlations(x, weights)
    counted = varied if where is None else varied & where
    found = wiring_length(jnp.maximum(correlations, 0.0), positions, where=counted)
    any_wiring = wiring_length(jnp.ones_like(correlations), positions, where=counted)
    return 1.0 - divide_or_nan(found, any_wiring, any_wiring == 0)
