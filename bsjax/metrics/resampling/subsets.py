"""A similarity of two sets of responses on many subsets of the stimuli, and in draws of the units of one of them."""

import functools
from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from bsjax.engine.batches import batched_map
from bsjax.engine.precision import at_full_precision
from bsjax.metrics.numerics import CANCELLED, deviations, rotated_to_few_columns


@at_full_precision
def similarity_on_subsets(
    x: Float[Array, "n p"],
    y: Float[Array, "n q"],
    subsets: Int[Array, "subsets m"],
    mask: Bool[Array, "subsets m"],
    *,
    similarity: Callable[..., Float[Array, ""]],
    rotation_invariant: bool = False,
) -> Float[Array, " subsets"]:
    """``similarity(x[subset], y[subset])`` for every subset, on a CPU one in memory at a time.

    Args:
        x, y: responses ``(stimuli, units)`` to the same stimuli in the same order.
        subsets: the stimuli of each subset, padded to one length.
        mask: False where padded.
        similarity: takes two sets of responses and ``where=``, e.g. ``cka`` or ``rdm_similarity``.
        rotation_invariant: whether the similarity depends on inner products between centred responses alone, as CKA
            does: wide responses are then centred and rotated into as many columns as stimuli, once for all subsets.

    Returns:
        One value per subset; NaN where ``similarity`` is, and if ``rotation_invariant`` where the responses of a side
        are constant over the subset.

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
    # What is narrow stays as it is: a centred copy would lie beside it for all subsets.
    x, y = (
        side if side.shape[1] <= side.shape[0] else rotated_to_few_columns(without_mean)
        for side, without_mean in zip((x, y), centred, strict=True)
    )

    def of_subset(subset: tuple[Int[Array, " m"], Bool[Array, " m"]]) -> Float[Array, ""]:
        rows, counted = subset
        constant = (_constant(side[rows], counted, most) for side, most in zip((x, y), longest, strict=True))
        return jnp.where(
            functools.reduce(jnp.logical_or, constant), jnp.nan, similarity(x[rows], y[rows], where=counted)
        )

    return batched_map(of_subset, (subsets, mask))


def _constant(x: Float[Array, "m d"], where: Bool[Array, " m"], longest: Float[Array, ""]) -> Bool[Array, ""]:
    """Whether all that is left of responses without their mean is rounding of what brought them into few columns.

    ``longest`` is the greatest sum of squares of a centred response, also of those that do not count.
    """
    left = jnp.sum(deviations(x, where[:, None], axis=0).squares)
    return left <= (CANCELLED * jnp.finfo(x.dtype).eps) ** 2 * longest * jnp.sum(where).astype(x.dtype)


@at_full_precision
def unit_bootstraps(
    x: Float[Array, "n p"],
    y: Float[Array, "n q"],
    units: Int[Array, "draws m"],
    counts: Int[Array, "draws n"] | None = None,
    *,
    similarity: Callable[..., Float[Array, "..."]],
) -> Float[Array, " draws"]:
    """``similarity(x, y[:, units])`` of every draw of the units of ``y``, on a CPU one in memory at a time.

    Args:
        x, y: responses ``(stimuli, units)`` to the same stimuli in the same order.
        units: the units that each draw holds; -1 beyond the end of a short draw, which is a unit of zeros.
        counts: how often each draw holds each stimulus, where these are drawn together with the units.
        similarity: of two sets of responses, e.g. ``cka``; with ``counts`` of these as well, e.g. ``cka_bootstraps``.

    Example:
        >>> from bsjax.metrics import cka, cka_bootstraps
        >>> x = jnp.array([[0.0, 1.0], [1.0, 3.0], [2.0, 0.0], [5.0, 1.0], [3.0, 4.0]])
        >>> units, counts = jnp.array([[0, 1], [1, 0]]), jnp.array([[1, 1, 1, 1, 1], [2, 1, 0, 1, 1]])
        >>> print(unit_bootstraps(x, x, units, similarity=cka).round(3))
        [1. 1.]
        >>> print(unit_bootstraps(x, x, units, counts, similarity=cka_bootstraps).round(3))
        [1. 1.]
    """

    def of_draw(draw: tuple[Int[Array, " m"], Int[Array, " n"] | None]) -> Float[Array, ""]:
        chosen, held = jnp.where(draw[0][None] < 0, 0.0, y[:, draw[0]]), draw[1]
        return similarity(x, chosen) if held is None else similarity(x, chosen, held[None])[0]

    return batched_map(of_draw, (units, counts))
