"""Ridge read-outs and their two-alternative accuracy, against scikit-learn."""

import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.linear_model import RidgeClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bsjax.engine.precision import precision
from bsjax.metrics import compiled
from bsjax.metrics.behaviour.two_afc import ReadoutSplits, ridge_two_afc, two_afc

ALPHAS = (1e-4, 1e-2, 1.0, 10.0)


def by_loop(decision, labels):
    """Every image against every other category."""
    pairs = [np.delete(row[own] > row, own) for row, own in zip(decision, labels, strict=True)]
    return np.mean(pairs, axis=1)


def test_a_tie_is_an_error():
    assert float(two_afc(jnp.zeros(4), jnp.asarray(2))) == 0.0


@pytest.mark.parametrize(("features", "categories"), [(8, 4), (150, 4), (150, 2)])
def test_as_scikit_learn_classifies(features, categories):
    rng = np.random.default_rng(features)
    labels = np.arange(80) % categories
    x = rng.normal(size=(categories, features))[labels] * 0.4 + rng.normal(size=(80, features))
    x[:, 1] = 3.0  # a dead unit
    train = np.stack([rng.permutation(80)[:40] for _ in range(3)])
    test = np.stack([np.setdiff1d(np.arange(80), rows).reshape(2, 20) for rows in train])
    mask = np.ones(test.shape, bool)
    mask[0, 1, 15:] = False
    with precision("float64"):
        kernel = compiled(ridge_two_afc, categories=categories, alphas=ALPHAS)
        rows = ReadoutSplits(*(jnp.asarray(part) for part in (train, test, mask)))
        got = np.asarray(kernel(jnp.asarray(x), jnp.asarray(labels), rows))
    for split in range(3):
        classifier = make_pipeline(StandardScaler(), RidgeClassifierCV(alphas=ALPHAS))
        classifier.fit(x[train[split]], labels[train[split]])
        for group in range(2):
            tested = test[split, group][mask[split, group]]
            decision = classifier.decision_function(x[tested])
            if categories == 2:
                decision = np.stack([-decision, decision], axis=1)
            assert got[split, group] == pytest.approx(by_loop(decision, labels[tested]).mean(), abs=1e-12)
