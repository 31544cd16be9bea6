"""Ranks of models by score, and their uncertainty."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import scipy

from bsjax.core.messages import some
from bsjax.labelled.uncertainty import BOTH, FACTOR

if TYPE_CHECKING:
    from bsjax.labelled import Score

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
    errors: Scores | None = None,
    level: float = 0.95,
    n: int = 2000,
    seed: int = 0,
    *,
    draws: Any = None,
) -> pd.DataFrame:
    """Intervals of each model's rank under resampled scores.

    Models are ranked in each draw as by :func:`ranks`. The interval runs from the highest rank that at most (1 -
    level) / 2 of the draws fall below, to the lowest rank that at most as many exceed. There are two kinds of draws:

    - With ``errors``, each score is drawn ``n`` times from a normal distribution around it, with its error as standard
      deviation, independently of the others. Errors of models on the same stimuli are usually correlated; these
      intervals are then too wide.
    - With ``draws``, models are ranked by their scores in the same draw of stimuli, neuroids or subjects, so that
      shared fluctuations do not affect ranks. :func:`paired_draws` extracts them from scores.

    Args:
        scores: one for each model; NaN is last in each draw.
        errors: one for each model; a score whose error is NaN is constant over draws.
        level: minimum share of draws within the interval.
        n: number of draws from errors.
        seed: for draws from errors.
        draws: the scores in each draw, ``(models, draws)``. Draws in which the score of some model is undefined are
            left out; models whose score is NaN need no draws.

    Returns:
        One row for each model, with the index of ``scores`` if that is a series: the ``rank`` of the score, and
        ``low`` and ``high``, the best and the worst rank of the interval.

    Raises:
        ValueError: ``level`` is not between 0 and 1, or ``n`` is less than 1; the numbers of errors and scores differ;
            an error is negative or infinite, or a score infinite; both errors and draws are given, or neither; draws
            have another shape, or all models have a score in none of them.

    Example:
        >>> rank_intervals([0.9, 0.5, 0.49], [0.001, 0.1, 0.1]).values.tolist()
        [[1, 1, 1], [2, 2, 3], [3, 2, 3]]
        >>> together = np.random.default_rng(0).normal(0, 0.1, size=1000)
        >>> draws = [0.9 + 0 * together, 0.5 + together, 0.49 + together]
        >>> rank_intervals([0.9, 0.5, 0.49], draws=draws).values.tolist()
        [[1, 1, 1], [2, 2, 2], [3, 3, 3]]
    """
    values = _numbers(scores, "scores")
    if not 0 < level < 1:
        raise ValueError(f"the level of an interval must be between 0 and 1, got {level!r}")
    if (errors is None) == (draws is None):
        raise ValueError("ranks move within errors or from draw to draw: give errors or draws, one of them")
    placed = ranks(scores)
    ends = np.repeat(placed.to_numpy(float)[None], 2, axis=0)
    there = np.flatnonzero(~np.isnan(values))
    drawn = _within_errors(values, errors, n, seed) if draws is None else _of_all(values, draws)
    if len(there):
        placed_in_draws = np.sort(scipy.stats.rankdata(-drawn[:, there], method="min", axis=1), axis=0)
        out = int(len(drawn) * (1 - level) / 2)
        ends[:, there] = placed_in_draws[[out, len(drawn) - 1 - out]]
    low, high = (_whole(end, scores) for end in ends)
    return pd.DataFrame({"rank": placed, "low": low, "high": high})


def paired_draws(scores: Sequence[Score]) -> np.ndarray | None:
    """The values of several models' scores in their common draws, for :func:`rank_intervals`.

    If two factors were resampled, jointly and each alone, the joint draws are used. Their spread exceeds that of the
    score, so rank intervals are rather too wide than too narrow.

    Args:
        scores: one for each model, on one benchmark.

    Returns:
        ``(models, draws)``, NaN for scores that are NaN; None if a score has no draws, or draws of another plan.

    Example:
        >>> import xarray as xr
        >>> from bsjax.labelled import Score
        >>> from bsjax.labelled.uncertainty import Uncertainty
        >>> def drawn(*values, plan="a"):
        ...     draws = xr.DataArray([*values], dims=["draw"])
        ...     return Score(0.5, uncertainty=Uncertainty(("stimuli",), 0.1, "draws", draws=draws, plan=plan))
        >>> paired_draws([drawn(0.4, 0.6), drawn(0.5, 0.7)]).tolist()
        [[0.4, 0.6], [0.5, 0.7]]
        >>> paired_draws([drawn(0.4, 0.6), drawn(0.5, 0.7, plan="b")]) is None
        True
    """
    defined = np.array([not np.isnan(score.value).all() for score in scores], bool)
    rows, plans = [], set()
    for score in compress(scores, defined):
        known = score.uncertainty
        if known is None or known.draws is None or not known.plan:
            return None
        draws = known.draws.sel({FACTOR: BOTH}) if FACTOR in known.draws.dims else known.draws
        rows.append(np.asarray(draws.values, float))
        plans.add((known.plan, draws.dims))
    if not rows or len(plans) > 1 or rows[0].ndim > 1:
        return None
    found = np.full((len(scores), len(rows[0])), np.nan)
    found[defined] = rows
    return found


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


def _of_all(values: np.ndarray, draws: Any) -> np.ndarray:
    """The draws in which all models with a score have a value, ``(draws, models)``."""
    drawn = np.asarray(draws, float)
    if drawn.ndim != 2 or len(drawn) != len(values):
        raise ValueError(f"draws must be (models, draws) of {len(values)} models, got the shape {drawn.shape}")
    defined = np.isfinite(drawn[~np.isnan(values)]).all(axis=0)
    if len(values) and not defined.any():
        raise ValueError(f"in none of {drawn.shape[1]} draws all models have a score")
    return drawn[:, defined].T


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
