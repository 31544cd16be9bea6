"""Intervals of ranks, computed such that a page's script can reproduce them exactly."""

import numpy as np
import scipy

from bsjax.results.ranks import ranks

_DRAWS = 10_000
# Numbers are rounded to multiples of a power of two, so that sums over benchmarks are exact in any order.
_BITS = 40


def ranks_over_benchmarks(
    scores: np.ndarray, weights: np.ndarray, averages: np.ndarray, level: float = 0.95, draws: int = _DRAWS
) -> np.ndarray:
    """Bootstrap the rank of each model by an average score, over benchmarks.

    Benchmarks are drawn with replacement, as many as there are and the same for all models. In each draw all models are
    ranked by their averages, so benchmarks that are hard for all models do not affect the ranks. A model is tied with
    the one above it if it scores at least as high in more than ``(1 - level) / 2`` of the draws.

    Args:
        scores: score of each benchmark and model, ``(benchmarks, models)``; any finite number if there is none.
        weights: weight of each benchmark in the average of each model, ``(benchmarks, models)``; 0 if it does not
            count.
        averages: average of each model, ``(models,)``; a model with NaN has no rank.
        level: confidence level of the intervals.
        draws: number of draws. They are the same in each call, from a counter hashed as in MurmurHash3.

    Returns:
        ``(models, 3)``: best rank, worst rank, and 1 if the model is tied with the one above; 0 without a rank.

    Example:
        >>> scores = np.array([[0.9, 0.2, 0.1], [0.8, 0.3, 0.2], [0.9, 0.2, 0.3], [0.7, 0.4, 0.2]])
        >>> ranks_over_benchmarks(scores, np.full((4, 3), 0.25), scores.mean(axis=0)).tolist()
        [[1, 1, 0], [2, 3, 0], [2, 3, 1]]
    """
    n, n_models = scores.shape
    found = np.zeros((n_models, 3), int)
    there = np.flatnonzero(~np.isnan(averages))
    if not len(there):
        return found
    picks = (_mixed(np.arange(1, draws * n + 1, dtype=np.uint32)).astype(np.uint64) * np.uint64(n)) >> np.uint64(32)
    places = np.repeat(np.arange(draws) * n, n) + picks.astype(int)
    times = np.bincount(places, minlength=draws * n).reshape(draws, n).astype(float)
    scale = 2.0 ** (_BITS - np.ceil(np.log2(max(1.0, np.abs(scores).max(initial=0.0)))))
    total = times @ np.floor(weights * scores * scale + 0.5)[:, there]
    size = times @ np.floor(weights * 2.0**_BITS + 0.5)[:, there]
    values = np.where(size > 0, total / np.where(size > 0, size, 1.0), -np.inf)
    placed = np.sort(scipy.stats.rankdata(-values, method="min", axis=1), axis=0)
    out = int(draws * (1 - level) / 2)
    found[there, 0], found[there, 1] = placed[out], placed[draws - 1 - out]
    order = np.lexsort([there, -averages[there]])
    not_behind = np.sum(values[:, order[1:]] >= values[:, order[:-1]], axis=0)
    found[there[order[1:]], 2] = not_behind > out
    return found


def _mixed(number: np.ndarray) -> np.ndarray:
    """Hash 32-bit integers by the final mixing steps of MurmurHash3."""
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        number = (number ^ (number >> np.uint32(shift))) * np.uint32(factor)
    return number ^ (number >> np.uint32(16))


def rank_bounds(scores: np.ndarray, errors: np.ndarray, states: list[str], level: float = 0.95) -> np.ndarray:
    """Compute the best and worst rank of each model on one benchmark that its errors allow.

    A model is surely ahead of another if the difference of their scores exceeds the two-sided ``level`` quantile of a
    normal distribution, whose standard deviation is the error of the difference of independent scores. The best rank of
    a model is one plus the number of models surely ahead of it. Its worst rank is the number of models minus those
    surely behind it. If errors are positively correlated, the bounds are too wide.

    Args:
        scores: score of each model, ``(models,)``; NaN if there is none.
        errors: error of each score, ``(models,)``; NaN is unknown and counts as 0.
        states: state of each model, as in :func:`~bsjax.results.aggregation.aggregate`; "missing" has no rank.
        level: confidence level for each pair.

    Returns:
        ``(models, 3)``: rank, best and worst rank; 0 without a rank. Models that were tried and have no score share the
        last rank.

    Example:
        >>> rank_bounds(np.array([0.9, 0.5, 0.49]), np.array([0.001, 0.1, 0.1]), ["scored"] * 3).tolist()
        [[1, 1, 1], [2, 2, 3], [3, 2, 3]]
    """
    rank = ranks(scores, states=states).fillna(0).to_numpy(int)
    found = np.repeat(rank[:, None], 3, axis=1)
    there = np.flatnonzero(~np.isnan(scores))
    values, squares = scores[there], np.nan_to_num(errors[there]) ** 2
    ahead = values[None] - values[:, None]
    sure = scipy.special.ndtri((1 + level) / 2) * np.sqrt(squares[None] + squares[:, None])
    found[there, 1] = 1 + (ahead > sure).sum(1)
    found[there, 2] = len(there) - (-ahead > sure).sum(1)
    return found
