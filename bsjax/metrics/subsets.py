"""A similarity of two sets of responses on many subsets of the stimuli."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from bsjax.metrics.numerics import CANCELLED, deviations, rotated_to_few_columns


def similarity_on_subsets(
    x: Float[Array, "n p"],
    y: Float[Array, "n q"],
    subsets: Int[Array, "subsets m"],
    mask: Bool[Array, "subsets m"],
    *,
    similarity: Callable[..., Float[Array, ""]],
    rotation_invariant: bool = False,
) -> Float[Array, " subsets"]:
    """``similarity(x[subset], y[subset])`` for every subset, one in memory at a time.

    Args:
        x, y: responses ``(stimuli, units)`` to the same stimuli in the same order.
        subsets: the stimuli of each subset, padded to one length.
        mask: False where padded.
        similarity: takes two sets of responses and ``where=``, e.g. ``cka`` or ``rdm_similarity``.
        rotation_invariant: whether the similarity depends on inner products between centred responses alone, as CKA
            does: responses are then centred, and wide ones rotated into as many columns as stimuli, once for all
            subsets.

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
        return jax.lax.map(lambda s: similarity(x[s[0]], y[s[0]], where=s[1]), (subsets, mask))
    x, y = (rotated_to_few_columns(deviations(side, None, axis=0).values) for side in (x, y))

    def of_subset(subset: tuple[Int[Array, " m"], Bool[Array, " m"]]) -> Float[Array, ""]:
        rows, there = subset
        value = similarity(x[rows], y[rows], where=there)
        undefined = _constant_within(x, rows, there) | _constant_within(y, rows, there)
        return jnp.where(undefined, jnp.full_like(value, jnp.nan), value)

    return jax.lax.map(of_subset, (subsets, mask))


def _constant_within(x: Float[Array, "n d"], rows: Int[Array, " m"], there: Bool[Array, " m"]) -> Bool[Array, ""]:
    """Whether all that is left of rotated responses without the mean of the subset is rounding of the rotation."""
    left = jnp.max(jnp.sum(deviations(x[rows], there[:, None], axis=0).values ** 2, axis=1))
    longest = jnp.max(jnp.sum(x**2, axis=1))
    return left <= (CANCELLED * jnp.finfo(x.dtype).eps) ** 2 * longest
