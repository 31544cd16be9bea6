"""Bounds of ranks by a rule that a page can repeat: from errors, without draws."""

from __future__ import annotations

import numpy as np
from scipy import special

from bsjax.results.ranks import ranks


def rank_bounds(scores: np.ndarray, errors: np.ndarray, states: list[str], level: float = 0.95) -> np.ndarray:
    """The best and the worst rank of each model that its errors leave open.

    A model is surely ahead of another if the difference of their scores is greater than that of ``level`` of a normal
    distribution whose standard deviation is the error of the difference, errors being independent. Its best rank is one
    more than there are models surely ahead of it, its worst the number of models less those that are surely behind.
    Where errors go up and down together, models are told apart better than this says: the bounds are rather too wide.

    :func:`bsjax.results.ranks.rank_intervals` draws scores anew instead. A page with weights of one's own has to do it
    again at each change, with the same answer everywhere.

    Args:
        scores: one for each model, NaN of those without.
        errors: likewise; one that is NaN is not known, and counts as 0.
        states: in the words of :func:`~bsjax.results.aggregation.aggregate`; what is "missing" has no rank.
        level: of certainty for each pair.

    Returns:
        ``(models, 3)``: rank, best and worst; 0 where there is none. Models without a score that were tried share the
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
    sure = special.ndtri((1 + level) / 2) * np.sqrt(squares[None] + squares[:, None])
    found[there, 1] = 1 + (ahead > sure).sum(1)
    found[there, 2] = len(there) - (-ahead > sure).sum(1)
    return found
