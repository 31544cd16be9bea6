"""The agreement of subjects' dissimilarity matrices (RDMs) against that of shuffled stimuli."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from bsjax.engine.batches import batched_map
from bsjax.engine.precision import at_full_precision
from bsjax.metrics.ceilings.cross_subject import products_with_the_others
from bsjax.metrics.ceilings.noise_ceiling import rdm_noise_ceiling
from bsjax.metrics.numerics import CANCELLED
from bsjax.metrics.similarity.rdm import pairs_in_order, rdm_pairs
from bsjax.metrics.similarity.rdm_comparison import Comparison, comparison_named, scaled


@at_full_precision
def shuffled_agreement(
    rdms: Float[Array, "s n n"], permutations: Int[Array, "draws s n"], *, method: str | Comparison = "spearman"
) -> Float[Array, " draws"]:
    r"""How well each subject's RDM agrees with those of the others, when each one's stimuli are in another order.

    In every draw the stimuli of each subject are permuted, which is what they would look like if subjects had nothing
    in common but how their dissimilarities are distributed. The agreement is the mean over subjects of

    .. math:: z_s^T \bar z_{-s} / |\bar z_{-s}|

    with :math:`z_s` the vectors that the comparison is an inner product of and :math:`\bar z_{-s}` their mean over the
    others: the lower bound of ``rdm_noise_ceiling(pooling="matched")`` for corr and cosine, and for ranks that of the
    mean ranks, which are not ranked again. All that takes is the inner products of subjects, with each RDM ranked once
    for all draws. For tau-a, which has no such vectors, it is the lower bound itself, and takes hundreds of times as
    long: rho-a is for the same purpose.

    A test that subjects agree at all: :math:`p = (1 + \#\{\text{draws} \geq \text{observed}\}) / (1 + \#\text{draws})`,
    where what is observed is the draw in which no stimulus moves.

    Args:
        rdms: dissimilarities ``(subjects, stimuli, stimuli)``, symmetric. A subject with NaN off the diagonal is left
            out.
        permutations: of each draw and subject, the stimulus that comes to each place.
        method: how two RDMs are compared, see ``compare_rdm_vectors``.

    Returns:
        ``(draws,)`` in the dtype of ``rdms``; NaN where less than two subjects are defined.

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
            lower = jnp.where(defined, _with_the_mean_of_others(drawn @ drawn.T), jnp.nan)
        return jnp.where(jnp.sum(defined) < 2, jnp.nan, jnp.nanmean(lower))

    return batched_map(of_draw, permutations)


def _with_the_mean_of_others(products: Float[Array, "s s"]) -> Float[Array, " s"]:
    """The cosine-like agreement of every subject from the inner products of all, 0 where the others cancel."""
    with_others, _, squares = products_with_the_others(products)
    cancelled = squares <= (CANCELLED * jnp.finfo(products.dtype).eps) ** 2
    return jnp.where(cancelled, 0.0, with_others / jnp.sqrt(jnp.where(cancelled, 1.0, squares)))
