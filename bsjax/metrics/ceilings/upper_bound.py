"""The similarity to several dissimilarity matrices (RDMs) that none exceeds, whatever its dissimilarities."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from bsjax.engine.precision import at_full_precision
from bsjax.engine.row_blocks import sum_over_row_blocks
from bsjax.metrics.numerics import CANCELLED, divide_or_nan
from bsjax.metrics.similarity.rdm_comparison import Comparison, comparison_named

# 448 stimuli. The comparison of all pairs with all pairs takes a minute per ten subjects then.
_MOST_PAIRS = 100_000


@at_full_precision
def highest_similarity(
    own: Float[Array, "s m"],
    where: Bool[Array, "s m"] | None,
    defined: Bool[Array, " s"],
    *,
    method: str | Comparison = "spearman",
) -> Float[Array, " s"]:
    r"""What each subject has of the greatest similarity that an RDM can have to all subjects, on average.

    The mean over subjects of the comparison with one RDM never exceeds the mean of what is given here.

    ============== ================================================================================================
    corr, cosine,  With :math:`z_s` the vector of unit length that subject s is compared by, and :math:`A` their mean,
    spearman       :math:`\frac1S \sum_s z_s^T b / |b| \le |A|` for any b (Cauchy-Schwarz). Subject s has
                   :math:`z_s^T A / |A|`. For corr and cosine :math:`b = A` attains it. The ranks of an RDM are no such
                   b: the best of them stays below by up to :math:`1 - \sqrt{3 / \pi}` = 2.3 % of the bound where mean
                   ranks are normal, as they become with many subjects who agree little.
    rho-a          The order of the mean ranks, which attains it: a tie counts like the mean of its orders.
    tau-a          Each two dissimilarities ordered as by most subjects. That may be no order of all of them, whose best
                   one takes exponential time to find (Kemeny's), so that the bound need not be attained.
    ============== ================================================================================================

    Where subjects lack pairs, an RDM is compared with each over other pairs. Subjects with the same pairs are bounded
    together, the others apart, and a subject whose pairs nobody else has by 1, which is a bound still, but a loose one.
    For tau-a the majority is over those subjects who have both pairs.

    Args:
        own: RDMs ``(subjects, pairs)`` on the scale of the comparison, see ``scaled``.
        where: True where a subject has the pair; all if None.
        defined: False for a subject that is left out.
        method: which comparison.

    Returns:
        ``(subjects,)`` in the dtype of the inputs; NaN for those that are left out.

    Raises:
        ValueError: no bound is known for the comparison, or more than 100,000 pairs (448 stimuli) for tau-a, which
            compares all pairs with all pairs: a minute per ten subjects on one core.

    Source: Nili et al. 2014 on the bound; Schütt et al. 2023 on rho-a; Kemeny 1959 on the best order.

    Example:
        >>> import jax.numpy as jnp
        >>> ranks = jnp.array([[1.0, 2.0, 3.0, 4.0], [1.0, 2.5, 2.5, 4.0], [2.0, 1.0, 3.0, 4.0]])
        >>> everyone = jnp.ones(3, bool)
        >>> print(*(f"{highest_similarity(ranks, None, everyone, method=m).mean():.3f}" for m in ("rho-a", "tau-a")))
        0.900 0.833
    """
    comparison = comparison_named(method)
    if comparison.best is None:
        raise ValueError("no RDM is known that is most similar to several by this comparison: set best= of it")
    if comparison.factor is None:
        mask = defined[:, None] if where is None else where & defined[:, None]
        return jnp.where(defined, _agreement_with_majorities(own, mask & jnp.ones(own.shape, bool)), jnp.nan)
    vectors = comparison.factor(own, where)
    defined = defined & ~jnp.any(jnp.isnan(vectors), axis=1)
    vectors = jnp.where(defined[:, None], vectors, 0.0)
    together = defined[None, :]
    if where is not None:
        together = together & jax.vmap(lambda pairs: jnp.all(where == pairs[None, :], axis=1))(where)
    weights = together.astype(own.dtype)
    weights = weights / jnp.maximum(jnp.sum(weights, axis=1, keepdims=True), 1.0)
    if comparison.best == "pool":
        # Not of the vectors: sums of ranks are exact, and with them their ties.
        pooled = together.astype(own.dtype) @ jnp.where(defined[:, None], own, 0.0)
        best = comparison.factor(comparison.scaled(jnp.broadcast_to(pooled, own.shape), where), where)
    else:
        best = _of_unit_length(weights @ vectors)
    similarity = jnp.clip(jnp.sum(vectors * best, axis=1), -1.0, 1.0)
    return jnp.where(defined, similarity, jnp.nan)


def _of_unit_length(mean: Float[Array, "pools m"]) -> Float[Array, "pools m"]:
    """Means of vectors of unit length, made that long; zero where they cancel."""
    squares = jnp.sum(mean**2, axis=1, keepdims=True)
    cancelled = squares <= (CANCELLED * jnp.finfo(mean.dtype).eps) ** 2
    return jnp.where(cancelled, 0.0, mean / jnp.sqrt(jnp.where(cancelled, 1.0, squares)))


def _agreement_with_majorities(own: Float[Array, "s m"], mask: Bool[Array, "s m"]) -> Float[Array, " s"]:
    """Of each subject, the mean over pairs of its entries of 1 where most order them alike, and -1 where oppositely.

    A subject counts by one over how many pairs of entries it has, as in the mean over subjects.
    """
    subjects, entries = own.shape
    if entries > _MOST_PAIRS:
        raise ValueError(
            f"the upper bound of tau-a compares all pairs with all pairs: at most {_MOST_PAIRS:,} pairs of stimuli, "
            f"there are {entries:,}; take rho-a, or pooling='matched'"
        )
    count = jnp.sum(mask, axis=1).astype(own.dtype)
    pairs = count * (count - 1.0) / 2.0
    # Where all have as many, the share is 1 and a majority is counted exactly.
    share = jnp.max(pairs) / jnp.maximum(pairs, 1.0)
    own = jax.lax.stop_gradient(own).T

    def of_rows(rows: Float[Array, "r s"], counts: Bool[Array, "r s"]) -> Float[Array, " s"]:
        both = counts[:, None, :] & mask.T[None, :, :]
        above = (rows[:, None, :] > own[None, :, :]) & both
        below = (rows[:, None, :] < own[None, :, :]) & both
        signs = above.astype(own.dtype) - below.astype(own.dtype)
        majority = jnp.sign(jnp.sum(signs * share[None, None, :], axis=2, keepdims=True))
        return jnp.sum(signs * majority, axis=(0, 1))

    net = sum_over_row_blocks(of_rows, own, mask.T, beside=4 * subjects)
    return divide_or_nan(0.5 * net, pairs, count < 2.0)
