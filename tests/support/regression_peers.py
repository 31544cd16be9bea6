"""Regressions written out with NumPy, as peers of mappings that scikit-learn does not have."""

import numpy as np


class MinimumNorm:
    """Least squares of minimum norm, with an intercept."""

    def fit(self, x, y):
        self.means = x.mean(0), y.mean(0)
        self.weights = np.linalg.lstsq(x - self.means[0], y - self.means[1], rcond=1e-10)[0]
        return self

    def predict(self, x):
        return (x - self.means[0]) @ self.weights + self.means[1]


class BestFeature:
    """For each target the feature that correlates best with it."""

    def fit(self, x, y):
        with np.errstate(invalid="ignore"):
            r = np.corrcoef(x.T, y.T)[: x.shape[1], x.shape[1] :]
        self.best = np.nanargmax(r, axis=0)
        return self

    def predict(self, x):
        return x[:, self.best]
