"""Attacks on upper bounds: dissimilarity matrices (RDMs) that are as similar to several subjects' as can be found."""

import itertools
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from scipy.stats import rankdata

from bsjax.metrics import compare_rdm_vectors


def by_gradients(rdms, method, starts=4, seed=0):
    """The greatest mean similarity that gradient ascent reaches, for comparisons that have gradients."""
    rng = np.random.default_rng(seed)
    first = np.concatenate([rng.random((starts, rdms.shape[1])), rdms, rdms.mean(axis=0, keepdims=True)])
    return float(_ascended(jnp.asarray(first), jnp.asarray(rdms), method=method))


@partial(jax.jit, static_argnames="method")
def _ascended(b, rdms, *, method):
    def similarity(b):
        return jnp.mean(compare_rdm_vectors(jnp.broadcast_to(b, rdms.shape), rdms, method=method))

    def length(b):
        return jnp.linalg.norm(b, axis=1, keepdims=True)

    def ascend(b, rate):
        gradient = jax.vmap(jax.grad(similarity))(b)
        b = b + rate * length(b) * gradient / (length(gradient) + 1e-12)
        return b / length(b), None

    return jnp.max(jax.vmap(similarity)(jax.lax.scan(ascend, b, jnp.asarray(0.3 * 0.95 ** np.arange(300)))[0]))


def by_moves(rdms, method, starts=6, seed=0):
    """The greatest mean similarity that is reached by moving one dissimilarity after another, for comparisons of ranks.

    A move puts a dissimilarity beside another one, as its tie or as its neighbour, and the best of all moves is taken
    until none helps. Starts are random orders, the subjects' own ones, and those of their mean ranks and their mean.
    """
    rng = np.random.default_rng(seed)
    m = rdms.shape[1]
    mean_ranks = rankdata(rdms, axis=1).mean(axis=0)
    first = [*rng.random((starts, m)), *rdms, mean_ranks, rdms.mean(axis=0), np.round(mean_ranks)]
    return max(_climbed(rankdata(start), rdms, method) for start in first)


def _climbed(b, rdms, method):
    best = mean_similarities(b[None], rdms, method)[0]
    while True:
        moved = np.repeat(b[None], b.size * 2 * b.size, axis=0)
        entry = np.repeat(np.arange(b.size), 2 * b.size)
        places = np.tile(np.concatenate([b, b + 0.25]), b.size)
        moved[np.arange(len(moved)), entry] = places
        found = mean_similarities(moved, rdms, method)
        if not found.max() > best + 1e-12:
            return best
        best, b = found.max(), rankdata(moved[np.argmax(found)])


def weak_orders(m):
    """All orders of ``m`` things of which some may be tied."""
    levels = np.array(list(itertools.product(range(m), repeat=m)), float)
    dense = levels.max(axis=1) == [len(set(row)) - 1 for row in levels]
    return levels[dense]


def mean_similarities(candidates, rdms, method):
    """The mean over subjects of the comparison of ranks with each candidate, by its definition."""
    m = rdms.shape[1]
    if method == "tau-a":
        i, j = np.triu_indices(m, 1)
        a, b = (np.sign(x[:, i] - x[:, j]) for x in (candidates, rdms))
        return (a @ b.T).mean(axis=1) / len(i)
    a, b = (rankdata(x, axis=1) - (m + 1) / 2 for x in (candidates, rdms))
    if method == "rho-a":
        return 12 * (a @ b.T).mean(axis=1) / (m**3 - m)
    lengths = [np.linalg.norm(x, axis=1) for x in (a, b)]
    a = a / np.where(lengths[0] == 0, 1, lengths[0])[:, None]
    return (a @ (b / lengths[1][:, None]).T).mean(axis=1)
