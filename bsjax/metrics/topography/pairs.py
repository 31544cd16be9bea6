"""Pairs of units: correlations, distances, the smoothness of a map of tuning, and the cost of wiring."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from bsjax.engine.precision import at_full_precision
from bsjax.metrics.arrays import Features, PerStimulus, Scalar
from bsjax.metrics.correlation import pearson
from bsjax.metrics.numerics import deviations, divide_or_nan, safe_sqrt

Positions = Float[Array, "p 2"]
Pairs = Float[Array, "p p"]
PairMask = Bool[Array, "p p"]


def unit_correlations(x: Features, weights: PerStimulus | None = None) -> tuple[Pairs, PairMask]:
    """Correlations over stimuli of all pairs of units, and a mask of pairs of which neither is constant."""
    centred = deviations(x, None if weights is None else weights[:, None] > 0, axis=0)
    values, squares = centred.values, centred.squares
    if weights is not None:
        values = (values - (weights @ values / jnp.sum(weights))[None]) * safe_sqrt(weights)[:, None]
        squares = jnp.sum(values**2, axis=0, keepdims=True)
    units = values / jnp.sqrt(jnp.where(centred.constant, 1.0, squares))
    varied = ~centred.constant[0]
    return jnp.clip(units.T @ units, -1.0, 1.0), varied[:, None] & varied[None, :]


def distances(positions: Positions) -> Pairs:
    """Euclidean distances of all pairs of positions."""
    x, y = positions.T
    return safe_sqrt((x[:, None] - x[None, :]) ** 2 + (y[:, None] - y[None, :]) ** 2)


def of_two(units: int, where: PairMask | None) -> PairMask:
    """A mask of the pairs that count: two different units, and True in ``where``."""
    different = ~jnp.eye(units, dtype=bool)
    return different if where is None else different & where


@at_full_precision
def tuning_smoothness(
    x: Features, positions: Positions, *, where: PairMask | None = None, weights: PerStimulus | None = None
) -> Scalar:
    r"""Correlation of the difference in tuning with the distance on the cortical surface, over pairs of units.

    .. math:: \mathrm{corr}_{i < j} \bigl(1 - r_{ij},\ |p_i - p_j|\bigr)

    :math:`r_{ij}` is the correlation of the responses of two units over stimuli. The value is positive if neighbours
    respond alike. If units exchange their positions at random, it is 0 on average.

    Args:
        x: responses ``(stimuli, units)``; constant units form no pairs.
        positions: ``(units, 2)`` on the cortical surface, e.g. in mm, in the dtype of ``x``.
        where: ``(units, units)``, True where a pair counts, e.g. of the same subject; all if None.
        weights: of the stimuli, ``(stimuli,)``, such as how often a draw holds each; all 1 if None.

    Returns:
        A scalar in [-1, 1] in the dtype of the inputs; NaN where differences or distances are constant, and with fewer
        than two pairs.

    Source: Margalit et al. 2024, "A unifying framework for functional organization in early and higher ventral visual
    cortex" (TDANN).

    Example:
        >>> import jax.numpy as jnp
        >>> import numpy as np
        >>> places, stimuli = np.linspace(0, 1, 9), np.linspace(0, 1, 30)[:, None]
        >>> tuned = jnp.asarray(np.exp(-((stimuli - places) ** 2) / 0.1))
        >>> bool(tuning_smoothness(tuned, jnp.asarray(np.stack([places, 0 * places], 1))) > 0.8)
        True
    """
    correlations, varied = unit_correlations(x, weights)
    counted = of_two(len(positions), where) & varied
    return pearson(1.0 - correlations.ravel(), distances(positions).ravel(), axis=0, where=counted.ravel())


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
