"""Comparisons of RDMs whose stimuli have weights, such as how often a draw holds each of them: of all draws at once."""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Real, Shaped

from bsjax.engine.batches import batched_map
from bsjax.engine.precision import at_full_precision
from bsjax.engine.primitives.ordering import changes, runs, sort_by_key, sortable
from bsjax.engine.primitives.row_pairs import numbers_of_pairs
from bsjax.engine.primitives.running_sums import running_sums
from bsjax.engine.tolerances import CANCELLED, rounding
from bsjax.metrics.numerics import divide_or_nan

_OF_RANKS = ("spearman", "rho-a")
METHODS = (*_OF_RANKS, "corr", "cosine")
"""Comparisons that take weights, see ``compare_rdm_vectors``."""

_Side = tuple[Array, ...]

# Weights of pairs that are in memory at a time, for as many draws as that is.
_AT_A_TIME, _MOST_DRAWS = 1 << 18, 32
# Of the squared length of ranks between -1/2 and 1/2, with a single pair of weight 1 that differs from all others.
_LEAST_SPREAD = 0.1


@at_full_precision
def compare_weighted_rdms(
    a: Float[Array, "k m"], b: Float[Array, "s m"], weights: Real[Array, "draws n"], *, method: str = "spearman"
) -> Float[Array, "draws k s"]:
    r"""``compare_all_rdm_vectors`` of RDMs in which each stimulus counts as often as its weight says, for many weights.

    A pair of stimuli has the product of their weights, and a stimulus makes no pair with its copies. Ranks are the
    weight of the pairs that are less and half the weight of those that are equal. The pairs of an RDM are put in order
    once: the ranks of all draws are then running sums of rows, with a draw to each column.

    Args:
        a, b: dissimilarities of all pairs of ``n`` stimuli, as ``rdm_pairs`` gives them.
        weights: of the stimuli, in each draw; integers or floats. Float weights have derivatives, ranks included.
        method: ``"spearman"``, ``"rho-a"``, ``"corr"`` or ``"cosine"``; see ``compare_rdm_vectors``. Kendall's tau-a
            has no such form.

    Returns:
        In the dtype of ``a``, in [-1, 1]. NaN where a pair that counts is NaN, and where ``compare_rdm_vectors`` is.
        Ranks have no gradient in the dissimilarities: it is zero.

    Raises:
        ValueError: a comparison without weights, or RDMs of another number of stimuli than there are weights.

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
    """``compare_weighted_rdms`` as a function of the weights, for which the pairs are in order already."""
    if method not in METHODS:
        raise ValueError(
            f"no weights of stimuli for the comparison of RDMs {method!r}; there are: {', '.join(METHODS)}"
        )
    if a.shape[0] > b.shape[0]:  # of the fewer, all are in memory
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
        draws, n = weights.shape
        pairs = n * (n - 1) // 2
        if a.shape[1] != pairs:
            raise ValueError(f"{n} weights are of {pairs} pairs of stimuli, the RDMs have {a.shape[1]} pairs")
        most = max(1, min(_MOST_DRAWS, _AT_A_TIME // max(1, pairs)))
        at_a_time = -(-draws // -(-draws // most))  # in blocks of about the same size
        blocks = jnp.pad(weights, ((0, -draws % at_a_time), (0, 0))).reshape(-1, at_a_time, n)
        # Recomputed for a gradient: what it would keep of all draws is what is to be spared.
        found = batched_map(jax.checkpoint(of_draws), blocks)
        return found.reshape(-1, *found.shape[2:])[:draws]

    return compared


def _of_one_size(rdm: Float[Array, " m"], method: str) -> _Side:
    """The dissimilarities, 0 for NaN, of which the largest is 1: without the mean of all for a correlation."""
    missing = jnp.isnan(rdm)
    values = jnp.where(missing, 0.0, rdm)
    if method == "corr":
        values = jnp.where(missing, 0.0, values - jnp.mean(values))
    largest = jnp.max(jnp.abs(values), initial=float(jnp.finfo(rdm.dtype).tiny))
    return (values / jax.lax.stop_gradient(largest),)


def _in_order(rdm: Float[Array, " m"]) -> _Side:
    """The pairs in order, and how many are before those of the value of each and up to the last of them."""
    places = jnp.arange(rdm.shape[0], dtype=jnp.int32)
    values = jax.lax.stop_gradient(jnp.where(jnp.isnan(rdm), 0.0, rdm))
    keys, order = sort_by_key(sortable(values, None), places)
    first, last = runs(changes(keys))
    return order, places.at[order].set(first), places.at[order].set(last + 1)


def _scaled(
    side: _Side, pairs: Shaped[Array, "m d"], dtype: jnp.dtype, method: str
) -> tuple[Float[Array, "m d"], Float[Array, "m d"], Float[Array, " d"], Bool[Array, " d"]]:
    """An RDM on the scale of a comparison in each draw, by itself and times the weights; its length; if it has none."""
    weights = pairs.astype(dtype)
    total = jnp.sum(weights, axis=0)
    nothing = ~(total > 0)
    size = jnp.where(nothing, 1.0, total)
    if method in _OF_RANKS:
        values = _centred_ranks(side, pairs).astype(dtype) / (2.0 * size)[None]
        least = _LEAST_SPREAD * jnp.min(jnp.where(weights > 0, weights, jnp.inf), axis=0, initial=jnp.inf)
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
    """Twice the difference of each rank from their mean: the weight of the pairs that are less, less that of more."""
    order, before, up_to = side
    sums = running_sums(weights[order])
    sums = jnp.concatenate([jnp.zeros_like(sums[:1]), sums])
    return sums[before] - (sums[-1:] - sums[up_to])
