"""Noise-ceiling SNR: signal and noise variance of each unit, from the variances over stimuli and over trials."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from bsjax.engine.precision import at_full_precision
from bsjax.metrics.numerics import deviations, divide_or_nan, safe_sqrt


class TrialMoments(NamedTuple):
    """Mean over the trials of each stimulus, and the variance of single trials about it.

    Attributes:
        means: ``(stimuli, units)``; 0 where a unit has no trial of a stimulus.
        seen: True where a unit has a trial of a stimulus.
        inverse: 1 over the number of trials, the share of the noise variance left in the average; 0 where not seen.
        noise: ``(units,)``, unbiased pooled variance of single trials about the mean of their stimulus; NaN where no
            stimulus is repeated.
    """

    means: Float[Array, "n u"]
    seen: Bool[Array, "n u"]
    inverse: Float[Array, "n u"]
    noise: Float[Array, " u"]


class Variances(NamedTuple):
    """Variances of signal and noise of each unit.

    Attributes:
        signal: variance over stimuli of the noise-free response; unbiased, and therefore sometimes negative.
        noise: variance over trials of one stimulus.
        left: share of the noise variance left in the averages, the mean over stimuli of 1 / trials.
        stimuli: number of stimuli of the unit.
    """

    signal: Float[Array, " u"]
    noise: Float[Array, " u"]
    left: Float[Array, " u"]
    stimuli: Float[Array, " u"]


def trial_moments(trials: Float[Array, "r n u"], present: Bool[Array, "r n u"]) -> TrialMoments:
    """Mean over the trials of each stimulus, and the noise variance about it.

    Args:
        trials: single trials ``(repetitions, stimuli, units)``; values that are not present are ignored.
        present: True where a trial exists; stimuli may have different numbers of trials.
    """
    within = deviations(jnp.where(present, trials, 0.0), present, axis=0)
    counts = within.n[0]
    seen = counts > 0
    spare = jnp.sum(jnp.maximum(counts - 1.0, 0.0), axis=0)
    noise = divide_or_nan(jnp.sum(within.values**2, axis=(0, 1)), spare, spare == 0)
    inverse = jnp.where(seen, 1.0 / jnp.maximum(counts, 1.0), 0.0)
    return TrialMoments(jnp.where(seen, within.mean[0], 0.0), seen, inverse, noise)


@at_full_precision
def signal_and_noise_variances(trials: Float[Array, "r n u"], present: Bool[Array, "r n u"]) -> Variances:
    r"""Unbiased variances of signal and noise; stimuli may have different numbers of trials.

    The noise variance :math:`\sigma^2` pools the squared deviations of trials from the mean of their stimulus over
    :math:`\sum_i (n_i - 1)` degrees of freedom. The expected variance of the means over stimuli, with ``ddof`` 1, is
    the signal variance plus :math:`\sigma^2` times the mean of :math:`1 / n_i`; this noise term is subtracted.

    Args:
        trials: single trials ``(repetitions, stimuli, units)``; values that are not present are ignored.
        present: True where a trial exists.

    Returns:
        Variances in the squared unit of the trials. The signal variance is NaN where no stimulus is repeated, or with
        fewer than two stimuli.

    Source: Allen et al. 2022.

    Example:
        >>> import jax.numpy as jnp
        >>> trials = jnp.array([[[0.0], [3.0], [5.0]], [[2.0], [5.0], [3.0]]])
        >>> signal, noise, *_ = signal_and_noise_variances(trials, jnp.ones((2, 3, 1), bool))
        >>> print(signal.round(3), noise)
        [2.] [2.]
    """
    moments = trial_moments(trials, present)
    between = deviations(moments.means, moments.seen, axis=0)
    stimuli = between.n[0]
    variance = divide_or_nan(jnp.sum(between.values**2, axis=0), stimuli - 1.0, stimuli < 2)
    left = divide_or_nan(jnp.sum(moments.inverse, axis=0), stimuli, stimuli == 0)
    return Variances(variance - moments.noise * left, moments.noise, left, stimuli)


@at_full_precision
def noise_ceiling_snr(trials: Float[Array, "r n u"], present: Bool[Array, "r n u"]) -> Float[Array, " u"]:
    r"""Noise-ceiling SNR of each unit: standard deviation of the signal over that of the noise of a single trial.

    It is :math:`\sqrt{\max(s^2, 0) / \sigma^2}`, with the signal variance :math:`s^2` and the noise variance
    :math:`\sigma^2` of ``signal_and_noise_variances``. Clipping at zero biases it upwards for units that hardly
    respond; otherwise its expectation does not depend on the number of trials.

    Args:
        trials, present: as for ``signal_and_noise_variances``.

    Returns:
        ``(units,)``; infinite for a unit whose responses repeat exactly. NaN for a constant unit, without repeated
        stimuli, and with fewer than two stimuli.

    Source: Allen et al. 2022 ("ncsnr"). Their signal variance is the total variance of z-scored trials minus the noise
    variance, which has the same expectation with many stimuli.

    Example:
        >>> import jax.numpy as jnp
        >>> trials = jnp.array([[[0.0], [3.0], [5.0]], [[2.0], [5.0], [3.0]]])
        >>> print(noise_ceiling_snr(trials, jnp.ones((2, 3, 1), bool)).round(3))
        [1.]
    """
    signal, noise, *_ = signal_and_noise_variances(trials, present)
    positive, exact = signal > 0, noise == 0
    ratio = jnp.where(positive, signal, 0.0) / jnp.where(exact, 1.0, noise)
    snr = jnp.where(positive & exact, jnp.inf, safe_sqrt(ratio))
    return jnp.where(jnp.isnan(signal) | (exact & ~positive), jnp.nan, snr)


def noise_ceiling(snr: Float[Array, "*shape"], left: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    r"""Share of the variance of an average of trials that is signal: :math:`s^2 / (s^2 + 1/n)`.

    Args:
        snr: noise-ceiling SNR.
        left: 1 over the number of trials averaged; its mean over stimuli if stimuli have different numbers.

    Returns:
        In [0, 1]: the highest squared correlation of a noise-free model with the averages, and the expected
        correlation of two such averages.

    Source: Allen et al. 2022, in per cent there.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{noise_ceiling(jnp.array(0.26), jnp.array(1 / 3)):.3f}")
        0.169
    """
    # Computed from the inverse, which is finite for an infinite SNR.
    silent = snr == 0
    ceiling = 1.0 / (1.0 + left / jnp.where(silent, 1.0, snr) ** 2)
    return jnp.where(silent, 0.0, ceiling)


@at_full_precision
def reliability_of_averages(
    trials: Float[Array, "r n u"], present: Bool[Array, "r n u"], trials_averaged: float | None = None
) -> Float[Array, " u"]:
    r"""Reliability of each unit's average over trials, by analysis of variance: :math:`s^2 / (s^2 + \sigma^2 / n)`.

    It equals ``noise_ceiling`` of ``noise_ceiling_snr``. It estimates the same quantity as split halves with the
    Spearman-Brown correction, but uses all trials at once, without random halves. Stimuli may have different numbers of
    trials.

    Args:
        trials, present: as for ``signal_and_noise_variances``.
        trials_averaged: number of trials n of the average. If None, the trials present: :math:`1/n` is then the mean
            over stimuli.

    Returns:
        ``(units,)`` in [0, 1]; 0 where noise alone explains the variance over stimuli, NaN as for
        ``noise_ceiling_snr``.

    Source: Allen et al. 2022.

    Example:
        >>> import jax.numpy as jnp
        >>> trials = jnp.array([[[0.0], [3.0], [5.0]], [[2.0], [5.0], [3.0]]])
        >>> print(f"{reliability_of_averages(trials, jnp.ones((2, 3, 1), bool))[0]:.3f}")
        0.667
    """
    return share_of_signal(signal_and_noise_variances(trials, present), trials_averaged)


def share_of_signal(
    variances: Variances, trials_averaged: float | None = None, bounded: bool = True
) -> Float[Array, " u"]:
    """``reliability_of_averages`` from the variances; unless bounded, negative for a negative signal variance."""
    left = variances.left if trials_averaged is None else jnp.full_like(variances.left, 1.0 / trials_averaged)
    signal = jnp.maximum(variances.signal, 0.0) if bounded else variances.signal
    total = signal + variances.noise * left
    return divide_or_nan(signal, total, ~(total > 0))
