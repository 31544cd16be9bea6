"""Comparisons of RDMs with weighted stimuli, such as the counts of bootstrap draws, for many draws at once."""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Real, Shaped

from bsjax.engine.batches import batched_map, in_blocks
from bsjax.engine.precision import at_full_precision
from bsjax.engine.primitives.ordering import changes, runs, sort_by_key, sortable
from bsjax.engine.primitives.row_pairs import numbers_of_pairs
from bsjax.engine.primitives.running_sums import running_sums
from bsjax.engine.tolerances import CANCELLED, rounding
from bsjax.metrics.numerics import divide_or_nan
from bsjax.metrics.similarity.rdms.rdm_comparison import LEAST_SPREAD

_OF_RANKS = ("spearman", "rho-a")
METHODS = (*_OF_RANKS, "corr", "cosine")
"""Comparisons that support weights, see ``compare_rdm_vectors``."""

_Side = tuple[Array, ...]

# Number of pair weights in memory at a time, and the largest number of draws in a block.
_AT_A_TIME, _MOST_DRAWS = 1 << 18, 32


@at_full_precision
def compare_weighted_rdms(
    a: Float[Array, "k m"], b: Float[Array, "s m"], weights: Real[Array, "draws n"], *, method: str = "spearman"
) -> Float[Array, "draws k s"]:
    r"""``compare_all_rdm_vectors`` with weighted stimuli, for many sets of weights.

    The weight of a pair is the product of the weights of its stimuli; copies of a stimulus form no pair. The rank of a
    pair is the total weight of all smaller dissimilarities plus half the weight of equal ones. The pairs of an RDM are
    sorted once; the ranks of all draws are then running sums over rows, with one column per draw.

    Args:
        a, b: dissimilarities of all pairs of ``n`` stimuli, as returned by ``rdm_pairs``.
        weights: weights of the stimuli in each draw, integers or floats. Results are differentiable with respect to
            float weights, ranks included.
        method: ``"spearman"``, ``"rho-a"``, ``"corr"`` or ``"cosine"``; see ``compare_rdm_vectors``. Kendall's tau-a
            is not supported.

    Returns:
        Values in [-1, 1], in the dtype of ``a``. NaN where a pair that counts is NaN, and where ``compare_rdm_vectors``
        is NaN. For ranks, the gradient with respect to the dissimilarities is zero.

    Raises:
        ValueError: the comparison does not support weights, or the number of weights is not that of the stimuli.

    Source: Schütt et al. 2023 (pairs of copies left out).

    Example:
        >>> from bsjax.metrics import compiled, rdm_pairs
        >>> a = rdm_pairs(jnp.array([[[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.0, 0.0]]]))
        >>> print(compiled(compare_weighted_rdms)(a, -(a**2), jnp.array([[1, 1, 1], [2, 1, 0]])).round(3).ravel())
        [-1. nan]
    """
    return weighted_comparison(a, b, method=method)(weights)


