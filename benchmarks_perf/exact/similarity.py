"""Similarities of representations, and of repeated recordings with themselves."""

from typing import Any

import numpy as np
from scipy.linalg import svdvals
from scipy.stats import spearmanr
from sklearn.model_selection import ShuffleSplit

from ..data import Inputs
from .regression import pearson

Answer = dict[str, Any]


def cka(inputs: Inputs) -> Answer:
    """Linear CKA of the unbiased estimates of HSIC (Song et al. 2012, J. Machine Learning Research 13)."""
    k, m = (inputs[side].values @ inputs[side].values.T for side in ("source", "target"))
    for gram in (k, m):
        np.fill_diagonal(gram, 0.0)
    return {"score": _hsic(k, m) / np.sqrt(_hsic(k, k) * _hsic(m, m))}


def _hsic(k: np.ndarray, m: np.ndarray) -> float:
    n = len(k)
    means = k.sum() * m.sum() / ((n - 1) * (n - 2)) - 2 / (n - 2) * (k.sum(0) @ m.sum(0))
    return ((k * m).sum() + means) / (n * (n - 3))


def similarity_matrix(inputs: Inputs) -> Answer:
    """The same of all pairs, and its mean over them."""
    grams = [array.values @ array.values.T for array in inputs.values()]
    for gram in grams:
        np.fill_diagonal(gram, 0.0)
    hsic = np.array([[_hsic(k, m) for m in grams] for k in grams])
    raw = hsic / np.sqrt(np.outer(np.diag(hsic), np.diag(hsic)))
    return {"score": raw.mean(), "raw": raw}


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
    grams = [inputs[side].values @ inputs[side].values.T for side in ("source", "target")]
    n, of = len(grams[0]), list(range(min(bootstraps, 5)))
    for gram in grams:
        np.fill_diagonal(gram, 0.0)
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
