"""Searchlights: the RDM of every neighbourhood of units, compared with RDMs of models."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from bsjax.engine.batches import in_blocks
from bsjax.engine.precision import at_full_precision
from bsjax.metrics.arrays import Targets
from bsjax.metrics.similarity.rdms.dissimilarities import Measure
from bsjax.metrics.similarity.rdms.rdm import rdm_to_compare
from bsjax.metrics.similarity.rdms.rdm_comparison import (
    Method,
    cleaned,
    compare_scaled,
    comparison_named,
    scaled,
)

# Numbers in a block of neighbourhoods: a fraction of a CPU's memory, and enough that a call of NumPy costs little.
_AT_A_TIME = 1 << 19


@at_full_precision
def searchlight_similarity(
    models: Float[Array, "k m"],
    y: Targets,
    neighbours: Int[Array, "c w"],
    members: Bool[Array, "c w"] | None = None,
    *,
    method: Method = "spearman",
    dissimilarity: Measure = "correlation",
) -> Float[Array, "k c"]:
    """Compares the RDM of every neighbourhood of units with RDMs of models.

    Neighbourhoods are computed in blocks, so that memory does not grow with their number.

    Args:
        models: dissimilarities of all pairs of stimuli, ``(models, pairs)``, as returned by ``rdm_pairs``.
        y: responses ``(stimuli, units)``, stimuli in the order of the models.
        neighbours: units of each neighbourhood, ``(centres, widest)``, int32; padded with any unit.
        members: False where padded; all if None.
        method: how RDMs are compared, see ``compare_rdm_vectors``.
        dissimilarity: as for ``rdm``.

    Returns:
        ``(models, centres)`` in the dtype of ``y``; NaN where an RDM is undefined, e.g. in neighbourhoods without a
        unit, or constant.

    Source: Kriegeskorte, Goebel & Bandettini 2006.

    Example:
        >>> import numpy as np
        >>> from bsjax.metrics import compiled, rdm, rdm_pairs
        >>> y = jnp.asarray(np.random.default_rng(0).normal(size=(8, 20)))
        >>> left, right = jnp.arange(20, dtype="int32").reshape(2, 10)
        >>> models = rdm_pairs(rdm(y[:, left]))[None]
        >>> print(compiled(searchlight_similarity)(models, y, jnp.stack([left, right])).round(2))
        [[ 1.   -0.11]]
    """
    comparison = comparison_named(method)
    models, bad = cleaned(models, None)
    models = scaled(models, None, comparison)
    factor = comparison.factor
    factors = models if factor is None else factor(models, None)

    def of_one(one: tuple[Array, Array]) -> Float[Array, " k"]:
        units, counts = one
        (pairs, errors), lost = rdm_to_compare(y[:, units], dissimilarity, comparison, units=counts)
        of_units = scaled(pairs[None], None, comparison, errors[None])
        if factor is None:
            found = compare_scaled(models, jnp.broadcast_to(of_units, models.shape), None, comparison)
        else:
            found = jnp.clip(jnp.sum(factors * factor(of_units, None), axis=1), -1.0, 1.0)
        return jnp.where(bad | jnp.any(lost) | ~jnp.any(counts), jnp.nan, found)

    members = jnp.ones(neighbours.shape, bool) if members is None else members
    most = _AT_A_TIME // (len(y) * (len(y) + neighbours.shape[1]))
    return in_blocks(jax.vmap(of_one), (neighbours, members), most).T
