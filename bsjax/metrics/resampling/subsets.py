"""A similarity of two sets of responses on many subsets of the stimuli."""

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
        rows, there = subset
        chosen = x[rows], y[rows]
        value = similarity(*chosen, where=there)
        undefined = _constant(chosen[0], there, longest[0]) | _constant(chosen[1], there, longest[1])
        return jnp.where(undefined, jnp.full_like(value, jnp.nan), value)

    return batched_map(of_subset, (subsets, mask))


def _constant(x: Float[Array, "m d"], there: Bool[Array, " m"], longest: Float[Array, ""]) -> Bool[Array, ""]:
    """Whether all that is left of responses without their mean is rounding of what brought them into few columns.

    Args:
        x: responses to a subset.
        there: which of them count.
        longest: the greatest sum of squares of a centred response, also of those that are not in the subset.
    """
    left = jnp.sum(deviations(x, there[:, None], axis=0).squares)
    return left <= (CANCELLED * jnp.finfo(x.dtype).eps) ** 2 * longest * jnp.sum(there).astype(x.dtype)
