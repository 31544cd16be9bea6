"""Noise-corrected explained variance: the share of a unit's tuning that a prediction explains."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from bsjax.engine.precision import at_full_precision
from bsjax.engine.tolerances import SIGNAL, rounding
from bsjax.metrics.arrays import Present, Trials
from bsjax.metrics.ceilings.noise_ceiling_snr import trial_moments
from bsjax.metrics.numerics import deviations, divide_or_nan, inverse_root


@at_full_precision
def noise_corrected_r2(prediction: Float[Array, "n u"], trials: Trials, present: Present) -> Float[Array, " u"]:
    r"""Squared correlation of a prediction with a unit's expected responses, estimated from noisy trials.

    Noise increases both the numerator and the denominator of :math:`r^2` between the centred prediction x and the
    centred averages y, by known amounts that are subtracted. For m stimuli, :math:`n_i` trials of each, and the pooled
    variance :math:`\sigma^2` of single trials about the mean of their stimulus:

    .. math::
        \hat r^2 = \frac{(\sum_i x_i y_i)^2 - \sigma^2 \sum_i x_i^2 / n_i}
                        {\sum_i x_i^2 \, \bigl(\sum_i y_i^2 - (m - 1) \, \sigma^2 \, \overline{1 / n}\bigr)}

    Numerator and denominator are unbiased, and their ratio nearly so. Unlike :math:`r^2 / c` with a split-half
    reliability c, it is also accurate for few trials and few stimuli. It assumes that the noise variance is the same
    for all stimuli (take the square root of spike counts first) and that the prediction does not depend on these
    trials. Values are not clipped: about half of the time, a perfect prediction exceeds 1, and one that explains
    nothing is below 0.

    Args:
        prediction: ``(stimuli, units)``, finite.
        trials: single trials ``(repetitions, stimuli, units)``; values that are not present are ignored.
        present: True where a trial exists. A stimulus without a trial is omitted for that unit.

    Returns:
        ``(units,)``. NaN where the prediction is constant, no stimulus is repeated, or noise alone explains the
        variance of the averages.

    Source: Pospisil & Bair 2021, "The unbiased estimation of the fraction of variance explained by a model",
    generalised to different numbers of trials.

    Example:
        >>> import jax.numpy as jnp
        >>> trials = jnp.array([[[0.0], [3.0], [5.0]], [[2.0], [5.0], [3.0]]])
        >>> corrected = noise_corrected_r2(jnp.array([[0.0], [1.0], [2.0]]), trials, jnp.ones((2, 3, 1), bool))
        >>> print(f"{corrected[0]:.3f}")
        0.875
    """
    moments = trial_moments(trials, present)
    x, y = (deviations(values, moments.seen, axis=0) for values in (prediction, moments.means))
    stimuli, power = x.n[0], jnp.sum(y.values**2, axis=0)
    constant = x.constant[0] | (stimuli < 2)
    unknown = jnp.isnan(moments.noise)
    noise = jnp.where(unknown, 0.0, moments.noise)
    # Scaled to unit length before squaring, or float32 would overflow.
    direction = x.values * inverse_root(x.squares[0], ~constant)[None]
    explained = jnp.sum(direction * y.values, axis=0) ** 2
    explained = explained - noise * jnp.sum(direction**2 * moments.inverse, axis=0)
    left = jnp.sum(moments.inverse, axis=0) / jnp.maximum(stimuli, 1.0)
    explainable = power - (stimuli - 1.0) * noise * left
    signal = explainable > rounding(power, SIGNAL) * power
    return divide_or_nan(explained, explainable, constant | unknown | ~signal)
