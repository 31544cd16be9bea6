"""Regressions: the Pearson correlation of predicted and measured responses of each neuroid.

Splits are those of Brain-Score: draws of 90 % of the stimuli, balanced over ``object_name``.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy.linalg import solve
from sklearn.model_selection import StratifiedShuffleSplit

from ..data import Inputs, Labelled

Answer = dict[str, Any]
Fit = Callable[..., np.ndarray]
"""``fit(x, y, **options)`` gives the weights ``(features, neuroids)`` of centred data."""


def pearson(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Correlation of every column."""
    a, b = a - a.mean(0), b - b.mean(0)
    return (a * b).sum(0) / np.sqrt((a * a).sum(0) * (b * b).sum(0))


def _splits(target: Labelled, splits: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    draw = StratifiedShuffleSplit(splits, train_size=0.9, random_state=1)
    return draw.split(target.values, target.coords["object_name"][1])


def _score(raw: np.ndarray) -> Answer:
    """Median over neuroids, then mean over splits."""
    return {"score": np.median(raw, axis=-1).mean(axis=0), "raw": raw}


def crossvalidated(fit: Fit) -> Callable[..., Answer]:
    """The answer of a mapping in every split."""

    def answer(inputs: Inputs, splits: int, **options: Any) -> Answer:
        x, y = inputs["source"].values, inputs["target"].values
        raw = []
        for train, test in _splits(inputs["target"], splits):
            mean_x, mean_y = x[train].mean(0), y[train].mean(0)
            weights = fit(x[train] - mean_x, y[train] - mean_y, **options)
            raw.append(pearson((x[test] - mean_x) @ weights, y[test]))
        return _score(np.array(raw))

    return answer


def ridge(x: np.ndarray, y: np.ndarray, alpha: float = 1.0) -> np.ndarray:
    """Weights that minimise ``|y - x w|^2 + alpha |w|^2``."""
    return solve(x.T @ x + alpha * np.eye(x.shape[1]), x.T @ y, assume_a="pos")


def least_squares(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Of the weights that minimise ``|y - x w|^2``, the smallest."""
    return np.linalg.lstsq(x, y, rcond=None)[0]


def neuron_to_neuron(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Each neuroid is the feature that correlates most with it."""
    together = (x / np.linalg.norm(x, axis=0)).T @ (y / np.linalg.norm(y, axis=0))
    return np.eye(x.shape[1])[:, together.argmax(0)]


def pls(x: np.ndarray, y: np.ndarray, n_components: int) -> np.ndarray:
    """Weights of PLS2 regression whose every component is the exact dominant singular pair.

    Each weight vector is the dominant left singular vector of the cross-product of the deflated ``x`` with
    ``y``: what the NIPALS iteration of PLS2 converges to (Hoeskuldsson 1988, J. Chemometrics 2). Only ``x``
    is deflated: its scores are orthogonal, so that ``y`` may keep what they explain.
    """
    x = x.copy()
    weights, loadings, coefficients = [], [], []
    for _ in range(n_components):
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


def layers(inputs: Inputs, splits: int, n_components: int) -> Answer:
    """PLS of the first and the last source; the others would take minutes."""
    *sources, target = inputs.values()
    of = [0, len(sources) - 1]
    each = [
        crossvalidated(pls)({"source": sources[number], "target": target}, splits, n_components=n_components)
        for number in of
    ]
    return {**{part: np.stack([one[part] for one in each]) for part in each[0]}, "of": {"score": of, "raw": of}}


def spantime_ridge(inputs: Inputs, splits: int) -> Answer:
    """One ridge regression over the stimuli of all time bins; correlations and medians in each."""
    x, y = (np.moveaxis(inputs[side].values, 2, 1) for side in ("source", "target"))
    raw = []
    for train, test in _splits(inputs["target"], splits):
        x_all, y_all = (side[train].reshape(-1, side.shape[2]) for side in (x, y))
        mean_x, mean_y = x_all.mean(0), y_all.mean(0)
        weights = ridge(x_all - mean_x, y_all - mean_y)
        raw.append(pearson((x[test] - mean_x) @ weights, y[test]))
    return _score(np.array(raw))


def _split_inputs(inputs: Inputs) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training features and responses, centred, then those that test, with the same means taken off the features."""
    x, x_test, y, y_test = (array.values for array in inputs.values())
    return x - x.mean(0), y - y.mean(0), x_test - x.mean(0), y_test


def _left_out(x: np.ndarray, y: np.ndarray, alphas: Sequence[float]) -> np.ndarray:
    """Mean squared leave-one-out error of each penalty and target, with the mean of the others taken off."""
    u, s, _ = np.linalg.svd(x, full_matrices=False)
    projected = u.T @ y
    errors = []
    for alpha in alphas:
        kept = s**2 / (s**2 + alpha)
        leverage = 1 / len(x) + (u**2) @ kept
        residual = (y - u @ (kept[:, None] * projected)) / (1 - leverage)[:, None]
        errors.append((residual**2).mean(0))
    return np.array(errors)


def _predicted(x: np.ndarray, y: np.ndarray, x_test: np.ndarray, alpha: float) -> np.ndarray:
    return x_test @ x.T @ solve(x @ x.T + alpha * np.eye(len(x)), y, assume_a="pos")


def ridgecv_split(inputs: Inputs, alphas: Sequence[float]) -> Answer:
    """Ridge regression with the penalty of the smallest leave-one-out error over all targets."""
    x, y, x_test, y_test = _split_inputs(inputs)
    best = alphas[int(_left_out(x, y, alphas).mean(1).argmin())]
    raw = pearson(_predicted(x, y, x_test, best), y_test)
    return {"score": np.median(raw), "raw": raw}


def alpha_per_target(inputs: Inputs, alphas: Sequence[float], cv: int) -> Answer:
    """Ridge regression with the penalty of the smallest error of each target on consecutive stimuli left out."""
    return banded_ridge(inputs, alphas, cv, spaces=1, shares=[[1.0]])


def banded_ridge(
    inputs: Inputs, alphas: Sequence[float], cv: int, spaces: int, shares: Sequence[Sequence[float]]
) -> Answer:
    """The same, with the best of several shares in the variances of feature spaces of equal width."""
    x, y, x_test, y_test = _split_inputs(inputs)
    scales = np.sqrt(np.repeat(shares, x.shape[1] // spaces, axis=1))
    errors = np.array([_in_folds(x * scale, y, alphas, cv) for scale in scales])
    best = errors.reshape(-1, y.shape[1]).argmin(0)
    raw = np.empty(y.shape[1])
    for number in np.unique(best):
        of_it, (share, alpha) = best == number, divmod(int(number), len(alphas))
        predicted = _predicted(x * scales[share], y[:, of_it], x_test * scales[share], alphas[alpha])
        raw[of_it] = pearson(predicted, y_test[:, of_it])
    return {"score": np.median(raw), "raw": raw}


def _in_folds(x: np.ndarray, y: np.ndarray, alphas: Sequence[float], cv: int) -> np.ndarray:
    """Mean squared error of each penalty and target on consecutive stimuli left out, summed over folds."""
    errors = np.zeros((len(alphas), y.shape[1]))
    for out in np.array_split(np.arange(len(x)), cv):
        rest = np.setdiff1d(np.arange(len(x)), out)
        mean_x, mean_y = x[rest].mean(0), y[rest].mean(0)
        u, s, v = np.linalg.svd(x[rest] - mean_x, full_matrices=False)
        projected, embedded = u.T @ (y[rest] - mean_y), (x[out] - mean_x) @ v.T
        for number, alpha in enumerate(alphas):
            predicted = embedded @ ((s / (s**2 + alpha))[:, None] * projected)
            errors[number] += ((y[out] - mean_y - predicted) ** 2).mean(0)
    return errors
