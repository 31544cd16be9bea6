"""Certainty of a layer choice: how often another layer wins in resampled neuroids and splits."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bsjax.labelled.aggregate import jackknife_deviations, nan_mean, nan_median


def share_of_other_winners(raw: Sequence[NDArray], best: int, n_bootstrap: int, seed: int, same: float = 0.0) -> float:
    """Share of bootstrap resamples of neuroids and splits in which another layer than ``best`` has the highest score.

    Each resample draws as many neuroids and as many splits as there are, with replacement, the same for all layers.
    The score is the mean over splits of the median over neuroids. Splits share stimuli, so the share understates the
    uncertainty over new stimuli. A tie counts for the chosen layer.

    Args:
        raw: for each layer, shape ``(splits, neuroids)``.
        best: index of the chosen layer.
        n_bootstrap: number of resamples.
        seed: for NumPy's default generator.
        same: scores that differ by at most this are tied.

    Example:
        >>> raw = np.random.default_rng(0).normal(size=(3, 10, 50))
        >>> share_of_other_winners(raw + np.array([0, 5, 0])[:, None, None], 1, 100, seed=0)
        0.0
        >>> 0.1 < share_of_other_winners(raw, 0, 100, seed=0) <= 1
        True
    """
    values = np.stack(raw)
    _, n_splits, n_neuroids = values.shape
    rng = np.random.default_rng(seed)
    median = nan_median if np.isnan(values).any() else partial(np.median, axis=-1)
    others = 0
    for _ in range(n_bootstrap):
        splits, neuroids = rng.integers(0, n_splits, n_splits), rng.integers(0, n_neuroids, n_neuroids)
        scores = nan_mean(median(values[:, splits[:, None], neuroids]))
        scores = np.where(np.isnan(scores), -np.inf, scores)
        others += bool(scores.max() > scores[best] + same)
    return others / n_bootstrap


def share_of_other_winners_by_jackknife(
    scores: NDArray, left_in: NDArray, best: int, n_bootstrap: int, seed: int, same: float = 0.0
) -> float:
    """Like :func:`share_of_other_winners`, for scores of whole populations under a different choice of stimuli.

    A resample with repeated stimuli would bias a similarity, because a stimulus is most similar to itself. Scores are
    therefore drawn from a normal distribution around the observed ones, with the covariance of the delete-a-group
    jackknife.

    Args:
        scores: shape ``(layers,)``, on all stimuli.
        left_in: shape ``(layers, groups)``; each column omits one group of stimuli.
        best, n_bootstrap, seed, same: as for :func:`share_of_other_winners`.

    Source: Shao & Wu 1989 (jackknife by groups).

    Example:
        >>> left_in = np.random.default_rng(0).normal(size=(2, 10))
        >>> share_of_other_winners_by_jackknife(np.array([0.0, 100.0]), left_in, 1, 100, seed=0)
        0.0
    """
    normal = np.random.default_rng(seed).normal(size=(n_bootstrap, left_in.shape[1]))
    drawn = scores + normal @ jackknife_deviations(left_in).T
    return float((drawn.max(axis=1) > drawn[:, best] + same).mean())