def weighted_comparison(
    a: Float[Array, "k m"], b: Float[Array, "s m"], *, method: str = "spearman"
) -> Callable[[Real[Array, "draws n"]], Float[Array, "draws k s"]]:
    """Returns ``compare_weighted_rdms`` as a function of the weights, with pairs sorted once."""
    if method not in METHODS:
        raise ValueError(
            f"stimuli cannot be weighted in the comparison of RDMs {method!r}; they can in: {', '.join(METHODS)}"
        )
    if a.shape[0] > b.shape[0]:  # all RDMs of the smaller set are in memory
        exchanged = weighted_comparison(b, a, method=method)
        return lambda weights: jnp.swapaxes(exchanged(weights), 1, 2)
    of_a, of_b = (
        jax.vmap(_in_order if method in _OF_RANKS else partial(_of_one_size, method=method))(x) for x in (a, b)
    )
    missing = [jnp.isnan(side).astype(a.dtype) for side in (a, b)]

    def of_draws(some: Real[Array, "d n"]) -> Float[Array, "d k s"]:
        left, right = numbers_of_pairs(some.shape[1])
        pairs = some.T[left] * some.T[right]
        scaled = partial(_scaled, pairs=pairs, dtype=a.dtype, method=method)
        lost = [side @ (pairs > 0).astype(a.dtype) > 0 for side in missing]
        _, ours, length, undefined = jax.vmap(scaled)(of_a)

        def with_each(side: _Side) -> Float[Array, "d k"]:
            theirs, _, their_length, none = scaled(side)
            both = jnp.sum(ours * theirs[None], axis=1)
            return divide_or_nan(both, length * their_length[None], undefined | none[None]).T

        found = jnp.clip(jnp.moveaxis(batched_map(with_each, of_b), 0, -1), -1.0, 1.0)
        return jnp.where(lost[0].T[:, :, None] | lost[1].T[:, None, :], jnp.nan, found)

    def compared(weights: Real[Array, "draws n"]) -> Float[Array, "draws k s"]:
        n = weights.shape[1]
        pairs = n * (n - 1) // 2
        if a.shape[1] != pairs:
            raise ValueError(f"weights of {n} stimuli need RDMs of {pairs} pairs, got {a.shape[1]} pairs")
        most = min(_MOST_DRAWS, _AT_A_TIME // max(1, pairs))
        # What the loop over draws makes is computed again for a gradient, instead of kept for each block.
        return in_blocks(jax.checkpoint(of_draws), weights, most)

    return compared


def _of_one_size(rdm: Float[Array, " m"], method: str) -> _Side:
    """Dissimilarities scaled to a maximum of 1, centred for a correlation, with 0 for NaN."""
    missing = jnp.isnan(rdm)
    values = jnp.where(missing, 0.0, rdm)
    if method == "corr":
        values = jnp.where(missing, 0.0, values - jnp.mean(values))
    largest = jnp.max(jnp.abs(values), initial=float(jnp.finfo(rdm.dtype).tiny))
    return (values / jax.lax.stop_gradient(largest),)


def _in_order(rdm: Float[Array, " m"]) -> _Side:
    """The sorting order of the pairs, and for each pair the numbers of smaller, and of smaller or equal, pairs."""
    places = jnp.arange(rdm.shape[0], dtype=jnp.int32)
    values = jax.lax.stop_gradient(jnp.where(jnp.isnan(rdm), 0.0, rdm))
    keys, order = sort_by_key(sortable(values, None), places)
    first, last = runs(changes(keys))
    return order, places.at[order].set(first), places.at[order].set(last + 1)


def _scaled(
    side: _Side, pairs: Shaped[Array, "m d"], dtype: jnp.dtype, method: str
) -> tuple[Float[Array, "m d"], Float[Array, "m d"], Float[Array, " d"], Bool[Array, " d"]]:
    """An RDM on the scale of a comparison in each draw, the same times weights, its length, and if undefined."""
    weights = pairs.astype(dtype)
    total = jnp.sum(weights, axis=0)
    nothing = ~(total > 0)
    size = jnp.where(nothing, 1.0, total)
    if method in _OF_RANKS:
        values = _centred_ranks(side, pairs).astype(dtype) / (2.0 * size)[None]
        least = LEAST_SPREAD * jnp.min(jnp.where(weights > 0, weights, jnp.inf), axis=0, initial=jnp.inf)
    else:
        mean = jnp.sum(weights * side[0][:, None], axis=0) / size if method == "corr" else jnp.zeros_like(size)
        values = side[0][:, None] - mean[None]
        least = total * (rounding(mean, CANCELLED) * mean) ** 2
    weighted = weights * values
    if method == "rho-a":
        undefined, squares = total < 2.0, (total - 1.0 / size) / 12.0
    else:
        squares = jnp.sum(weighted * values, axis=0)
        undefined = nothing | ~(squares > least)
    return values, weighted, jnp.sqrt(jnp.where(undefined, 1.0, squares)), undefined


def _centred_ranks(side: _Side, weights: Shaped[Array, "m d"]) -> Shaped[Array, "m d"]:
    """Twice the centred ranks: the total weight of smaller pairs minus that of larger pairs."""
    order, before, up_to = side
    sums = running_sums(weights[order])
    sums = jnp.concatenate([jnp.zeros_like(sums[:1]), sums])
    return sums[before] - (sums[-1:] - sums[up_to])
