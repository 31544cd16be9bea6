"""Noise-ceiling SNR: the part of a unit's response that repeats, from the variances over stimuli and over trials."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from bsjax.engine.precision import at_full_precision
from bsjax.metrics.numerics import deviations, divide_or_nan, safe_sqrt


class TrialMoments(NamedTuple):
    """Averages of the trials of each stimulus and the variance of single trials about them.

    Attributes:
        means: ``(stimuli, units)``; 0 where a unit has no trial of a stimulus.
        seen: True where it has one.
        inverse: 1 over the number of trials, the share of the noise variance that an average keeps; 0 where not seen.
        noise: ``(units,)`` pooled variance of single trials about the mean of their stimulus, unbiased; NaN where no
            stimulus is repeated.
    """

    means: Float[Array, "n u"]
    seen: Bool[Array, "n u"]
    inverse: Float[Array, "n u"]
    noise: Float[Array, " u"]


class Variances(NamedTuple):
    """Variances of signal and noise of each unit.

    Attributes:
        signal: over stimuli, of the response without noise; unbiased, and so negative where chance has it.
        noise: over trials of one stimulus.
        left: share of the noise variance that is left in the averages, the mean over stimuli of 1 / trials.
        stimuli: how many stimuli the unit has.
    """

    signal: Float[Array, " u"]
    noise: Float[Array, " u"]
    left: Float[Array, " u"]
    stimuli: Float[Array, " u"]


def trial_moments(trials: Float[Array, "r n u"], present: Bool[Array, "r n u"]) -> TrialMoments:
    """Averages over the trials of each stimulus, and the noise about them.

    Args:
        trials: single trials ``(repetitions, stimuli, units)``; what is not present may hold anything.
        present: True where a trial exists; stimuli may have different numbers of them.
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
    r"""Unbiased variances of signal and noise, from trials that need not be equally many for all stimuli.

    The noise variance :math:`\sigma^2` pools the squared deviations of trials from their stimulus's mean over
    :math:`\sum_i (n_i - 1)` degrees of freedom. The variance over stimuli of the means, with ``ddof`` 1, is expected to
    be that of the signal plus :math:`\sigma^2` times the mean of :math:`1 / n_i`, which is taken off.

    Args:
        trials: single trials ``(repetitions, stimuli, units)``; what is not present may hold anything.
        present: True where a trial exists.

    Returns:
        Variances in the squared unit of the trials. The signal's is NaN where no stimulus is repeated, or fewer than
        two stimuli are there.

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

    :math:`\sqrt{\max(s^2, 0) / \sigma^2}` of ``signal_and_noise_variances``. The clipping at zero makes it too large on
    average for units that hardly respond; it is otherwise independent of how many trials there are.

    Args:
        trials, present: as for ``signal_and_noise_variances``.

    Returns:
        ``(units,)``; infinite for a unit that repeats exactly, NaN for one that is constant, of which nothing is
        repeated, or that has fewer than two stimuli.

    Source: Allen et al. 2022 ("ncsnr"). There the signal variance is the total of z-scored trials less the noise, which
    has the same expectation with many stimuli.

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
        left: 1 over the number of trials that are averaged; where stimuli have different numbers, the mean of that.

    Returns:
        In [0, 1]: the highest squared correlation that a model without noise can have with the averages, and the
        correlation that two such averages have with one another.

    Source: Allen et al. 2022, who give it in per cent.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{noise_ceiling(jnp.array(0.26), jnp.array(1 / 3)):.3f}")
        0.169
    """
    # Of the inverse, which is finite where the SNR is not.
    silent = snr == 0
    ceiling = 1.0 / (1.0 + left / jnp.where(silent, 1.0, snr) ** 2)
    return jnp.where(silent, 0.0, ceiling)


@at_full_precision
def reliability_of_averages(
    trials: Float[Array, "r n u"], present: Bool[Array, "r n u"], trials_averaged: float | None = None
) -> Float[Array, " u"]:
    r"""Reliability of each unit's average over trials, by analysis of variance: :math:`s^2 / (s^2 + \sigma^2 / n)`.

    ``noise_ceiling`` of ``noise_ceiling_snr``. It estimates what split halves with the Spearman-Brown correction do,
    from all pairs of trials at once and without random halves; it takes ragged trials as they are.

    Args:
        trials, present: as for ``signal_and_noise_variances``.
        trials_averaged: of an average of so many trials; None for those that there are, where :math:`1/n` is the mean
            over stimuli.

    Returns:
        ``(units,)`` in [0, 1]; 0 where the variance over stimuli is no larger than noise explains, NaN as
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
    """``reliability_of_averages`` from the variances; below 0 where that of the signal is, if it is not bounded."""
    left = variances.left if trials_averaged is None else jnp.full_like(variances.left, 1.0 / trials_averaged)
    signal = jnp.maximum(variances.signal, 0.0) if bounded else variances.signal
    total = signal + variances.noise * left
    return divide_or_nan(signal, total, ~(total > 0))
