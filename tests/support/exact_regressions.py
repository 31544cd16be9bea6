"""Regressions by their definitions, in float64 on data of the order of 1: what scores are compared with at any scale.

Features are divided by a power of two, which changes no digit, and penalties by its square. A prediction is what varies
over stimuli, so that nothing is lost beside an intercept.
"""

import numpy as np
from scipy.stats import spearmanr

EPS = np.finfo(float).eps


def scores_of(predict, x, y, splits):
    """Pearson r of each split and target, for ``predict(x_train, y_train, x_test)``."""
    x = np.asarray(x, float)
    y, splits = np.asarray(y, float), [(np.sort(train), test) for train, test in splits]
    rows = [correlations(predict(x[train], y[train], x[test]), y[test]) for train, test in splits]
    return np.array(rows)


def correlations(a, b):
    a, b = (normalised(np.asarray(side, float)) for side in (a, b))
    with np.errstate(invalid="ignore", divide="ignore"):
        return (a * b).sum(axis=0) / np.sqrt((a**2).sum(axis=0) * (b**2).sum(axis=0))


def normalised(values):
    """Columns without their means, of the order of 1; zero where they are constant."""
    values = values / power_of_two(values)
    centred = values - values.mean(axis=0)
    constant = np.abs(centred).max(axis=0) <= 16 * EPS * np.abs(values).max(axis=0)
    largest = np.where(constant, 1.0, np.abs(centred).max(axis=0))
    return np.where(constant, 0.0, centred) / largest


def power_of_two(values):
    largest = np.abs(values).max()
    return 2.0 ** np.round(np.log2(largest)) if largest > 0 else 1.0


def whole(x_train, x_test):
    """Both without the training mean, the scale, the singular vectors and values of the former, within its range."""
    scale = power_of_two(x_train)
    x_train, x_test = x_train / scale, x_test / scale
    mean = x_train.mean(axis=0)
    constant = np.ptp(x_train, axis=0) == 0
    x_train, x_test = np.where(constant, 0, x_train - mean), np.where(constant, 0, x_test - mean)
    u, s, vt = np.linalg.svd(x_train, full_matrices=False)
    kept = s > max(x_train.shape) * EPS * s.max(initial=0)
    return x_test @ vt[kept].T, scale, u[:, kept], s[kept]


def ridge(alpha):
    def predict(x_train, y_train, x_test):
        along, scale, u, s = whole(x_train, x_test)
        return along @ (shrunk(s, alpha / scale**2) * (u.T @ (y_train - y_train.mean(axis=0))))

    return predict


def shrunk(s, alpha):
    """``s / (s^2 + alpha)``, one column; any multiple of it predicts what correlates alike."""
    return (s / (s**2 + alpha) * max(1.0, alpha))[:, None]


def ridgecv(alphas, per_target=False, runs=None):
    def predict(x_train, y_train, x_test):
        y = y_train - y_train.mean(axis=0)
        errors = np.array([validation_errors(x_train, y_train, alpha, runs) for alpha in alphas])
        if not per_target:
            errors = errors.sum(axis=1, keepdims=True)
        chosen = np.argmin(errors, axis=0) * np.ones(y.shape[1], int)
        along, scale, u, s = whole(x_train, x_test)
        weights = [shrunk(s, alphas[c] / scale**2)[:, 0] * (u.T @ y[:, t]) for t, c in enumerate(chosen)]
        return along @ np.array(weights).T

    return predict


def validation_errors(x, y, alpha, runs):
    """Mean squared error of each target, stimuli left out one by one or in runs."""
    if runs is None:
        _, scale, u, s = whole(x, x)
        shrinkage = alpha / scale**2 / (s**2 + alpha / scale**2)
        centred = y - y.mean(axis=0)
        coordinates = u.T @ centred
        # Where features explain all, what is left of the targets is rounding, larger than what a small penalty leaves.
        not_all = len(s) < len(x) - 1
        residual = not_all * (centred - u @ coordinates) + u @ (shrinkage[:, None] * coordinates)
        unexplained = not_all * np.clip(1 - 1 / len(x) - (u**2).sum(axis=1), 0, None)
        return np.mean((residual / (unexplained + u**2 @ shrinkage)[:, None]) ** 2, axis=0)
    errors = []
    for tested in np.array_split(np.arange(len(x)), runs):
        train = np.setdiff1d(np.arange(len(x)), tested)
        along, scale, u, s = whole(x[train], x[tested])
        mean = y[train].mean(axis=0)
        weights = (s / (s**2 + alpha / scale**2))[:, None] * (u.T @ (y[train] - mean))
        errors.append(np.mean((y[tested] - mean - along @ weights) ** 2, axis=0))
    return np.mean(errors, axis=0)


def pls(components):
    def predict(x_train, y_train, x_test):
        along, _, u, s = whole(x_train, x_test)
        x, y = u * s, y_train - y_train.mean(axis=0)
        first, rotations = None, []
        rest, scores = x.T @ y, []
        for _ in range(min(components, len(s))):
            left, lengths, _ = np.linalg.svd(rest, full_matrices=False)
            first = lengths[0] if first is None else first
            if lengths[0] <= 100 * EPS * first:
                break
            t = x @ left[:, 0]
            for _ in range(2):
                for other in scores:
                    t = t - other * (other @ t)
            t /= np.linalg.norm(t)
            scores.append(t)
            rest = rest - np.outer(x.T @ t, t @ y)
            rotations.append((u.T @ t) / s)
        return along @ np.array(rotations).T @ (np.array(scores) @ y)

    return predict


def neuron_to_neuron(x_train, y_train, x_test):
    x, y = normalised(x_train), normalised(y_train)
    length = np.sqrt((x**2).sum(axis=0))
    similarity = np.where(length > 0, (y.T @ x) / np.where(length > 0, length, 1), -np.inf)
    return x_test[:, np.argmax(similarity, axis=1)]


def cka(*, unbiased):
    def of(x, y):
        grams = [side @ side.T for side in (normalised_whole(x), normalised_whole(y))]
        if unbiased:
            n = len(x)
            off = [gram - np.diag(np.diag(gram)) for gram in grams]

            def hsic(a, b):
                total = a.sum() * b.sum() / ((n - 1) * (n - 2))
                return (a * b).sum() + total - 2 / (n - 2) * a.sum(axis=0) @ b.sum(axis=0)
        else:
            off = grams

            def hsic(a, b):
                return (a * b).sum()

        return hsic(*off) / np.sqrt(hsic(off[0], off[0]) * hsic(off[1], off[1]))

    return of


def normalised_whole(x):
    """Without the means of the columns, and of the order of 1 altogether; constant columns are zero."""
    x = np.asarray(x, float)
    x = x / power_of_two(x)
    return np.where(np.ptp(x, axis=0) == 0, 0.0, x - x.mean(axis=0))


def rdm(x, y):
    above = np.triu_indices(len(x), 1)
    # Repeated patterns have equal correlations, which rounding tells apart.
    return spearmanr(*(np.corrcoef(side / power_of_two(side))[above].round(12) for side in (y, x))).statistic


def on_subsets(similarity):
    return lambda x, y, subsets: np.mean([similarity(x[rows], y[rows]) for rows in subsets])
