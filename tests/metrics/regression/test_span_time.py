"""Regressions with weights shared over time, against one scikit-learn fit on all time bins."""

import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.linear_model import Ridge as SklearnRidge
from sklearn.model_selection import KFold

from bsjax.metrics import Ridge, compiled, cross_validate_over_time, make_folds


def arrays(n=26, p=6, q=3, bins=4):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, p, bins)) + np.arange(bins)
    return x, np.einsum("npt,pq->nqt", x, rng.normal(size=(p, q))) + rng.normal(size=(n, q, bins))


def stacked(values):
    return np.concatenate([values[:, :, t] for t in range(values.shape[2])])


@pytest.mark.slow
def test_one_fit_on_all_bins_scored_in_each():
    x, y = arrays()
    # Folds of unequal size: padded places must not point into a time bin.
    splits = list(KFold(4, shuffle=True, random_state=0).split(x))
    kernel = compiled(cross_validate_over_time, mapping=Ridge(1.0))
    got = np.asarray(kernel(jnp.asarray(x), jnp.asarray(y), make_folds(len(x), splits)))
    for fold, (train, test) in enumerate(splits):
        model = SklearnRidge(1.0).fit(stacked(x[train]), stacked(y[train]))
        for t in range(x.shape[2]):
            predicted = model.predict(x[test][:, :, t])
            expected = [np.corrcoef(predicted[:, i], y[test][:, i, t])[0, 1] for i in range(y.shape[1])]
            np.testing.assert_allclose(got[fold, t], expected, atol=1e-10)
