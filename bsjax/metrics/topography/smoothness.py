"""Smoothness of tuning over the cortical surface."""

from bsjax.engine.precision import at_full_precision
from bsjax.metrics.arrays import Features, PerStimulus, Scalar
from bsjax.metrics.correlation import pearson
from bsjax.metrics.topography.pairs import PairMask, Positions, distances, of_two, unit_correlations


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
