"""RDMs of single trials: Mahalanobis, crossnobis, Poisson and cross-validated Poisson dissimilarities."""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from bsjax.engine.precision import at_full_precision
from bsjax.metrics.arrays import Trials
from bsjax.metrics.numerics import divide_or_nan, masked_mean
from bsjax.metrics.similarity.rdms.dissimilarities import entry_named, poisson_rates
from bsjax.metrics.similarity.rdms.noise_covariance import Noise, noise_covariance, standardised_by, whitened
from bsjax.metrics.similarity.rdms.rdm import rdm

Shown = Bool[Array, "r n"]
Whiten = Callable[[Array], Array]
Factors = tuple[Float[Array, "r n d"], Float[Array, "r n d"]]


@dataclass(frozen=True)
class TrialDissimilarity:
    """A dissimilarity of stimuli that were shown repeatedly.

    Attributes:
        noise_free: the entry of ``DISSIMILARITIES`` that it estimates, for responses without noise, such as a model's.
        whitens: whether patterns are whitened by the covariance of the noise.
        factors: function of trials, their mask and the whitening of patterns; returns two arrays whose inner product
            over the last axis is the similarity of two trials. Only trials of different folds are then compared. If
            None, ``noise_free`` is taken of the mean over trials.
    """

    noise_free: str
    whitens: bool = False
    factors: Callable[[Array, Array, Whiten], Factors] | None = None


def trial_dissimilarity_named(name: str | TrialDissimilarity) -> TrialDissimilarity:
    """Looks up a dissimilarity in ``TRIAL_DISSIMILARITIES``; a ``TrialDissimilarity`` is returned as it is.

    Raises:
        ValueError: an unknown name; the message lists the known ones.

    Example:
        >>> trial_dissimilarity_named("crossnobis").noise_free
        'sqeuclidean'
    """
    return entry_named(name, TrialDissimilarity, TRIAL_DISSIMILARITIES, "dissimilarity of trials")


@at_full_precision
def rdm_of_trials(
    trials: Trials,
    present: Shown | None = None,
    *,
    dissimilarity: str | TrialDissimilarity = "crossnobis",
    noise: Noise | None = "shrinkage_diag",
    covariance: Float[Array, "u u"] | None = None,
    folds: Int[Array, "r n"] | None = None,
) -> Float[Array, "n n"]:
    r"""The RDM of stimuli that were shown repeatedly, divided by the number of units.

    =============== ==================================================================================================
    ``mahalanobis`` :math:`(m_i - m_j)^T \Sigma^{-1} (m_i - m_j)` of the mean responses; noise makes it larger
    ``crossnobis``  the same, without bias: each product is of trials in different folds
    ``poisson``     :math:`(r_i - r_j)^T (\log r_i - \log r_j)` of the mean rates
    ``poisson_cv``  the same, with each product of trials in different folds
    =============== ==================================================================================================

    For products of different folds, :math:`\bar s_{ij}` is the mean of the similarity of a trial of i and one of j over
    all such pairs of trials, and :math:`d_{ij} = \bar s_{ii} + \bar s_{jj} - 2 \bar s_{ij}`. It is computed from sums:
    the product of sums over all trials, minus that of sums within each fold. Rates are
    :math:`r = (x + 0.1) / 1.1`: a prior of one, with a weight of a tenth of a trial.

    Args:
        trials: ``(repetitions, stimuli, units)``.
        present: True where a trial was recorded; all if None. Stimuli may have different numbers of trials.
        dissimilarity: a name of the table.
        noise: which estimate of :math:`\Sigma` from the trials, see ``noise_covariance``; None for the identity.
            Ignored by Poisson dissimilarities.
        covariance: :math:`\Sigma` itself, e.g. from the residuals of a general linear model, instead of an estimate.
        folds: number of the fold of each trial, below the number of repetitions; by default each repetition is a fold.

    Returns:
        Symmetric ``(stimuli, stimuli)`` in the dtype of the trials, 0 on the diagonal. With products of different folds
        it may be negative. NaN for stimuli without a trial, without trials in two folds where those are needed, or with
        a rate that is not positive; all NaN if :math:`\Sigma` has no inverse.

    Raises:
        ValueError: an unknown dissimilarity, or an unknown estimate of the covariance.

    Source: Walther et al. 2016 (crossnobis, noise normalisation); Schütt et al. 2023 (Poisson).

    Example:
        >>> trials = jnp.array([[[0.0, 1.0], [2.0, 1.0]], [[0.0, 2.0], [4.0, 2.0]]])
        >>> print(rdm_of_trials(trials, noise=None))
        [[0. 4.]
         [4. 0.]]
    """
    measure = trial_dissimilarity_named(dissimilarity)
    present = jnp.ones(trials.shape[:2], bool) if present is None else present
    trials = jnp.where(present[..., None], trials, 0.0)
    means = masked_mean(trials, present[..., None], axis=0)[0]

    def whiten(patterns: Array) -> Array:
        if covariance is not None and measure.whitens:
            return whitened(patterns, covariance)
        if noise is None or not measure.whitens:
            return patterns
        residuals = jnp.where(present[..., None], trials - means, 0.0).reshape(-1, trials.shape[2])
        dof = jnp.sum(present) - jnp.sum(jnp.any(present, axis=0))
        estimate = noise_covariance(residuals, method=noise, where=present.reshape(-1), dof=dof.astype(trials.dtype))
        return (standardised_by if noise == "diag" else whitened)(patterns, estimate)

    if measure.factors is None:
        found = rdm(whiten(means[0]), dissimilarity=measure.noise_free)
    else:
        found = _between_folds(*measure.factors(trials, present, whiten), present, folds)
    return found / trials.shape[2]


