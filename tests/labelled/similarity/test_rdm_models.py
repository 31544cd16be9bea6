"""Models of RDMs on assemblies."""

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.linear_model import Ridge

from bsjax import Resampling, in_draws, load_metric
from bsjax.labelled.metric import scored
from tests.support.responses import assembly

N = 40
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 12))
Y = X[:, 4:] + 0.5 * RNG.normal(size=(N, 8))
SPLITS = {"crossvalidation_kwargs": {"splits": 3, "test_size": 0.3, "stratification_coord": None}}


def pairs(values):
    return (1 - np.corrcoef(values))[np.triu_indices(len(values), 1)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["weighted_rdm", "selected_rdm", "interpolated_rdm"])
def test_layers_are_spaces_in_the_order_of_their_neuroids(name):
    layers = assembly(X, layer=("neuroid", ["early"] * 4 + ["late"] * 8))
    by_name, by_number = load_metric(name, **SPLITS), load_metric(name, bands=(4, 8), **SPLITS)
    score = by_name(layers[::-1], assembly(Y))
    assert float(score) == pytest.approx(float(by_number(assembly(X), assembly(Y))))
    assert (score.raw["weight_late"] > score.raw["weight_early"]).all()
    with pytest.raises(ValueError, match=r"bands \(4, 9\) are 13 features, and the source has 12"):
        load_metric(name, bands=(4, 9), **SPLITS)(layers, assembly(Y))
    with pytest.raises(ValueError, match="needs to know which features form a space"):
        by_name(assembly(X), assembly(Y))
    with pytest.raises(ValueError, match="at least 3 stimuli to fit and to test"):
        load_metric(name, crossvalidation_kwargs={"test_size": 2, "stratification_coord": None})(layers, assembly(Y))


def test_encoding_compares_predicted_with_measured_patterns():
    metric = load_metric("encoding_rdm", regression=load_metric("ridge", alpha=10.0), **SPLITS)
    expected = []
    for train, test in metric.folds_of(assembly(Y)):
        predicted = Ridge(10.0).fit(X[train], Y[train]).predict(X[test])
        expected.append(spearmanr(pairs(predicted), pairs(Y[test])).statistic)
    np.testing.assert_allclose(metric(assembly(X), assembly(Y)).raw, expected, atol=1e-10)
    with pytest.raises(ValueError, match="regression must be one with a mapping"):
        load_metric("encoding_rdm", regression="cka")


@pytest.mark.slow
def test_each_split_has_its_own_penalty_of_several():
    several = load_metric("feature_reweighted_rdm", alpha=(0.01, 1.0, 100.0), cv=4, **SPLITS)
    score = several(assembly(X), assembly(Y))
    assert set(score.raw["alpha"].values) <= {0.01, 1.0, 100.0}
    alpha = score.raw["alpha"].values
    fixed = load_metric("feature_reweighted_rdm", alpha=float(alpha[0]), **SPLITS)(assembly(X), assembly(Y))
    np.testing.assert_allclose(score.raw[alpha == alpha[0]], fixed.raw[alpha == alpha[0]], atol=1e-10)
    assert "alpha" not in fixed.raw.coords
    again = load_metric("feature_reweighted_rdm", **score.provenance.settings, **score.provenance.seeds)
    assert again(assembly(X), assembly(Y)) == score
    with in_draws(Resampling("stimuli", draws=4)):
        assert np.isfinite(scored(several, assembly(X), assembly(Y)).uncertainty.draws).all()
    with pytest.raises(ValueError, match="at least 3 stimuli to fit"):
        load_metric("feature_reweighted_rdm", alpha=(1.0, 2.0), cv=10, **SPLITS)(assembly(X), assembly(Y))
