"""RDMs by any dissimilarity and any comparison, and by added ones."""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from scipy.spatial.distance import pdist

import bsjax
from bsjax import load_metric
from bsjax.engine.memory_limit import memory_limit
from bsjax.metrics.similarity.rdms.dissimilarities import DISSIMILARITIES, Dissimilarity
from bsjax.metrics.similarity.rdms.rdm_comparison import COMPARISONS, Comparison
from tests.support.responses import assembly

N = 24
UNSTRATIFIED = {"crossvalidation_kwargs": {"stratification_coord": None, "splits": 4}}


def of_width(width, seed):
    latent = np.random.default_rng(99).normal(size=(N, 4))
    rng = np.random.default_rng(seed)
    return assembly(latent @ rng.normal(size=(4, width)) + 0.5 * rng.normal(size=(N, width)) + 0.3)


X, Y = of_width(19, 0), of_width(11, 1)


@pytest.mark.parametrize("dissimilarity", [name for name in DISSIMILARITIES if name != "poisson"])
@pytest.mark.parametrize(
    ("comparison", "of_scipy"), [("spearman", scipy.stats.spearmanr), ("tau-a", scipy.stats.kendalltau)]
)
def test_any_pair_is_that_of_scipy(dissimilarity, comparison, of_scipy):
    score = load_metric("rdm", dissimilarity=dissimilarity, comparison=comparison)(X, Y)
    expected = of_scipy(*(pdist(side.values, dissimilarity) for side in (X, Y))).statistic
    assert float(score) == pytest.approx(expected, abs=1e-9)
    made = score.provenance
    assert (made.metric, made["dissimilarity"], made["comparison"]) == ("rdm", dissimilarity, comparison)


@pytest.mark.slow
def test_on_subsets_and_with_errors():
    dissimilarity = "euclidean"
    score = load_metric("rdm_cv", dissimilarity=dissimilarity, comparison="corr", **UNSTRATIFIED)(X, Y)
    subsets = load_metric("rdm_cv", **UNSTRATIFIED).crossvalidation.of(Y)
    expected = [np.corrcoef(*(pdist(side.values[test], dissimilarity) for side in (X, Y)))[0, 1] for _, test in subsets]
    np.testing.assert_allclose(score.raw, expected, atol=1e-9)
    assert load_metric("rdm", dissimilarity=dissimilarity, comparison="tau-a", error="jackknife")(X, Y).error > 0
    drawn = load_metric("rdm", dissimilarity=dissimilarity, error="bootstrap", n_bootstraps=20)(X, Y)
    assert float(drawn) == pytest.approx(float(load_metric("rdm", dissimilarity=dissimilarity)(X, Y)), abs=1e-9)
    assert drawn.error > 0 and drawn.raw.shape == (20,)
    with pytest.raises(ValueError, match="tau-a.* has no error by bootstrap"):
        load_metric("rdm", dissimilarity=dissimilarity, comparison="tau-a", error="bootstrap")


def test_an_unknown_name_is_told_those_that_there_are():
    with pytest.raises(ValueError, match="unknown dissimilarity 'manhattan'; there are: correlation, cosine, euclid"):
        load_metric("rdm", dissimilarity="manhattan")
    with pytest.raises(ValueError, match="unknown comparison of RDMs 'pearson'; there are: corr, cosine, spearman"):
        load_metric("rdm_cv", comparison="pearson")


def test_stimuli_with_the_same_responses_are_at_no_distance():
    twice = X.copy(data=np.concatenate([X.values[:12], X.values[:12]]) + 100.0)
    values = load_metric("rdm", dissimilarity="euclidean")(twice, Y)
    expected = scipy.stats.spearmanr(pdist(twice.values), pdist(Y.values)).statistic
    assert float(values) == pytest.approx(expected, abs=1e-9)


@pytest.mark.slow
def test_euclidean_distances_are_read_in_blocks():
    wide, narrow = of_width(500_000, 2), of_width(11, 1)
    metric = load_metric("rdm", dissimilarity="euclidean")
    wanted = float(metric(wide, narrow))
    with memory_limit("8MB"):
        assert float(metric(wide, narrow)) == pytest.approx(wanted, abs=1e-9)
        with pytest.raises(ValueError, match="takes .* of memory"):
            load_metric("rdm", dissimilarity="cosine")(wide, narrow)


@pytest.mark.slow
def test_one_entry_is_a_dissimilarity_for_all(monkeypatch):
    def cityblock(a, b):
        return jnp.sum(jnp.abs(a[:, None] - b[None]), axis=2)

    monkeypatch.setitem(DISSIMILARITIES, "cityblock", Dissimilarity(cityblock))
    score = load_metric("rdm", dissimilarity="cityblock")(X, Y)
    expected = scipy.stats.spearmanr(*(pdist(side.values, "cityblock") for side in (X, Y))).statistic
    assert float(score) == pytest.approx(expected, abs=1e-9)
    assert load_metric("rdm_cv", dissimilarity="cityblock", **UNSTRATIFIED)(X, Y).error > 0
    assert bsjax.score_arrays(X.values, Y.values, "rdm", dissimilarity="cityblock", error="bootstrap").error > 0


def test_one_entry_is_a_comparison_for_all(monkeypatch):
    def nearness(a, b, where):
        return -jnp.mean((a - b) ** 2, axis=-1, where=where)

    monkeypatch.setitem(COMPARISONS, "nearness", Comparison(compare=nearness))
    score = load_metric("rdm", comparison="nearness", error="jackknife")(X, Y)
    a, b = (pdist(side.values, "correlation") for side in (X, Y))
    assert float(score) == pytest.approx(-np.mean((a - b) ** 2), abs=1e-9) and score.error > 0
    with pytest.raises(ValueError, match="needs factor= or compare="):
        Comparison()
