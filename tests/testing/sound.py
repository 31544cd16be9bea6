"""A metric, a regression and a kernel that are sound, for defects to be planted in."""

import jax.numpy as jnp
import numpy as np

from bsjax import Metric, Score
from bsjax.labelled import aligned_values

INVARIANCES = ("permutation", "rotation", "scale")
SPLITS = 4


class Geometry(Metric):
    """Correlation of the inner products between stimuli, without those of a stimulus with its copies."""

    identifier = "geometry"
    symmetric = True

    def __call__(self, source, target):
        x, y = self.values(source, target)
        return self.summary(self.correlation(self.pairs(x, target), self.pairs(y, target)))

    def values(self, source, target):
        return [np.array(each, np.float64) for each in aligned_values(source, target)]

    def products(self, values):
        values = values - values.mean(axis=0)
        return values @ values.T

    def pairs(self, values, target):
        return self.products(values)[self.different(target)]

    def different(self, target):
        name = "drawn_from" if "drawn_from" in target.coords else "stimulus_id"
        ids = target[name].values
        return np.triu(ids[:, None] != ids[None, :], 1)

    def correlation(self, a, b):
        if min(np.ptp(a), np.ptp(b)) < 1e-25:
            return np.nan
        return np.corrcoef(a, b)[0, 1]

    def summary(self, r):
        return Score(float(r))


class Nearest(Metric):
    """Correlation of held-out responses with those to the training stimulus whose features are nearest."""

    identifier = "nearest"

    def __call__(self, source, target):
        x, y = (np.array(each, np.float64) for each in aligned_values(source, target))
        predicted = np.empty_like(y)
        fold = self.folds(target)
        for held_out in range(SPLITS):
            train, test = np.flatnonzero(self.trains(fold, held_out)), np.flatnonzero(fold == held_out)
            distances = (x[train] ** 2).sum(axis=1)[None] - 2 * x[test] @ x[train].T
            predicted[test] = y[train[distances.argmin(axis=1)]]
        if np.ptp(y) < 1e-12:
            return Score(np.nan)
        return Score(float(np.corrcoef(predicted.ravel(), y.ravel())[0, 1]))

    def folds(self, target):
        name = "drawn_from" if "drawn_from" in target.coords else "stimulus_id"
        return np.unique(target[name].values, return_inverse=True)[1] % SPLITS

    def trains(self, fold, held_out):
        return fold != held_out


def alignment(x, y, where=None):
    """Linear CKA, biased."""
    keep = jnp.ones(len(x), x.dtype) if where is None else where.astype(x.dtype)

    def centred(values):
        mean = (keep[:, None] * values).sum(axis=0, keepdims=True) / keep.sum()
        return keep[:, None] * (values - mean)

    x, y = centred(x), centred(y)
    top = ((x.T @ y) ** 2).sum()
    below = ((x.T @ x) ** 2).sum() * ((y.T @ y) ** 2).sum()
    tiny = jnp.finfo(x.dtype).eps ** 2
    defined = below > tiny
    return jnp.where(defined, top / jnp.sqrt(jnp.where(defined, below, 1.0)), jnp.nan)
