"""Split-half reliability in every draw of the stimuli."""

from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from bsjax.engine.batches import batched_map
from bsjax.engine.precision import at_full_precision
from bsjax.metrics.ceilings.consistency import FEWEST_STIMULI, half_means, reliability_of_halves
from bsjax.metrics.correlation import weighted_pearson
from bsjax.metrics.resampling.units import units_held


@at_full_precision
def split_half_bootstraps(
    trials: Float[Array, "r n u"],
    present: Bool[Array, "r n u"],
    first: Bool[Array, "splits r n"],
    counts: Int[Array, "draws n"],
) -> Float[Array, "draws splits u"]:
    """``split_half_consistency`` of every draw of the stimuli, on a CPU one split in memory at a time.

    A split halves the repetitions of a stimulus alike in all draws, and in all of its copies.

    Args:
        trials, present, first: as of ``split_half_consistency``.
        counts: how often each draw holds each stimulus.

    Returns:
        Reliability ``(draws, splits, units)``; NaN where it is undefined, as in draws with too few different stimuli.

    Example:
        >>> trials = jnp.stack([jnp.arange(5.0)[:, None]] * 4)
        >>> first = jnp.array([True, True, False, False])[None, :, None] & jnp.ones((1, 4, 5), bool)
        >>> counts = jnp.array([[1, 1, 1, 1, 1], [1, 2, 0, 1, 1], [0, 2, 3, 0, 0]])
        >>> print(split_half_bootstraps(trials, jnp.ones_like(trials, bool), first, counts).ravel())
        [ 1.  1. nan]
    """
    repeated = jnp.sum(present, axis=0) > 1
    few = (counts > 0).astype(trials.dtype) @ repeated.astype(trials.dtype) < FEWEST_STIMULI

    def of_split(half: Bool[Array, "r n"]) -> Float[Array, "draws u"]:
        a, b = half_means(trials, present, half)
        there = jnp.isfinite(a) & jnp.isfinite(b)
        r = weighted_pearson(a, b, counts.astype(a.dtype), where=there)
        return reliability_of_halves(jnp.where(few, jnp.full_like(r, jnp.nan), r))

    return jnp.swapaxes(batched_map(of_split, first), 0, 1)


@at_full_precision
def split_half_similarity_bootstraps(
    trials: Float[Array, "r n u"],
    present: Bool[Array, "r n u"],
    first: Bool[Array, "splits r n"],
    counts: Int[Array, "draws n"],
    units: Int[Array, "draws m"] | None = None,
    *,
    bootstraps: Callable[..., Float[Array, " _"]],
) -> Float[Array, "draws splits"]:
    """The same where halves are compared as a whole, over the stimuli that both halves have.

    Args:
        trials, present, first, counts: as of :func:`split_half_bootstraps`.
        units: the units that each draw holds, all if None; -1 beyond the end of a short draw, a unit of zeros.
        bootstraps: of two sets of responses and counts, e.g. ``cka_bootstraps``.

    Returns:
        Reliability ``(draws, splits)``; NaN where it is undefined.
    """

    def of_split(half: Bool[Array, "r n"]) -> Float[Array, " draws"]:
        a, b = half_means(trials, present, half)
        there = jnp.all(jnp.isfinite(a) & jnp.isfinite(b), axis=1)
        a, b = (jnp.where(there[:, None], side, jnp.zeros_like(side)) for side in (a, b))
        held = jnp.where(there[None], counts, jnp.zeros_like(counts))
        if units is None:
            r = bootstraps(a, b, held)
        else:
            r = batched_map(
                lambda draw: bootstraps(units_held(a, draw[1]), units_held(b, draw[1]), draw[0][None])[0], (held, units)
            )
        few = jnp.sum(held > 0, axis=1) < FEWEST_STIMULI
        return reliability_of_halves(jnp.where(few, jnp.full_like(r, jnp.nan), r))

    return jnp.swapaxes(batched_map(of_split, first), 0, 1)
