"""Similarities of all times of one representation with all times of another."""

from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from bsjax.engine.batches import batched_map
from bsjax.engine.precision import at_full_precision
from bsjax.metrics.arrays import Scalar

Grid = Float[Array, "s t"]


@at_full_precision
def similarities_of_times(
    x: Float[Array, "n p s"],
    y: Float[Array, "n q t"],
    subsets: Int[Array, "g m"],
    *,
    similarity: Callable[..., Scalar],
    vector: Callable[..., Float[Array, " k"]] | None = None,
) -> tuple[Grid, Float[Array, "g s t"]]:
    """The similarity of each time of one side with each time of the other, on all stimuli and on subsets of them.

    With a ``vector``, such as the pairs of an RDM or the entries of a centred Gram matrix, each time is computed once,
    and one matrix product compares all with all.

    Args:
        x: responses ``(stimuli, units, times)``.
        y: responses of the other side to the same stimuli in the same order; units and times may differ in number.
        subsets: indices of the stimuli of each subset, e.g. without one group, for a jackknife; may be empty.
        similarity: function of two ``(stimuli, units)`` arrays, e.g. ``cka``.
        vector: function of one ``(stimuli, units)`` array to a vector of unit length, whose inner product with that of
            another is the similarity, e.g. ``cka_vector``; None if it has none.

    Returns:
        ``(times, times)``, and ``(subsets, times, times)`` for the subsets, in the dtype of the inputs; NaN where the
        similarity is.

    Source: King & Dehaene 2014, "Characterizing the dynamics of mental representations: the temporal generalization
    method"; Cichy, Pantazis & Oliva 2014.

    Example:
        >>> import numpy as np
        >>> from bsjax.metrics import cka
        >>> x = jnp.asarray(np.random.default_rng(0).normal(size=(30, 5, 3)))
        >>> found, _ = similarities_of_times(x, x[..., 1:], jnp.zeros((0, 20), int), similarity=cka)
        >>> print(jnp.argmax(found, axis=0))
        [1 2]
    """
    sides = [jnp.moveaxis(side, 2, 0) for side in (x, y)]

    def among(rows: Int[Array, " m"]) -> Grid:
        ours, theirs = (side[:, rows] for side in sides)
        if vector is not None:
            of_x, of_y = batched_map(vector, ours), batched_map(vector, theirs)
            return jnp.clip(of_x @ of_y.T, -1.0, 1.0)
        return batched_map(lambda one: batched_map(lambda other: similarity(one, other), theirs), ours)

    return among(jnp.arange(len(x))), batched_map(among, subsets)
