"""Simulated experiments: recordings with known signal and noise, and two models of given agreement with the signal."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from bsjax.engine.batches import batched_map
from bsjax.engine.precision import at_full_precision
from bsjax.metrics.arrays import Counts, Features, PerDraw, Scalar, Targets
from bsjax.metrics.correlation import weighted_pearson
from bsjax.metrics.resampling.influence import influence

Weighted = Callable[[Features, Targets, Counts], PerDraw]


@at_full_precision
def simulated_differences(
    keys: Key[Array, " simulations"],
    signal: Float[Array, "k u"],
    noise: Float[Array, "l u"],
    agreements: Float[Array, "2"],
    repetitions: Scalar,
    shared: Scalar,
    *,
    stimuli: int,
    similarity: Weighted,
) -> Float[Array, "simulations 3"]:
    r"""Similarities of two models to simulated recordings, and the standard error of their difference.

    The recordings are :math:`y = s + \varepsilon / \sqrt r`, with signal and noise from normal distributions. A model
    with agreement :math:`\rho` responds with :math:`\rho s + \sqrt{1 - \rho^2}\, s'`, where :math:`s'` is independent
    of the signal and has the same distribution. Its expected correlation with the signal is :math:`\rho` in each
    neuroid, its linear CKA :math:`\rho^2`.

    Args:
        keys: one random key per simulated experiment.
        signal, noise: matrices A with :math:`A^T A` the covariance over units, of the signal and of single trials.
        agreements: agreement :math:`\rho` of each model, from 0 to 1.
        repetitions: number r of trials averaged.
        shared: the correlation between the :math:`s'` of the two models.
        stimuli: number of stimuli.
        similarity: similarity of responses and recordings with weighted stimuli, e.g. ``cka_bootstraps``.

    Returns:
        ``(simulations, 3)``: the similarity of each model, and the standard error over stimuli of their difference.

    Source: Kay et al. 2025 on the distributions; Schütt et al. 2023 on such simulations.

    Example:
        >>> keys = jax.random.split(jax.random.key(0), 2)
        >>> same, none = jnp.array([0.9, 0.9]), jnp.array(0.0)
        >>> found = simulated_differences(
        ...     keys, jnp.eye(3), jnp.eye(3), same, jnp.array(4.0), none, stimuli=20, similarity=mean_correlations)
        >>> found.shape, bool((found[:, :2] > 0.5).all())
        ((2, 3), True)
    """
    ones = jnp.ones((1, stimuli), signal.dtype)

    def of_experiment(key: Key[Array, ""]) -> Float[Array, "3"]:
        of_signal, of_noise, *of_models = jax.random.split(key, 4)
        truth = _normal(of_signal, stimuli, signal)
        measured = truth + _normal(of_noise, stimuli, noise) / jnp.sqrt(repetitions)
        own, other = (_normal(one, stimuli, signal) for one in of_models)
        besides = own, shared * own + jnp.sqrt(1.0 - shared**2) * other
        values, influences = [], []
        for agreement, rest in zip(agreements, besides, strict=True):
            model = agreement * truth + jnp.sqrt(1.0 - agreement**2) * rest

            def statistic(weights: Float[Array, "draws n"], model: Array = model) -> PerDraw:
                return similarity(model, measured, weights)

            values.append(statistic(ones)[0])
            influences.append(influence(statistic, ones)[0])
        variance = jnp.sum((influences[0] - influences[1]) ** 2) * stimuli / (stimuli - 1)
        return jnp.stack([*values, jnp.sqrt(variance)])

    return batched_map(of_experiment, keys)


@at_full_precision
def mean_correlations(x: Float[Array, "n u"], y: Float[Array, "n u"], weights: Counts) -> PerDraw:
    """Correlation of predictions and recordings over weighted stimuli, averaged over neuroids.

    Example:
        >>> x = jnp.array([[1.0], [2.0], [4.0]])
        >>> print(mean_correlations(x, 2.0 * x, jnp.array([[1, 1, 1], [2, 0, 1]])).round(3))
        [1. 1.]
    """
    return jnp.mean(weighted_pearson(x, y, weights.astype(x.dtype)), axis=1)


def _normal(key: Key[Array, ""], stimuli: int, root: Float[Array, "k u"]) -> Float[Array, "n u"]:
    return jax.random.normal(key, (stimuli, root.shape[0]), root.dtype) @ root