def _between_folds(
    left: Float[Array, "r n d"], right: Float[Array, "r n d"], present: Shown, folds: Int[Array, "r n"] | None
) -> Float[Array, "n n"]:
    counts = present.astype(left.dtype)
    left, right = left * counts[..., None], right * counts[..., None]
    if folds is not None:
        stimuli = jnp.arange(present.shape[1], dtype=folds.dtype)[None]
        left, right, counts = (jnp.zeros_like(each).at[folds, stimuli].add(each) for each in (left, right, counts))
    whole = [jnp.sum(each, axis=0) for each in (left, right, counts)]
    products = whole[0] @ whole[1].T - jnp.einsum("rid,rjd->ij", left, right)
    pairs = whole[2][:, None] * whole[2][None] - counts.T @ counts
    similar = divide_or_nan(products, pairs, pairs < 0.5)
    own = jnp.diagonal(similar)
    found = own[:, None] + own[None] - similar - similar.T
    return jnp.where(jnp.eye(len(own), dtype=bool) & ~jnp.isnan(own)[:, None], 0.0, found)


def _of_patterns(trials: Trials, present: Shown, whiten: Whiten) -> Factors:
    """The inner product of two whitened patterns, up to a constant, with all patterns near zero for precision."""
    x, centre = _centred(trials, present)
    both = whiten(jnp.concatenate([x, jnp.broadcast_to(centre, (1, *x.shape[1:]))]))
    x, centre = both[:-1], both[-1, 0]
    beside, one = (x @ centre)[..., None], jnp.ones_like(x[..., :1])
    return jnp.concatenate([x, beside, one], axis=-1), jnp.concatenate([x, one, beside], axis=-1)


def _of_rates(trials: Trials, present: Shown, whiten: Whiten) -> Factors:
    """Minus half of the symmetric divergence of two Poisson distributions."""
    rates, logs = (_centred(each, present)[0] for each in poisson_rates(trials))
    own, one = jnp.sum(rates * logs, axis=-1, keepdims=True), jnp.ones_like(rates[..., :1])
    return (
        0.5 * jnp.concatenate([rates, logs, -own, -one], axis=-1),
        jnp.concatenate([logs, rates, one, own], axis=-1),
    )


def _centred(trials: Trials, present: Shown) -> tuple[Trials, Float[Array, " u"]]:
    """Trials relative to their mean, which has no gradient because results do not depend on it."""
    rows = jax.lax.stop_gradient(trials).reshape(-1, trials.shape[2])
    known = present.reshape(-1)[:, None] & jnp.all(jnp.isfinite(rows), axis=1, keepdims=True)
    centre = masked_mean(rows, known, axis=0)[0][0]
    return jnp.where(present[..., None], trials - centre[None, None], 0.0), centre


TRIAL_DISSIMILARITIES: dict[str, TrialDissimilarity] = {
    "mahalanobis": TrialDissimilarity("sqeuclidean", whitens=True),
    "crossnobis": TrialDissimilarity("sqeuclidean", whitens=True, factors=_of_patterns),
    "poisson": TrialDissimilarity("poisson"),
    "poisson_cv": TrialDissimilarity("poisson", factors=_of_rates),
}
"""By name, see ``rdm_of_trials``; an added entry is available wherever RDMs are made of trials."""
