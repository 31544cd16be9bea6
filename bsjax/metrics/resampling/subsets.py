"""Similarities of responses on subsets of the stimuli, and in bootstrap draws of the units of one side."""

from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from bsjax.engine.batches import batched_map
from bsjax.engine.precision import at_full_precision
from bsjax.engine.tolerances import CANCELLED, rounding
from bsjax.metrics.arrays import Features, PerDraw, Scalar, Targets
from bsjax.metrics.numerics import deviations, rotated_to_few_columns

Drawn = Int[Array, "draws n"]
Places = Int[Array, "draws m"]
PerSubset = Float[Array, " subsets"]


@at_full_precision
def similarity_on_subsets(
    x: Features,
    y: Targets,
    subsets: Int[Array, "subsets m"],
    mask: Bool[Array, "subsets m"],
    *,
    similarity: Callable[..., Scalar],
    rotation_invariant: bool = False,
) -> PerSubset:
    """``similarity(x[subset], y[subset])`` for every subset. On a CPU, only one subset is in memory at a time.

    Args:
        x, y: responses ``(stimuli, units)`` to the same stimuli in the same order.
        subsets: indices of the stimuli of each subset, padded to one length.
        mask: False where padded.
        similarity: function of two sets of responses and ``where=``, e.g. ``cka`` or ``rdm_similarity``.
        rotation_invariant: True if the similarity depends only on inner products between centred responses, as CKA
            does. Wide responses are then centred and rotated into as many columns as stimuli, once for all subsets.

    Returns:
        One value per subset; NaN where ``similarity`` is NaN, and, if ``rotation_invariant``, where the responses of a
        side are constant over the subset.

    Example:
        >>> import jax.numpy as jnp
        >>> from bsjax.metrics import cka
        >>> x = jnp.array([[0.0, 1.0], [1.0, 3.0], [2.0, 0.0], [5.0, 1.0], [3.0, 4.0]])
        >>> subsets, mask = jnp.array([[0, 1, 2, 3], [1, 2, 3, 4]]), jnp.ones((2, 4), bool)
        >>> print(similarity_on_subsets(x, x, subsets, mask, similarity=cka).round(3))
        [1. 1.]
    """
    if not rotation_invariant:
        return batched_map(lambda s: similarity(x[s[0]], y[s[0]], where=s[1]), (subsets, mask))
    centred = [deviations(side, None, axis=0).values for side in (x, y)]
    longest = [jnp.max(jnp.sum(side**2, axis=1)) for side in centred]
    # Narrow responses are used as they are: a centred copy would take memory during all subsets.
    x, y = (
        side if side.shape[1] <= side.shape[0] else rotated_to_few_columns(without_mean)
        for side, without_mean in zip((x, y), centred, strict=True)
    )

    def of_subset(subset: tuple[Int[Array, " m"], Bool[Array, " m"]]) -> Scalar:
        rows, counted = subset
        undefined = _constant(x[rows], counted, longest[0]) | _constant(y[rows], counted, longest[1])
        return jnp.where(undefined, jnp.nan, similarity(x[rows], y[rows], where=counted))

    return batched_map(of_subset, (subsets, mask))


def _constant(x: Float[Array, "m d"], where: Bool[Array, " m"], longest: Scalar) -> Bool[Array, ""]:
    """Whether centred responses are within the rounding error of the rotation into few columns."""
    # `longest` is the largest sum of squares of a centred response, over all stimuli.
    left = jnp.sum(deviations(x, where[:, None], axis=0).squares)
    return left <= rounding(x, CANCELLED) ** 2 * longest * jnp.sum(where).astype(x.dtype)


@at_full_precision
def unit_bootstraps(
    x: Features,
    y: Targets,
    units: Places,
    counts: Drawn | None = None,
    *,
    similarity: Callable[..., Float[Array, "..."]],
) -> PerDraw:
    """``similarity(x, y[:, units])`` for every draw of the units of ``y``. On a CPU, one draw is in memory at a time.

    Args:
        x, y: responses ``(stimuli, units)`` to the same stimuli in the same order.
        units: indices of the units in each draw; -1 pads a short draw with a unit of zeros.
        counts: how often each draw contains each stimulus, if stimuli are drawn together with the units.
        similarity: function of two sets of responses, e.g. ``cka``; with ``counts``, function of responses and counts,
            e.g. ``cka_bootstraps``.

    Example:
        >>> from bsjax.metrics import cka, cka_bootstraps
        >>> x = jnp.array([[0.0, 1.0], [1.0, 3.0], [2.0, 0.0], [5.0, 1.0], [3.0, 4.0]])
        >>> units, counts = jnp.array([[0, 1], [1, 0]]), jnp.array([[1, 1, 1, 1, 1], [2, 1, 0, 1, 1]])
        >>> print(unit_bootstraps(x, x, units, similarity=cka).round(3))
        [1. 1.]
        >>> print(unit_bootstraps(x, x, units, counts, similarity=cka_bootstraps).round(3))
        [1. 1.]
    """

    def of_draw(draw: tuple[Int[Array, " m"], Int[Array, " n"] | None]) -> Scalar:
        chosen, held = jnp.where(draw[0][None] < 0, 0.0, y[:, draw[0]]), draw[1]
        return similarity(x, chosen) if held is None else similarity(x, chosen, held[None])[0]

    return batched_map(of_draw, (units, counts))
