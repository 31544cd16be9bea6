"""Exact answers in float64, in plain NumPy and SciPy: what the errors of all contestants are measured against.

An answer has the ``score``, and ``raw`` where a score is made of several values; ``of`` tells which of them, where only
some are computed.
"""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.linalg import solve, svdvals
from scipy.stats import norm, spearmanr
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

from .data import Inputs

Answer = dict[str, Any]
Fit = Callable[..., np.ndarray]
"""``fit(x, y, **options)`` gives the weights ``(features, neuroids)`` of centred data."""


def pearson(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Correlation of every column."""
    a, b = a - a.mean(0), b - b.mean(0)
    return (a * b).sum(0) / np.sqrt((a * a).sum(0) * (b * b).sum(0))


def crossvalidated(fit: Fit) -> Callable[..., Answer]:
    """The answer of a mapping in every split: correlations, their median over neuroids, then the mean over splits.

    Time bins, the last axis of three, are samples of one fit, and have medians of their own.
    """

    def answer(inputs: Inputs, splits: int, **options: Any) -> Answer:
        x, y = (np.moveaxis(side.values, 1, -1) for side in inputs.values())
        draw, raw = StratifiedShuffleSplit(splits, train_size=0.9, random_state=1), []
        for train, test in draw.split(x, inputs["target"].coords["object_name"][1]):
            x_train, y_train = (side[train].reshape(-1, side.shape[-1]) for side in (x, y))
            mean_x, mean_y = x_train.mean(0), y_train.mean(0)
            weights = fit(x_train - mean_x, y_train - mean_y, **options)
            raw.append(pearson((x[test] - mean_x) @ weights, y[test]))
        return {"score": np.median(raw, axis=-1).mean(axis=0), "raw": np.array(raw)}

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
    answer, of = crossvalidated(pls), [0, len(sources) - 1]
    each = [answer({"source": sources[at], "target": target}, splits, n_components=n_components) for at in of]
    return {**{part: np.stack([one[part] for one in each]) for part in each[0]}, "of": {"score": of, "raw": of}}


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


def _grams(inputs: Inputs) -> list[np.ndarray]:
    """Of each side, without the diagonal: products of stimuli with themselves bias an estimate of HSIC."""
    grams = [side.values @ side.values.T for side in inputs.values()]
    for gram in grams:
        np.fill_diagonal(gram, 0.0)
    return grams


def similarity_matrix(inputs: Inputs) -> Answer:
    """Linear CKA, by unbiased estimates of HSIC (Song et al. 2012, J. Machine Learning Research 13), and its mean."""
    grams = _grams(inputs)
    hsic = np.array([[_hsic(k, m) for m in grams] for k in grams])
    raw = hsic / np.sqrt(np.outer(np.diag(hsic), np.diag(hsic)))
    return {"score": raw.mean(), "raw": raw}


def cka(inputs: Inputs) -> Answer:
    """The same of two sides."""
    return {"score": similarity_matrix(inputs)["raw"][0, 1]}


def _hsic(k: np.ndarray, m: np.ndarray) -> float:
    n = len(k)
    means = k.sum() * m.sum() / ((n - 1) * (n - 2)) - 2 / (n - 2) * (k.sum(0) @ m.sum(0))
    return ((k * m).sum() + means) / (n * (n - 3))


def procrustes(inputs: Inputs) -> Answer:
    """Cosine of the angle after the best rotation (Schoenemann 1966, Psychometrika 31)."""
    x, y = (side.values - side.values.mean(0) for side in inputs.values())
    return {"score": svdvals(x.T @ y).sum() / (np.linalg.norm(x) * np.linalg.norm(y))}


def cca(inputs: Inputs) -> Answer:
    """Mean singular value between orthonormal bases (Bjoerck & Golub 1973, Mathematics of Computation 27)."""
    x, y = (np.linalg.qr(side.values - side.values.mean(0))[0] for side in inputs.values())
    return {"score": svdvals(x.T @ y).mean()}


def bootstraps(inputs: Inputs, bootstraps: int) -> Answer:
    """CKA, and that of the first draws of stimuli with replacement: over quadruples of different stimuli."""
    grams = _grams(inputs)
    n, of = len(grams[0]), list(range(min(bootstraps, 5)))
    draws = np.random.default_rng(1).integers(0, n, (bootstraps, n))
    raw = []
    for draw in of:
        w = np.bincount(draws[draw], minlength=n).astype(float)
        xy, xx, yy = (_hsic_of_different(grams[i], grams[j], w) for i, j in ((0, 1), (0, 0), (1, 1)))
        raw.append(xy / np.sqrt(xx * yy))
    return {"score": cka(inputs)["score"], "raw": np.array(raw), "of": {"raw": of}}


def _hsic_of_different(k: np.ndarray, m: np.ndarray, w: np.ndarray) -> float:
    """Sum of ``k_ij m_ij + k_ij m_qr - 2 k_ij m_iq`` over weighted quadruples of different ``i, j, q, r``."""
    pairs = np.outer(w, w)
    of_k, of_m = k @ w, m @ w
    # What is left of a sum over pairs q, r when the pairs that i or j takes part in are taken off.
    both = (w.sum() - w[:, None] - w) ** 2 - ((w**2).sum() - w[:, None] ** 2 - w**2)
    other = w @ of_m - 2 * ((w * of_m)[:, None] + w * of_m) + 2 * pairs * m
    total = (pairs * k * (m * both + other)).sum()
    # i, j, q different, times the weight of every r that is none of them.
    triples = w * (w.sum() - w) * (of_k * of_m - (k * m) @ w**2)
    triples -= w * ((k @ w**2) * of_m + of_k * (m @ w**2) - 2 * (k * m) @ w**3)
    return total - 2 * triples.sum()


def rdm(inputs: Inputs) -> Answer:
    """Spearman correlation of the two matrices ``1 - r`` over pairs of stimuli."""
    pairs = [1 - np.corrcoef(inputs[side].values) for side in ("source", "target")]
    upper = np.triu_indices(len(pairs[0]), 1)
    return {"score": spearmanr(pairs[0][upper], pairs[1][upper]).statistic}


def rdm_of_trials(inputs: Inputs) -> Answer:
    """Whitened cosine of squared distances and of crossnobis, run by run: cosine of doubly centred matrices."""
    x, y = (inputs[side].values for side in ("source", "target"))
    runs = y.reshape(-1, len(x), y.shape[1])
    residuals = (runs - runs.mean(axis=0)).reshape(y.shape)
    free = len(y) - len(x)
    sums = residuals.T @ residuals
    scale = np.sqrt(np.diag(sums) / free)
    squares = (residuals / scale) ** 2
    off = ~np.eye(len(scale), dtype=bool)
    of_means = ((sums / np.outer(scale, scale) / (len(y) - 1)) ** 2)[off].sum()
    of_rows = ((squares.sum(axis=1) ** 2).sum() - (squares**2).sum()) / (len(y) - 1)
    kept = 1 - np.clip(len(y) / free**2 * (of_rows - of_means) / of_means, 0, 1)
    white = np.linalg.solve(np.linalg.cholesky(sums / free * np.where(off, kept, 1.0)), y.T).T.reshape(runs.shape)
    products = sum(run @ (white.sum(axis=0) - run).T for run in white)
    centred = [side - side.mean(axis=0) - side.mean(axis=1)[:, None] + side.mean() for side in (x @ x.T, products)]
    a, b = (side.ravel() / np.linalg.norm(side) for side in centred)
    return {"score": a @ b}


def searchlight(inputs: Inputs, radius: float) -> Answer:
    """The same of the features and the voxels nearer than the radius to each centre, and the mean over centres."""
    target = inputs["target"]
    places = np.stack([target.coords[name][1] for name in "xyz"], axis=1)
    upper = np.triu_indices(len(target.values), 1)
    model, found = (1 - np.corrcoef(inputs["source"].values))[upper], []
    for centre in np.flatnonzero(target.coords["centre"][1]):
        near = np.linalg.norm(places - places[centre], axis=1) < radius
        found.append(spearmanr(model, (1 - np.corrcoef(target.values[:, near]))[upper]).statistic)
    return {"score": np.mean(found), "raw": np.array(found)}


def internal_consistency(inputs: Inputs) -> Answer:
    """Correlation of the means of two halves of the repetitions, in ten splits, corrected by Spearman-Brown."""
    assembly = inputs["assembly"]
    repetitions = len(np.unique(assembly.coords["repetition"][1]))
    trials = assembly.values.reshape(repetitions, -1, assembly.values.shape[1])
    halves = ShuffleSplit(10, train_size=0.5, random_state=1).split(np.arange(repetitions))
    r = np.array([pearson(trials[one].mean(0), trials[other].mean(0)) for one, other in halves])
    raw = 2 * r / (1 + r)
    return {"score": np.median(raw, axis=1).mean(), "raw": raw}


def i2n(inputs: Inputs) -> Answer:
    """Normalised d' of each image against each distractor (Rajalingham et al. 2018), in two halves of the trials."""
    source, target = inputs["source_probabilities"], inputs["target"]
    objects, images = source.coords["choice"][1], source.coords["stimulus_id"][1]
    truth = np.searchsorted(objects, source.coords["object_name"][1])
    of_truth = np.take_along_axis(source.values, truth[:, None], axis=1)
    of_model = _normalised_dprime(source.values / (source.values + of_truth), truth)
    image = np.searchsorted(images, target.coords["stimulus_id"][1])
    labels = (target.values, target.coords["sample_obj"][1], target.coords["dist_obj"][1])
    chosen, sample, distractor = (np.searchsorted(objects, each) for each in labels)
    random, raw = np.random.RandomState(0), []
    for _ in range(2):
        half = random.permutation(len(image))[: len(image) // 2]
        counts = np.zeros((2, len(images), len(objects)))
        np.add.at(counts[0], (image[half], chosen[half]), 1)
        for offered in (sample, distractor):
            np.add.at(counts[1], (image[half], offered[half]), 1)
        with np.errstate(invalid="ignore"):
            of_people = _normalised_dprime(counts[0] / counts[1], truth)
        both = np.isfinite(of_people) & np.isfinite(of_model)
        raw.append(pearson(of_model[both], of_people[both]))
    return {"score": np.mean(raw), "raw": np.array(raw)}


def _normalised_dprime(rate: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """From the rates at which each distractor is taken for each image's object; NaN where they are the same."""
    rate = np.where(truth[:, None] == np.arange(rate.shape[1]), np.nan, rate)
    of_object = [truth == known for known in range(rate.shape[1])]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of means of nothing
        false_alarms = np.array([np.nanmean(rate[images], axis=0) for images in of_object])
        dprime = np.clip(norm.ppf(1 - rate) - norm.ppf(false_alarms.T[truth]), -5, 5)
        for images in of_object:
            dprime[images] -= np.nanmean(dprime[images], axis=0)
    return dprime
