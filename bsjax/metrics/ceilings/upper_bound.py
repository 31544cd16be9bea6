"""Upper bound of the mean similarity of any dissimilarity matrix (RDM) to those of several subjects."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from bsjax.engine.precision import at_full_precision
from bsjax.engine.row_blocks import sum_over_row_blocks
from bsjax.engine.tolerances import CANCELLED, rounding
from bsjax.metrics.numerics import divide_or_nan, inverse_root
from bsjax.metrics.similarity.rdms.rdm_comparison import Method, comparison_named

Rdms = Float[Array, "s m"]
PairMask = Bool[Array, "s m"]
Defined = Bool[Array, " s"]
PerSubject = Float[Array, " s"]

# 448 stimuli, for which comparing all pairs with all pairs takes a minute per ten subjects.
_MOST_PAIRS = 100_000


@at_full_precision
def highest_similarity(
    own: Rdms, where: PairMask | None, defined: Defined, *, method: Method = "spearman"
) -> PerSubject:
    r"""Upper bound of the similarity of one RDM to the RDMs of all subjects, with the contribution of each subject.

    No RDM has a mean similarity to the subjects above the mean of the values returned.

    ============== ================================================================================================
    corr, cosine,  Let :math:`z_s` be the unit-length vector of subject s in the comparison, and :math:`A` their mean.
    spearman       By Cauchy-Schwarz, :math:`\frac1S \sum_s z_s^T b / |b| \le |A|` for any b. The value of subject s is
                   :math:`z_s^T A / |A|`. For corr and cosine, :math:`b = A` attains the bound. For spearman, b must be
                   a vector of ranks; the best one stays below the bound by up to :math:`1 - \sqrt{3 / \pi}` = 2.3 %
                   where mean ranks are normally distributed, as with many subjects who agree little.
    rho-a          The value of the order of the mean ranks, which attains the bound; a tie counts as the mean of its
                   orders.
    tau-a          Every two dissimilarities in the order of most subjects. These orders may contradict one another, so
                   the bound may not be attained. The best overall order (Kemeny's) takes exponential time to find.
    ============== ================================================================================================

    Where pairs are missing, an RDM is compared with different subjects over different pairs. Subjects with the same
    pairs are bounded together, apart from others. A subject whose set of pairs no other subject has is bounded by 1,
    which is valid but loose. For tau-a, the majority is over the subjects who have both pairs.

    Args:
        own: RDMs ``(subjects, pairs)`` on the scale of the comparison, see ``scaled``.
        where: True where a subject has the pair; all if None.
        defined: False for subjects to omit.
        method: which comparison.

    Returns:
        ``(subjects,)`` in the dtype of the inputs; NaN for omitted subjects.

    Raises:
        ValueError: no bound is known for the comparison, or more than 100,000 pairs (448 stimuli) for tau-a, which
            compares all pairs with all pairs and takes a minute per ten subjects on one core.

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
        raise ValueError(
            "an upper bound needs a comparison with best= 'pool', 'length' or 'majority', this one has None"
        )
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
        # Sums of ranks, not of vectors: they and their ties are exact.
        pooled = together.astype(own.dtype) @ jnp.where(defined[:, None], own, 0.0)
        best = comparison.factor(comparison.scaled(jnp.broadcast_to(pooled, own.shape), where), where)
    else:
        mean = weights @ vectors
        squares = jnp.sum(mean**2, axis=1, keepdims=True)
        best = mean * inverse_root(squares, squares > rounding(mean, CANCELLED) ** 2)  # not where vectors cancel
    similarity = jnp.clip(jnp.sum(vectors * best, axis=1), -1.0, 1.0)
    return jnp.where(defined, similarity, jnp.nan)


def _agreement_with_majorities(own: Rdms, mask: PairMask) -> PerSubject:
    """Mean over pairs of entries: 1 where a subject orders them as most subjects do, -1 where oppositely."""
    # In the vote, a subject has the weight 1 / (number of its pairs), as in the mean over subjects.
    subjects, entries = own.shape
    if entries > _MOST_PAIRS:
        raise ValueError(
            f"the upper bound of tau-a compares all pairs with all pairs: at most {_MOST_PAIRS:,} pairs of stimuli, "
            f"there are {entries:,}; take rho-a, or pooling='matched'"
        )
    count = jnp.sum(mask, axis=1).astype(own.dtype)
    pairs = count * (count - 1.0) / 2.0
    # With equal numbers of pairs the share is 1 and a majority is counted exactly.
    share = jnp.max(pairs) / jnp.maximum(pairs, 1.0)
    own = jax.lax.stop_gradient(own).T

    def of_rows(rows: Float[Array, "r s"], counts: Bool[Array, "r s"]) -> PerSubject:
        both = counts[:, None, :] & mask.T[None, :, :]
        above = (rows[:, None, :] > own[None, :, :]) & both
        below = (rows[:, None, :] < own[None, :, :]) & both
        signs = above.astype(own.dtype) - below.astype(own.dtype)
        majority = jnp.sign(jnp.sum(signs * share[None, None, :], axis=2, keepdims=True))
        return jnp.sum(signs * majority, axis=(0, 1))

    net = sum_over_row_blocks(of_rows, own, mask.T, beside=4 * subjects)
    return divide_or_nan(0.5 * net, pairs, count < 2.0)
