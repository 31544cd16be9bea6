"""Intervals that hold the exact CKA, and the exact comparison of two RDMs."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from bsjax.engine.precision import at_full_precision
from bsjax.engine.primitives.ranks import ranks
from bsjax.engine.tolerances import rounding
from bsjax.metrics.arrays import Features, Scalar, Targets
from bsjax.metrics.bounds.angles import Within, cosine_within
from bsjax.metrics.bounds.products import products_within
from bsjax.metrics.similarity.cka import standardised, u_centred
from bsjax.metrics.similarity.rdms.dissimilarities import DISSIMILARITIES
from bsjax.metrics.similarity.rdms.rdm import known_patterns, rdm_pairs

BOUNDED_DISSIMILARITIES = ("correlation", "cosine", "sqeuclidean", "euclidean")
BOUNDED_COMPARISONS = ("spearman", "corr", "cosine")


@at_full_precision
def cka_within(x: Features, y: Targets, probes: Float[Array, "n k"], *, working: str, unbiased: bool = True) -> Within:
    r"""Interval that holds the exact CKA, from Gram matrices whose products are in another dtype.

    CKA is the cosine of the angle between two vectors: the doubly centred Gram matrices if biased. The unbiased
    estimator of HSIC is :math:`\langle P \tilde K, P \tilde L \rangle / n (n - 3)` with :math:`\tilde K` without its
    diagonal and :math:`P` the orthogonal projection onto matrices with a diagonal of zeros whose rows sum to zero
    (U-centring). A projection makes no error longer, so that ``cosine_within`` applies with the bounds of
    ``products_within``. Diagonals are computed in float64.

    Args:
        x, y: responses as for ``cka``, in float64.
        probes: as for ``products_within``.
        working: dtype of the products.
        unbiased: which estimator of HSIC.

    Returns:
        The ends; they hold ``cka`` in exact arithmetic with a probability of at least ``1 - FAILURE``, where it is
        defined.

    Source: Székely & Rizzo 2014, "Partial distance correlation with methods for dissimilarities" (U-centring).

    Example:
        >>> import jax, numpy as np
        >>> from bsjax.metrics import compiled
        >>> with jax.enable_x64(True):
        ...     x, probes = (jnp.asarray(np.random.default_rng(seed).normal(size=(40, 32))) for seed in (0, 1))
        ...     low, high = compiled(cka_within, working="float32")(x, x[:, :20], probes)
        ...     print(bool(high - low < 1e-5))
        True
    """
    sides = [_centred_gram(standardised(side, None, unbiased=unbiased), probes, working, unbiased) for side in (x, y)]
    return cosine_within(sides[0][0], sides[1][0], sides[0][1], sides[1][1])


def _centred_gram(
    side: Features, probes: Float[Array, "n k"], working: str, unbiased: bool
) -> tuple[Float[Array, " m"], Scalar]:
    """The centred Gram matrix as a vector, and the length of its error."""
    made, squares = products_within(side, probes, working), jnp.sum(side**2, axis=1)
    if unbiased:
        centred = u_centred(made.values)
    else:
        gram = made.values + jnp.diag(squares)
        means = jnp.mean(gram, axis=1)
        centred = gram - means[:, None] - means[None, :] + jnp.mean(means)
    unsure = rounding(side, 4 * sum(side.shape)) * jnp.sum(squares)
    return centred.ravel(), made.off + unsure


@at_full_precision
def rdm_similarity_within(
    x: Features,
    y: Targets,
    probes: Float[Array, "n k"],
    *,
    working: str,
    method: str = "spearman",
    dissimilarity: str = "correlation",
) -> Within:
    r"""Interval that holds the exact comparison of two RDMs, from inner products of patterns in another dtype.

    Comparisons are cosines of angles. For ``"corr"`` and ``"cosine"`` the error of an RDM is that of its products, see
    ``products_within``. For ``"spearman"``, each dissimilarity has an error of at most that of its row. Its rank is
    between one more than the number of dissimilarities that are smaller for certain, and the number of those that may
    not be larger. With the middle of this range as rank, the error is at most half its width.

    Args:
        x, y: responses as for ``rdm_similarity``, in float64.
        probes, working: as for ``products_within``.
        method: ``"spearman"``, ``"corr"`` or ``"cosine"``.
        dissimilarity: ``"correlation"``, ``"cosine"``, ``"sqeuclidean"``, and for ``"spearman"`` also ``"euclidean"``.

    Returns:
        The ends; they hold ``rdm_similarity`` in exact arithmetic with a probability of at least ``1 - FAILURE``, where
        it is defined. Dissimilarities that are exactly equal cannot be told from others within their errors, so that
        the interval is wide for RDMs of many ties.

    Source: Székely & Rizzo 2014 for the geometry; see ``cosine_within``.

    Example:
        >>> import jax, numpy as np
        >>> from bsjax.metrics import compiled
        >>> with jax.enable_x64(True):
        ...     x, probes = (jnp.asarray(np.random.default_rng(seed).normal(size=(40, 32))) for seed in (0, 1))
        ...     low, high = compiled(rdm_similarity_within, working="float32")(x, x[:, :20], probes)
        ...     print(bool(high - low < 1e-3))
        True
    """
    sides = [_vector(side, probes, working, method, dissimilarity) for side in (x, y)]
    return cosine_within(sides[0][0], sides[1][0], sides[0][1], sides[1][1])


def _vector(
    x: Features, probes: Float[Array, "n k"], working: str, method: str, dissimilarity: str
) -> tuple[Float[Array, " m"], Scalar]:
    """The vector of an RDM whose cosine a comparison takes, and the length of its error."""
    measure: Any = DISSIMILARITIES[dissimilarity]
    patterns, _ = known_patterns(x, measure)
    made, squares = products_within(patterns, probes, working), jnp.sum(patterns**2, axis=1)
    own = measure.errors(x, patterns) * float(x.shape[1]) ** 0.5  # which take a sum of errors as random
    rounded = own[:, None] + own[None, :]
    by_angle = dissimilarity in ("correlation", "cosine")
    entries = 1.0 - made.values if by_angle else squares[:, None] + squares[None, :] - 2.0 * made.values
    times = 1.0 if by_angle else 2.0
    pairs = rdm_pairs(entries)
    if method == "spearman":
        of_rows = jnp.minimum(made.off_rows[:, None], made.off_rows[None, :])
        return _ranks_within(pairs, rdm_pairs(times * of_rows + 2.0 * rounded))
    off = times * made.off / jnp.sqrt(2.0) + jnp.sqrt(jnp.sum(rdm_pairs(rounded) ** 2))
    return (pairs - jnp.mean(pairs) if method == "corr" else pairs), off


def _ranks_within(numbers: Float[Array, " m"], off: Float[Array, " m"]) -> tuple[Float[Array, " m"], Scalar]:
    """Centred middles of the possible ranks of numbers with errors, and the length of the error of all ranks."""
    m, off = len(numbers), off * (1.0 + 1e-9) + jnp.finfo(numbers.dtype).tiny
    low, high = numbers - off, numbers + off
    together = ranks(jnp.concatenate([low, high]))
    least = together[:m] - ranks(low) + 1.0
    most = together[m:] - ranks(high)
    middle = 0.5 * (least + most)
    return middle - jnp.mean(middle), jnp.sqrt(jnp.sum((0.5 * (most - least)) ** 2))
