"""Chance level of the agreement of subjects' dissimilarity matrices (RDMs), by shuffled stimuli."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from bsjax.engine.batches import batched_map
from bsjax.engine.precision import at_full_precision
from bsjax.engine.tolerances import CANCELLED, rounding
from bsjax.metrics.ceilings.cross_subject import products_with_the_others
from bsjax.metrics.ceilings.noise_ceiling import rdm_noise_ceiling
from bsjax.metrics.numerics import inverse_root
from bsjax.metrics.similarity.rdms.rdm import pairs_in_order, rdm_pairs
from bsjax.metrics.similarity.rdms.rdm_comparison import Method, comparison_named, scaled


@at_full_precision
def shuffled_agreement(
    rdms: Float[Array, "s n n"], permutations: Int[Array, "draws s n"], *, method: Method = "spearman"
) -> Float[Array, " draws"]:
    r"""Agreement of each subject's RDM with those of the others, after permuting the stimuli of each subject.

    In every draw the stimuli of each subject are permuted separately. This is the null hypothesis that subjects share
    nothing but the distributions of their dissimilarities. The agreement is the mean over subjects of

    .. math:: z_s^T \bar z_{-s} / |\bar z_{-s}|

    where :math:`z_s` are the vectors whose inner product is the comparison, and :math:`\bar z_{-s}` is their mean over
    the other subjects. For corr and cosine, this is the lower bound of ``rdm_noise_ceiling(pooling="matched")``. For
    rank correlations, the mean ranks are not ranked again, so that each RDM is ranked only once for all draws. tau-a
    has no such vectors: the lower bound itself is computed, which takes hundreds of times as long. rho-a serves the
    same purpose.

    To test whether subjects agree at all, compute
    :math:`p = (1 + \#\{\text{draws} \geq \text{observed}\}) / (1 + \#\text{draws})`, where the observed agreement is
    that of a draw with all stimuli in place.

    Args:
        rdms: dissimilarities ``(subjects, stimuli, stimuli)``, symmetric. A subject with NaN off the diagonal is
            omitted.
        permutations: for each draw and subject, the index of the stimulus at each position.
        method: how two RDMs are compared, see ``compare_rdm_vectors``.

    Returns:
        ``(draws,)`` in the dtype of ``rdms``; NaN where fewer than two subjects are defined.

    Source: Phipson & Smyth 2010 on p; Nili et al. 2014.

    Example:
        >>> import jax.numpy as jnp
        >>> one = jnp.abs(jnp.array([0.0, 1.0, 3.0, 7.0])[:, None] - jnp.array([[0.0, 1.0, 3.0, 7.0]]))
        >>> orders = jnp.array([[[0, 1, 2, 3], [0, 1, 2, 3]], [[0, 1, 2, 3], [3, 2, 1, 0]]])
        >>> print(shuffled_agreement(jnp.stack([one, 2.0 * one]), orders, method="rho-a").round(3))
        [1.    0.257]
    """
    comparison = comparison_named(method)
    pairs = rdm_pairs(rdms)
    missing = jnp.isnan(pairs)
    own = scaled(jnp.where(missing, 0.0, pairs), None, comparison)
    vectors = own if comparison.factor is None else comparison.factor(own, None)
    defined = ~jnp.any(missing | jnp.isnan(vectors), axis=1)
    vectors = jnp.where(defined[:, None], vectors, 0.0 if comparison.factor is not None else jnp.nan)
    places = jax.vmap(pairs_in_order(jnp.arange(pairs.shape[1])))

    def of_draw(order: Int[Array, "s n"]) -> Float[Array, ""]:
        drawn = jnp.take_along_axis(vectors, places(order), axis=1)
        if comparison.factor is None:
            lower = rdm_noise_ceiling(drawn, method=comparison, pooling="matched")[0]
        else:
            with_others, _, squares = products_with_the_others(drawn @ drawn.T)
            cancelled = squares <= rounding(drawn, CANCELLED) ** 2
            lower = jnp.where(defined, with_others * inverse_root(squares, ~cancelled), jnp.nan)
        return jnp.where(jnp.sum(defined) < 2, jnp.nan, jnp.nanmean(lower))

    return batched_map(of_draw, permutations)
