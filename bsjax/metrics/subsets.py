"""A similarity of two sets of responses on many subsets of the stimuli."""

from collections.abc import Callable

import jax
from jaxtyping import Array, Bool, Float, Int

from bsjax.metrics.numerics import rotated_to_few_columns


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
        rotation_invariant: whether the similarity depends on inner products between stimuli alone, as CKA does: wide
            responses are then rotated into as many columns as stimuli once, for all subsets.

    Example:
        >>> import jax.numpy as jnp
        >>> from bsjax.metrics import cka
        >>> x = jnp.array([[0.0, 1.0], [1.0, 3.0], [2.0, 0.0], [5.0, 1.0], [3.0, 4.0]])
        >>> subsets, mask = jnp.array([[0, 1, 2, 3], [1, 2, 3, 4]]), jnp.ones((2, 4), bool)
        >>> print(similarity_on_subsets(x, x, subsets, mask, similarity=cka).round(3))
        [1. 1.]
    """
    if rotation_invariant:
        x, y = rotated_to_few_columns(x), rotated_to_few_columns(y)
    return jax.lax.map(lambda s: similarity(x[s[0]], y[s[0]], where=s[1]), (subsets, mask))
