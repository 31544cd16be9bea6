"""Similarity of one dissimilarity matrix to those of several subjects."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from bsjax.engine.precision import at_full_precision
from bsjax.metrics.similarity.rdm import rdm, rdm_pairs
from bsjax.metrics.similarity.rdm_comparison import compare_rdm_vectors


@at_full_precision
def similarity_to_subjects(
    features: Float[Array, "n d"],
    responses: Float[Array, "s n p"],
    units: Bool[Array, "s p"] | None = None,
    seen: Bool[Array, "s n"] | None = None,
    *,
    method: str = "spearman",
) -> Float[Array, " s"]:
    """The RDM of a model, 1 - Pearson correlation, compared with that of each subject's responses.

    Args:
        features: of the model, ``(stimuli, units)``.
        responses: ``(subjects, stimuli, units)``; subjects with fewer units are padded.
        units: False where padded; all if None.
        seen: True where a subject has responses to a stimulus; all if None.
        method: see ``compare_rdm_vectors``.

    Returns:
        One similarity per subject, in the dtype of the inputs; NaN for a subject with a stimulus whose pattern is
        constant.

    Example:
        >>> import jax.numpy as jnp
        >>> from bsjax.metrics import compiled
        >>> x = jnp.array([[0.0, 1.0, 5.0], [1.0, 3.0, 2.0], [2.0, 0.0, 1.0], [5.0, 1.0, 0.0]])
        >>> print(compiled(similarity_to_subjects)(x, jnp.stack([x, 2.0 * x])).round(3))
        [1. 1.]
    """
    theirs = rdm_pairs(rdms_of_subjects(responses, units))
    pairs = None if seen is None else rdm_pairs(seen[:, :, None] & seen[:, None, :])
    ours = jnp.broadcast_to(rdm_pairs(rdm(features)), theirs.shape)
    return compare_rdm_vectors(ours, theirs, method=method, where=pairs)


@at_full_precision
def rdms_of_subjects(
    responses: Float[Array, "s n p"],
    units: Bool[Array, "s p"] | None = None,
    *,
    dissimilarity: Callable[..., Float[Array, "n n"]] = rdm,
) -> Float[Array, "s n n"]:
    """The RDM of each subject's responses.

    Args:
        responses: ``(subjects, stimuli, units)``; subjects with fewer units are padded.
        units: False where padded; all if None.
        dissimilarity: from responses ``(stimuli, units)`` and ``where=``, which units count, to an RDM.

    Example:
        >>> import jax.numpy as jnp
        >>> rdms_of_subjects(jnp.ones((2, 4, 3))).shape
        (2, 4, 4)
    """
    return jax.vmap(lambda x, where: dissimilarity(x, where=where))(responses, units)
