"""Similarity of the distributions of a neuronal property in two populations, from bootstrapped histograms."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from bsjax.engine.precision import at_full_precision
from bsjax.engine.tolerances import CONSTANT, rounding
from bsjax.metrics.numerics import divide_or_nan


@at_full_precision
def ks_similarity(p: Float[Array, " bins"], q: Float[Array, " bins"]) -> Float[Array, ""]:
    r"""Similarity of two histograms: one minus their normalised Kolmogorov-Smirnov distance.

    .. math:: 1 - \frac{\max_i |P_i - Q_i|}{\max(\max_i |1 - Q_i|, \max_{i < k} Q_i)}

    with the cumulative sums :math:`P, Q`. The denominator is the largest possible distance to ``q``: that of a
    histogram with all its mass in the first or in the last bin. The similarity is therefore in [0, 1].

    Args:
        p, q: histograms over the same bins, each with the sum 1.

    Returns:
        1 for equal histograms; NaN for a single bin, where all histograms are equal.

    Source: Marques et al. 2021.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{ks_similarity(jnp.array([0.5, 0.5, 0.0]), jnp.array([0.25, 0.5, 0.25])):.3f}")
        0.667
    """
    ours, theirs = jnp.cumsum(p), jnp.cumsum(q)
    first = jnp.ones_like(theirs)
    last = first.at[:-1].set(0.0)
    greatest = jnp.maximum(jnp.max(jnp.abs(first - theirs)), jnp.max(jnp.abs(last - theirs)))
    # With a single bin the denominator is zero, up to the rounding error of the sums.
    undefined = greatest <= rounding(p, CONSTANT)
    return 1.0 - divide_or_nan(jnp.max(jnp.abs(ours - theirs)), greatest, undefined)


def bin_numbers(values: Float[Array, "*shape"], edges: Float[Array, " k"]) -> Int[Array, "*shape"]:
    """Bin index of each value, from 0. Values outside the edges are in the outermost bins; NaN has the index ``k - 1``.

    Bins are closed on the left; the last one is closed on both sides.

    Example:
        >>> import jax.numpy as jnp
        >>> print(bin_numbers(jnp.array([-1.0, 0.0, 0.9, 1.0, 2.0, jnp.nan]), jnp.array([0.0, 1.0, 2.0])))
        [0 0 0 1 1 2]
    """
    bins = edges.shape[0] - 1
    number = jnp.clip(jnp.searchsorted(edges, values, side="right") - 1, 0, bins - 1)
    return jnp.where(jnp.isnan(values), bins, number)


@at_full_precision
def bootstrapped_similarity(
    source: Float[Array, " n"],
    target: Float[Array, " m"],
    edges: Float[Array, " k"],
    draws: Int[Array, "b d"],
    *,
    similarity: Callable[[Float[Array, " bins"], Float[Array, " bins"]], Float[Array, ""]] = ks_similarity,
) -> Float[Array, " b"]:
    """Similarity of the histogram of each bootstrap draw from ``source`` to the histogram of ``target``.

    Args:
        source, target: one value of the property per neuron; NaN for a neuron without the property.
        edges: edges of the bins, ascending; values outside them count in the outermost bins.
        draws: indices of the neurons of ``source`` in each draw. A drawn neuron without a value counts in no bin, as in
            a recording of that many neurons; an index of ``n`` or more draws no neuron.
        similarity: similarity of two histograms of sum 1, the drawn one and that of ``target``.

    Returns:
        One similarity per draw; NaN where a draw, or ``target``, contains no value. Gradients are zero, because counts
        are piecewise constant.

    Source: Marques et al. 2021.

    Example:
        >>> import jax.numpy as jnp
        >>> values, edges = jnp.array([0.5, 1.5, 2.5, jnp.nan]), jnp.arange(4.0)
        >>> draws = jnp.array([[0, 1, 2], [0, 0, 0], [3, 3, 3]])
        >>> print(bootstrapped_similarity(values, values, edges, draws).round(3))
        [ 1.  0. nan]
    """
    bins = edges.shape[0] - 1
    # Every neuron is binned once, and draws count bins. An index beyond the last neuron has no bin either.
    numbers = jnp.append(bin_numbers(source, edges), bins)
    drawn = jnp.take(numbers, jnp.minimum(draws, source.shape[0]))
    rows = jnp.arange(draws.shape[0], dtype=drawn.dtype)[:, None]
    counts = jnp.zeros((draws.shape[0], bins + 1), jnp.int32).at[rows, drawn].add(1)[:, :bins]
    wanted = jnp.zeros(bins + 1, jnp.int32).at[bin_numbers(target, edges)].add(1)[:bins]

    def histogram(count):
        total = jnp.sum(count, axis=-1, keepdims=True).astype(source.dtype)
        empty = total == 0
        return jnp.where(empty, 1.0 / bins, count.astype(source.dtype) / jnp.where(empty, 1.0, total)), empty[..., 0]

    (ours, nothing_drawn), (theirs, no_target) = histogram(counts), histogram(wanted)
    result = jax.vmap(similarity, in_axes=(0, None))(ours, theirs)
    return jnp.where(nothing_drawn | no_target, jnp.full_like(result, jnp.nan), result)
