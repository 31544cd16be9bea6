"""Generative modelling of signal and noise (GSN): their covariances between units, and simulated RSA ceilings."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from bsjax.engine.batches import batched_map
from bsjax.engine.precision import at_full_precision
from bsjax.engine.primitives.decompositions import eigh
from bsjax.engine.tolerances import CONVERGED_POWER, rounding
from bsjax.metrics.arrays import Mask, PerDraw, PerStimulus, Scalar, Trials
from bsjax.metrics.linalg.semidefinite import change_of_nearest, nearest_semidefinite, semidefinite_root
from bsjax.metrics.numerics import deviations, nonzero
from bsjax.metrics.similarity.rdms.dissimilarities import Measure
from bsjax.metrics.similarity.rdms.rdm import rdm_similarity

Shown = Bool[Array, "r n"]
HeldOut = Bool[Array, "folds n"]
Chosen = Bool[Array, "sets n"]
OfBoth = Float[Array, "2"]
Normals = Float[Array, "draws 2 k u"]
Covariance = Float[Array, "u u"]

SHRINKAGE_LEVELS = tuple(level / 50 for level in range(51))
"""Shrinkage factors of the covariances between units to try."""

_MOST_STEPS = 200
# Each step reduces the error to a fifth or less where all stimuli are repeated, to two thirds where one in three is.
_STEPS_OF_DERIVATIVE = 30


class SignalAndNoise(NamedTuple):
    """Multivariate normal distributions of signal and noise; trials are modelled as their sum.

    Attributes:
        mean: ``(units,)``, mean of the signal; the mean of the noise is zero.
        signal: ``(units, units)``, covariance over stimuli of the noise-free responses, positive semi-definite.
        noise: covariance over single trials of one stimulus, positive semi-definite.
        left: share of the noise covariance left in the averages over trials, the mean over stimuli of 1 / trials.
    """

    mean: Float[Array, " u"]
    signal: Covariance
    noise: Covariance
    left: Scalar


class _Rows(NamedTuple):
    """Deviations of trials from their stimulus mean, and of stimulus means from the grand mean; zero where constant."""

    noise: Trials
    data: Float[Array, "n u"]
    mean: Float[Array, " u"]
    counts: PerStimulus


class _Covariances(NamedTuple):
    """Unbiased covariances of averages and noise, degrees of freedom of each, and the centre of the averages."""

    data: Covariance
    noise: Covariance
    centre: Float[Array, " u"]
    free: OfBoth


def signal_and_noise(
    trials: Trials, present: Shown, held_out: HeldOut, *, levels: tuple[float, ...] = SHRINKAGE_LEVELS
) -> SignalAndNoise:
    r"""Estimates the distributions of signal and noise that generate single trials: means and covariances over units.

    1. The noise covariance :math:`C_N` pools the deviations of trials from the mean of their stimulus; :math:`C_D` is
       the covariance of the averages over trials. Both are shrunk towards their diagonal: the covariances between units
       are multiplied by the factor that maximises the likelihood of held-out stimuli (``shrinkage_levels``).
    2. The signal covariance is :math:`C_S = C_D - h\, C_N`, with h the mean over stimuli of 1 / trials. This estimate
       may have negative eigenvalues. The function returns the positive semi-definite matrices S and N that minimise
       :math:`w_N \lVert N - C_N \rVert^2 + w_D \lVert S + h N - C_D \rVert^2`, with degrees of freedom as weights. The
       problem is convex and solved by alternating between the nearest S and the nearest N.

    With the same number of trials for all stimuli, the method differs from the published one in three points. All
    stimuli are held out in turn, instead of a fifth of them once. The likelihood counts a stimulus of n trials as n - 1
    independent deviations instead of n; otherwise two trials are hardly shrunk. The alternation runs to convergence,
    instead of until matrices correlate by 0.999. With different numbers of trials, all trials are used; the published
    method randomly drops trials from the averages until all stimuli have as many as the one with the fewest.

    Args:
        trials: single trials ``(repetitions, stimuli, units)``; values that are not present are ignored.
        present: True where a trial exists, for all units.
        held_out: True for the stimuli that each fold holds out to test the shrinkage.
        levels: shrinkage factors of the covariances between units to try, in [0, 1].

    Returns:
        The distributions. All NaN where no stimulus is repeated, and with fewer than two stimuli. The covariances of a
        constant unit are zero. Gradients treat the chosen levels as constants.

    Source: Kay et al. 2025, "Disentangling signal and noise in neural responses through generative modeling".

    Example:
        >>> import jax.numpy as jnp
        >>> from bsjax.metrics import compiled
        >>> trials = jnp.array([[[0.0], [3.0], [5.0], [8.0]], [[2.0], [5.0], [3.0], [6.0]]])
        >>> held_out = jnp.array([[True, True, False, False], [False, False, True, True]])
        >>> found = compiled(signal_and_noise)(trials, jnp.ones((2, 4), bool), held_out)
        >>> print(found.mean, found.noise, found.signal)
        [4.] [[2.]] [[5.]]
    """
    return signal_and_noise_at(trials, present, shrinkage_levels(trials, present, held_out, levels=levels))


@at_full_precision
def signal_and_noise_at(trials: Trials, present: Shown, shrinkage: OfBoth) -> SignalAndNoise:
    """``signal_and_noise`` with known shrinkage factors of the covariances between units, of data and of noise.

    Example:
        >>> import jax.numpy as jnp
        >>> from bsjax.metrics import compiled
        >>> trials = jnp.array([[[0.0], [3.0], [5.0]], [[2.0], [5.0], [3.0]]])
        >>> print(compiled(signal_and_noise_at)(trials, jnp.ones((2, 3), bool), jnp.ones(2)).signal.round(3))
        [[2.]]
    """
    rows = _rows(trials, present)
    seen = rows.counts > 0
    found = _covariances(rows, seen)
    data, noise = _shrunk(found.data, shrinkage[0]), _shrunk(found.noise, shrinkage[1])
    of_data, of_noise = found.free
    left = jnp.sum(jnp.where(seen, 1.0 / jnp.maximum(rows.counts, 1.0), 0.0)) / jnp.maximum(of_data + 1.0, 1.0)
    gain = of_data * left / jnp.maximum(of_noise + of_data * left**2, 1.0)
    signal, noise = _nearest_pair(data, noise, left, gain)
    undefined = jnp.any(found.free <= 0)
    result = SignalAndNoise(rows.mean, signal, noise, left)
    return jax.tree.map(lambda values: jnp.where(undefined, jnp.nan, values), result)


@at_full_precision
def shrinkage_levels(
    trials: Trials, present: Shown, held_out: HeldOut, *, levels: tuple[float, ...] = SHRINKAGE_LEVELS
) -> OfBoth:
    """Shrinkage factors, of data and of noise covariances, that maximise the likelihood of held-out stimuli.

    Args:
        trials, present, held_out, levels: as for ``signal_and_noise``.

    Example:
        >>> import jax.numpy as jnp
        >>> from bsjax.metrics import compiled
        >>> trials = jnp.array([[[0.0, 1.0], [3.0, 4.0]], [[2.0, 3.0], [5.0, 6.0]]])
        >>> held_out = jnp.array([[True, False], [False, True]])
        >>> print(compiled(shrinkage_levels, levels=(0.0, 0.5))(trials, jnp.ones((2, 2), bool), held_out)[1])
        0.5
    """
    rows = jax.tree.map(jax.lax.stop_gradient, _rows(trials, present))
    tried = jnp.asarray(levels, rows.data.dtype)
    # Deviations from a mean of n trials are worth n - 1 independent ones.
    independent = jnp.maximum(rows.counts - 1.0, 0.0)

    def of_fold(test: Mask) -> Float[Array, "2 levels"]:
        seen = rows.counts > 0
        train = _covariances(rows, seen & ~test)
        test = test & seen
        data = jnp.where(test[:, None], rows.data - train.centre[None], 0.0)
        noise = jnp.where(test[None, :, None], rows.noise, 0.0).reshape(-1, data.shape[1])
        one = test.astype(tried.dtype)
        of_both = (train.data, data, jnp.sum(one)), (train.noise, noise, jnp.sum(one * independent))
        likelihoods = jnp.stack([shrunk_log_likelihoods(*each, tried) for each in of_both])
        # A fold without training data does not count.
        return jnp.where(train.free[:, None] > 0, likelihoods, 0.0)

    return tried[jnp.argmax(jnp.sum(batched_map(of_fold, held_out), axis=0), axis=1)]


@at_full_precision
def shrunk_log_likelihoods(
    covariance: Covariance, rows: Float[Array, "k u"], count: Scalar, levels: Float[Array, " levels"]
) -> Float[Array, " levels"]:
    r"""Log-likelihood of rows under normal distributions whose covariances between units are shrunk by each level.

    With the covariance :math:`C`, its diagonal :math:`D` and a level :math:`a`, it is
    .. math:: -\tfrac12 \bigl(k \log \lvert 2 \pi \, (a C + (1 - a) D) \rvert
              + \sum_i x_i^T (a C + (1 - a) D)^{-1} x_i \bigr)

    One eigendecomposition, of the correlation matrix, serves all levels.

    Args:
        covariance: the covariance before shrinkage. Units of variance zero are omitted.
        rows: deviations from the mean of the distribution.
        count: k, the number of independent deviations that the rows are worth.
        levels: shrinkage factors of the covariances between units.

    Returns:
        ``(levels,)``; minus infinity for a level at which the covariance is singular.

    Source: Kay et al. 2025, who average over rows.

    Example:
        >>> import jax.numpy as jnp
        >>> covariance, rows = jnp.array([[1.0, 0.8], [0.8, 1.0]]), jnp.array([[1.0, 1.0], [-1.0, -1.0]])
        >>> print(shrunk_log_likelihoods(covariance, rows, jnp.array(2.0), jnp.array([0.0, 1.0])).round(3))
        [-5.676 -3.765]
    """
    variances = jnp.diagonal(covariance)
    varies = variances > 0
    spreads = jnp.sqrt(nonzero(variances))
    both = varies[:, None] & varies[None, :]
    correlations = jnp.where(both, covariance / (spreads[:, None] * spreads[None, :]), 0.0)
    values, vectors = eigh(correlations + jnp.diag((~varies).astype(correlations.dtype)))
    along = jnp.sum((jnp.where(varies[None], rows / spreads[None], 0.0) @ vectors) ** 2, axis=0)
    spectra = levels[:, None] * values[None] + (1.0 - levels[:, None])
    singular = jnp.min(spectra, axis=1) <= rounding(values, values.shape[0])
    spectra = jnp.where(singular[:, None], 1.0, spectra)
    volume = jnp.sum(jnp.log(spectra), axis=1) + jnp.sum(jnp.where(varies, jnp.log(2 * jnp.pi * spreads**2), 0.0))
    likelihood = -0.5 * (count * volume + jnp.sum(along[None] / spectra, axis=1))
    return jnp.where(singular, -jnp.inf, likelihood)


@at_full_precision
def simulated_rsa_ceiling(
    model: SignalAndNoise,
    normals: Normals,
    *,
    trials_averaged: float | None = None,
    method: str = "spearman",
    dissimilarity: Measure = "correlation",
) -> PerDraw:
    """Similarity of the RDM of averages over trials to the RDM of the signal, in simulated recordings.

    Each draw samples the signals of new stimuli, and the noise of their averages, from the model's distributions. The
    similarity is the RSA score of the true model if its units were those recorded: noise that is correlated between
    units distorts the RDM of averages, and more stimuli do not remove the distortion.

    Args:
        model: distributions estimated by ``signal_and_noise``.
        normals: independent standard normal numbers for signal and noise of k stimuli in each draw. The similarity
            hardly depends on k.
        trials_averaged: number of trials averaged in the recordings; None for as many as in the data of the model.
        method: how the two RDMs are compared, see ``compare_rdm_vectors``.
        dissimilarity: as for ``rdm``.

    Returns:
        ``(draws,)``, whose median is the ceiling of Kay et al.; NaN where the model is NaN or has no signal.

    Source: Kay et al. 2025; Lage-Castellanos et al. 2019 (ceilings by simulation).

    Example:
        >>> import jax.numpy as jnp
        >>> from bsjax.metrics import compiled
        >>> model = SignalAndNoise(jnp.zeros(9), jnp.eye(9), 0.0 * jnp.eye(9), jnp.array(1.0))
        >>> normals = jnp.cos(jnp.arange(216.0) ** 2).reshape(2, 2, 6, 9)
        >>> print(compiled(simulated_rsa_ceiling)(model, normals).round(3))
        [1. 1.]
    """
    undefined = jnp.isnan(model.left)
    known = jax.tree.map(lambda values: jnp.where(undefined, 0.0, values), model)
    signal, noise = semidefinite_root(known.signal), semidefinite_root(known.noise)
    left = known.left if trials_averaged is None else jnp.full_like(known.left, 1.0 / trials_averaged)

    def one(normal: Float[Array, "2 k u"]) -> Scalar:
        responses = known.mean[None] + normal[0] @ signal
        measured = responses + jnp.sqrt(left) * (normal[1] @ noise)
        return rdm_similarity(responses, measured, method=method, dissimilarity=dissimilarity)

    return jnp.where(undefined, jnp.nan, batched_map(one, normals))


def simulated_rsa_ceilings(
    trials: Trials, present: Shown, chosen: Chosen, shrinkage: OfBoth, normals: Normals, **settings: Any
) -> Float[Array, "sets draws"]:
    """``simulated_rsa_ceiling`` of ``signal_and_noise_at`` for several sets of stimuli, with the same random numbers.

    Args:
        trials, present, shrinkage: as for ``signal_and_noise_at``.
        chosen: True for the stimuli in each set. For a jackknife: all stimuli, then all but one group each.
        normals, settings: as for ``simulated_rsa_ceiling``.

    Example:
        >>> import jax.numpy as jnp
        >>> from bsjax.metrics import compiled
        >>> trials = jnp.stack([jnp.cos(jnp.arange(54.0) ** 2).reshape(6, 9)] * 2)
        >>> normals = jnp.cos(jnp.arange(216.0) ** 2).reshape(2, 2, 6, 9)
        >>> present, chosen = jnp.ones((2, 6), bool), jnp.ones((1, 6), bool)
        >>> print(compiled(simulated_rsa_ceilings)(trials, present, chosen, jnp.ones(2), normals).round(3))
        [[1. 1.]]
    """

    def of_set(kept: Mask) -> PerDraw:
        return simulated_rsa_ceiling(signal_and_noise_at(trials, present & kept[None], shrinkage), normals, **settings)

    return batched_map(of_set, chosen)


def _rows(trials: Trials, present: Shown) -> _Rows:
    within = deviations(jnp.where(present[:, :, None], trials, 0.0), present[:, :, None], axis=0)
    counts = within.n[0, :, 0]
    seen = (counts > 0)[:, None]
    between = deviations(jnp.where(seen, within.mean[0], 0.0), seen, axis=0)
    mean = jnp.where(jnp.any(seen), between.mean[0], 0.0)
    return _Rows(within.values, between.values, mean, counts)


def _covariances(rows: _Rows, chosen: Mask) -> _Covariances:
    """Covariances over the chosen stimuli."""
    count = jnp.sum(chosen.astype(rows.data.dtype))
    data = jnp.where(chosen[:, None], rows.data, 0.0)
    centre = jnp.sum(data, axis=0) / jnp.maximum(count, 1.0)
    data = jnp.where(chosen[:, None], data - centre[None], 0.0)
    noise = jnp.where(chosen[None, :, None], rows.noise, 0.0).reshape(-1, data.shape[1])
    free = jnp.stack([count - 1.0, jnp.sum(jnp.where(chosen, jnp.maximum(rows.counts - 1.0, 0.0), 0.0))])
    return _Covariances(
        data.T @ data / jnp.maximum(free[0], 1.0), noise.T @ noise / jnp.maximum(free[1], 1.0), centre, free
    )


def _shrunk(covariance: Covariance, level: Scalar) -> Covariance:
    return jnp.where(jnp.eye(covariance.shape[0], dtype=bool), covariance, level * covariance)


@jax.custom_jvp
def _nearest_pair(data: Covariance, noise: Covariance, left: Scalar, gain: Scalar) -> tuple[Covariance, Covariance]:
    """Positive semi-definite S and N with S + left N nearest to the data and N nearest to the noise, by alternation."""
    # `gain` is the weight of the residual data - S in N. `left` and `gain` depend on trial counts: no derivative.
    tolerance = rounding(data, power=CONVERGED_POWER)

    def unfinished(state: tuple[Array, ...]) -> Bool[Array, ""]:
        step, _, _, change = state
        return (step < _MOST_STEPS) & (change > tolerance)

    def alternate(state: tuple[Array, ...]) -> tuple[Array, ...]:
        step, last_signal, last_noise, _ = state
        signal = nearest_semidefinite(data - left * last_noise)
        new = nearest_semidefinite((1.0 - gain * left) * noise + gain * (data - signal))
        size = jnp.linalg.norm(data) + jnp.linalg.norm(noise)
        change = jnp.linalg.norm(signal - last_signal) + jnp.linalg.norm(new - last_noise)
        return step + 1, signal, new, change / jnp.where(size > 0, size, 1.0)

    start = jnp.asarray(0), jnp.zeros_like(data), noise, jnp.full_like(left, jnp.inf)
    _, signal, final, _ = jax.lax.while_loop(unfinished, alternate, start)
    return signal, final


@_nearest_pair.defjvp
@at_full_precision
def _nearest_pair_jvp(primals: tuple, tangents: tuple) -> tuple[Any, Any]:
    """Changes of S and N at the solution: a fixed point of the linearised steps, found by the same alternation."""
    data, noise, left, gain = primals
    by_data, by_noise = tangents[:2]
    signal, final = _nearest_pair(*primals)
    of_signal = partial(change_of_nearest, *eigh(data - left * final))
    of_noise = partial(change_of_nearest, *eigh((1.0 - gain * left) * noise + gain * (data - signal)))

    def changes(moved: Covariance) -> tuple[Covariance, Covariance]:
        changed = of_signal(by_data - left * moved)
        return changed, of_noise((1.0 - gain * left) * by_noise + gain * (by_data - changed))

    moved = jax.lax.fori_loop(0, _STEPS_OF_DERIVATIVE, lambda _, moved: changes(moved)[1], jnp.zeros_like(noise))
    changed, _ = changes(moved)
    return (signal, final), (changed, moved)
