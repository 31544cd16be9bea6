"""Exact answers in float64 NumPy: slow, plain, and independent of what is measured.

A cross-validated metric's exact answer is its ``raw``: the Pearson correlation of predicted and measured
responses, ``(splits, neuroids)``. Splits are those of Brain-Score: ten draws of 90 % of the stimuli, balanced
over ``object_name``.
"""

from collections.abc import Callable, Iterator

import numpy as np
from scipy.linalg import solve
from sklearn.model_selection import StratifiedShuffleSplit

from .data import Recordings

Fit = Callable[[np.ndarray, np.ndarray], np.ndarray]


def splits(data: Recordings) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Train and test rows of the ten splits."""
    draw = StratifiedShuffleSplit(n_splits=10, train_size=0.9, random_state=1)
    return draw.split(data.source, data.object_name)


def crossvalidated(data: Recordings, fit: Fit) -> np.ndarray:
    """``raw`` of a mapping whose ``fit`` gives the weights ``(features, neuroids)`` of centred data."""
    raw = []
    for train, test in splits(data):
        mean_x, mean_y = data.source[train].mean(0), data.target[train].mean(0)
        weights = fit(data.source[train] - mean_x, data.target[train] - mean_y)
        raw.append(_pearson((data.source[test] - mean_x) @ weights, data.target[test]))
    return np.array(raw)


def score(raw: np.ndarray) -> float:
    """Median over neuroids, then mean over splits."""
    return float(np.median(raw, axis=1).mean())


def ridge(x: np.ndarray, y: np.ndarray, alpha: float = 1.0) -> np.ndarray:
    """Weights that minimise ``|y - x w|^2 + alpha |w|^2``."""
    return solve(x.T @ x + alpha * np.eye(x.shape[1]), x.T @ y, assume_a="pos")


def pls(x: np.ndarray, y: np.ndarray, components: int = 25) -> np.ndarray:
    """Weights of PLS2 regression whose every component is the exact dominant singular pair.

    Each weight vector is the dominant left singular vector of the cross-product of the deflated ``x`` with
    ``y``: what the NIPALS iteration of PLS2 converges to (Hoeskuldsson 1988, J. Chemometrics 2). Only ``x``
    is deflated: its scores are orthogonal, so that ``y`` may keep what they explain.
    """
    x = x.copy()
    weights, loadings, coefficients = [], [], []
    for _ in range(components):
        cross = x.T @ y
        _, vectors = np.linalg.eigh(cross.T @ cross)
        weight = cross @ vectors[:, -1]
        weight /= np.linalg.norm(weight)
        scores = x @ weight
        energy = scores @ scores
        loading = x.T @ scores / energy
        x -= np.outer(scores, loading)
        weights.append(weight)
        loadings.append(loading)
        coefficients.append(y.T @ scores / energy)
    w, p, q = np.array(weights).T, np.array(loadings).T, np.array(coefficients)
    return w @ np.linalg.solve(p.T @ w, q)


def _pearson(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    a, b = a - a.mean(0), b - b.mean(0)
    return (a * b).sum(0) / np.sqrt((a * a).sum(0) * (b * b).sum(0))
