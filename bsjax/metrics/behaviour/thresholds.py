"""Perceptual thresholds of a model compared with those of several subjects."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from bsjax.engine.precision import at_full_precision
from bsjax.metrics.numerics import divide_or_nan, masked_mean


@at_full_precision
def relative_similarity(source: Float[Array, "*#shape"], target: Float[Array, "*#shape"]) -> Float[Array, "*shape"]:
    r""":math:`\max(1 - |t - s| / t, 0)`: 1 where the thresholds agree, 0 where they differ by 100 % of the target's.

    Args:
        source: one threshold or several.
        target: thresholds to compare with, which must be positive.

    Returns:
        NaN, with a zero gradient, where either is NaN or the target is not positive.

    Source: Malania et al. 2007 (elevation of thresholds).

    Example:
        >>> import jax.numpy as jnp
        >>> print(relative_similarity(jnp.array(10.0), jnp.array([10.0, 20.0, 40.0, 0.0])))
        [1.   0.5  0.25  nan]
    """
    source, target = jnp.broadcast_arrays(source, target)
    undefined = ~(jnp.isfinite(source) & (target > 0))
    ones = jnp.ones_like(target)
    source, target = jnp.where(undefined, ones, source), jnp.where(undefined, ones, target)
    return divide_or_nan(jnp.maximum(target - jnp.abs(target - source), jnp.zeros_like(target)), target, undefined)


@at_full_precision
def leave_one_out_similarity(thresholds: Float[Array, " n"], left_out: Int[Array, " m"]) -> Float[Array, " m"]:
    """Mean ``relative_similarity`` of the threshold of each left-out subject to those of all others.

    Args:
        thresholds: one per subject; NaN for a subject without one, who is omitted from all means.
        left_out: index of the subject that takes the place of the model, for each result.

    Returns:
        One similarity per left-out subject; NaN where this subject, or all others, have no threshold.

    Example:
        >>> import jax.numpy as jnp
        >>> print(leave_one_out_similarity(jnp.array([10.0, 20.0, 40.0]), jnp.arange(3)))
        [0.375 0.25  0.   ]
    """
    similarities = relative_similarity(thresholds[left_out][:, None], thresholds[None, :])
    other = (jnp.arange(thresholds.shape[0])[None, :] != left_out[:, None]) & jnp.isfinite(similarities)
    return masked_mean(similarities, other, 1)[0][:, 0]


@at_full_precision
def threshold_elevation(test: Float[Array, "*shape"], baseline: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Ratio of the test condition's threshold to the baseline's; NaN where either is not finite or the baseline is 0.

    Example:
        >>> import jax.numpy as jnp
        >>> print(threshold_elevation(jnp.array([3.0, 3.0]), jnp.array([2.0, 0.0])))
        [1.5 nan]
    """
    undefined = ~(jnp.isfinite(test) & jnp.isfinite(baseline) & (baseline != 0))
    return divide_or_nan(jnp.where(undefined, jnp.ones_like(test), test), baseline, undefined)
