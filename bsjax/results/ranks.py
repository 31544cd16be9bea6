"""Ranks of models by score, and their uncertainty."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import scipy

from bsjax.core.messages import some

Scores = Sequence[float] | np.ndarray | pd.Series

_MISSING = "missing"


def ranks(scores: Scores, states: Iterable[str] | None = None) -> pd.Series:
    """The rank of each model: one more than the number of models ahead, so that equal scores share a rank (1, 2, 2, 4).

    Models whose score is NaN were tried without success, and share the last rank. Models that were not tried have no
    rank.

    Args:
        scores: one for each model.
        states: one for each model, as from :func:`~bsjax.results.aggregation.aggregate`: models that are "missing"
            have no rank. By default none is missing.

    Returns:
        Integers, NA where there is no rank; with the index of ``scores`` if that is a series.

    Raises:
        ValueError: scores are not a row of numbers, or the numbers of states and scores differ.

    Example:
        >>> ranks([0.4, 0.5, 0.4, 0.1, float("nan")]).tolist()
        [2, 1, 2, 4, 5]
        >>> ranks([0.4, float("nan"), float("nan")], states=["scored", "failed", "missing"]).tolist()
        [1, 2, <NA>]
    """
    values = _numbers(scores, "scores")
    there = ~_are_missing(states, len(values))
    placed = np.full(len(values), np.nan)
    placed[there] = pd.Series(values[there]).rank(method="min", ascending=False, na_option="bottom")
    return _whole(placed, scores)


def rank_intervals(
    scores: Scores,
    errors: Scores,
    level: float = 0.95,
    n: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Intervals of each model's rank under resampled scores.

    Each score is drawn ``n`` times from a normal distribution around it, with its error as standard deviation,
    independently of the others, and models are ranked in each draw as by :func:`ranks`. The interval runs from the
    highest rank that at most (1 - level) / 2 of the draws fall below, to the lowest rank that at most as many exceed.

    Errors of models on the same stimuli are usually correlated; these intervals are then too wide, and
    ``bsjax.compare_models`` gives ranges of ranks from the models' differences.

    Args:
        scores: one for each model; NaN is last in each draw.
        errors: one for each model; a score whose error is NaN is constant over draws.
        level: minimum share of draws within the interval.
        n: number of draws.
        seed: of the draws.

    Returns:
        One row for each model, with the index of ``scores`` if that is a series: the ``rank`` of the score, and
        ``low`` and ``high``, the best and the worst rank of the interval.

    Raises:
        ValueError: ``level`` is not between 0 and 1, or ``n`` is less than 1; the numbers of errors and scores differ;
            an error is negative or infinite, or a score infinite.

    Example:
        >>> rank_intervals([0.9, 0.5, 0.49], [0.001, 0.1, 0.1]).values.tolist()
        [[1, 1, 1], [2, 2, 3], [3, 2, 3]]
    """
    values = _numbers(scores, "scores")
    if not 0 < level < 1:
        raise ValueError(f"the level of an interval must be between 0 and 1, got {level!r}")
    placed = ranks(scores)
    ends = np.repeat(placed.to_numpy(float)[None], 2, axis=0)
    there = np.flatnonzero(~np.isnan(values))
    drawn = _within_errors(values, errors, n, seed)
    if len(there):
        placed_in_draws = np.sort(scipy.stats.rankdata(-drawn[:, there], method="min", axis=1), axis=0)
        out = int(len(drawn) * (1 - level) / 2)
        ends[:, there] = placed_in_draws[[out, len(drawn) - 1 - out]]
    low, high = (_whole(end, scores) for end in ends)
    return pd.DataFrame({"rank": placed, "low": low, "high": high})


def _within_errors(values: np.ndarray, errors: Any, n: int, seed: int) -> np.ndarray:
    """Scores drawn independently from normal distributions, ``(draws, models)``."""
    spread = _numbers(errors, "errors")
    if n < 1:
        raise ValueError(f"an interval takes one draw or more, got n={n!r}")
    if len(values) != len(spread):
        raise ValueError(f"there must be as many errors as scores, got {len(spread)} and {len(values)}")
    wrong = np.flatnonzero((spread < 0) | np.isinf(spread) | np.isinf(values))
    if len(wrong):
        said = some([f"{values[at]} ± {spread[at]} at {at}" for at in wrong])
        raise ValueError(f"scores must be finite, or NaN, and errors besides 0 or more, got {said}")
    there = ~np.isnan(values)
    drawn = np.full((n, len(values)), np.nan)
    noise = np.random.default_rng(seed).standard_normal((n, there.sum()))
    drawn[:, there] = values[there] + np.nan_to_num(spread[there]) * noise
    return drawn


def _numbers(given: Any, what: str) -> np.ndarray:
    try:
        numbers = pd.Series(given, dtype=float).to_numpy()
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} must be a row of numbers, one for each model: {error}") from None
    return numbers


def _are_missing(states: Iterable[str] | None, n: int) -> np.ndarray:
    if states is None:
        return np.zeros(n, bool)
    missing = np.array([state == _MISSING for state in states], bool)
    if len(missing) != n:
        raise ValueError(f"there must be as many states as scores, got {len(missing)} and {n}")
    return missing


def _whole(placed: np.ndarray, like: Any) -> pd.Series:
    """Ranks as integers, with the index of the scores."""
    index = like.index if isinstance(like, pd.Series) else None
    return pd.Series(pd.array(placed, dtype="Int64"), index=index)
