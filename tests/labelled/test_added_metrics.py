"""A similarity from one small file: what it gets without another line."""

import importlib
import sys

import numpy as np
import pytest
import xarray as xr

import bsjax
from bsjax import Resampling, load_metric, metric_registry
from bsjax.labelled.layers import SharedTarget
from bsjax.labelled.metric import scored
from bsjax.labelled.resampling.draws import in_draws
from tests.support.responses import assembly

SIMILARITY = """
import jax.numpy as jnp

from bsjax import metric_registry
from bsjax.labelled.similarity.representational import RepresentationalSimilarity
from bsjax.metrics.similarity.similarity import Similarity


def cosine_of_grams(x, y, where=None):
    keep = jnp.ones(len(x), x.dtype) if where is None else where.astype(x.dtype)
    x, y = x * keep[:, None], y * keep[:, None]
    return jnp.sum((x.T @ y) ** 2) / jnp.sqrt(jnp.sum((x.T @ x) ** 2) * jnp.sum((y.T @ y) ** 2))


COSINE = Similarity(cosine_of_grams, min_stimuli=2, ignores_zero_units=True)
metric_registry.register(
    "gram_cosine", lambda error=None: RepresentationalSimilarity(COSINE, "gram_cosine", error), summary="cosine"
)
"""


@pytest.fixture
def added(tmp_path, monkeypatch):
    """The name of a metric whose file was imported."""
    (tmp_path / "added_gram_cosine.py").write_text(SIMILARITY)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("added_gram_cosine")
    yield "gram_cosine"
    del metric_registry["gram_cosine"], sys.modules["added_gram_cosine"]


def sides(signal):
    """Noise, and so much of what both sides share."""
    source, target = map(assembly, np.random.default_rng(0).normal(size=(2, 30, 5)))
    return source, target + signal * source.values


def test_it_is_listed_loaded_and_scores_what_both_sides_share(added):
    assert added in bsjax.list_metrics()
    high, low = (load_metric(added)(*sides(signal)) for signal in (5.0, 0.0))
    assert float(high) > 0.8 > 0.5 > abs(float(low))
    assert high.provenance.metric == added and high.provenance.dtype == "float64"


def test_it_has_an_interval_over_stimuli_and_permutations(added):
    with in_draws(Resampling("stimuli", draws=20)):
        score = scored(load_metric(added), *sides(1.0))
    assert np.isfinite(score.error) and score.value in score.interval()
    with bsjax.Permutations.within(19):
        assert scored(load_metric(added), *sides(5.0)).provenance["p_value"] == 0.05


@pytest.mark.slow
def test_it_is_refused_before_it_takes_too_much_memory(added):
    wide = [xr.concat([side] * 40_000, "neuroid") for side in sides(1.0)]
    with bsjax.memory_limit("20MB"), pytest.raises(ValueError, match="takes"):
        load_metric(added)(*wide)


def test_it_compares_layers_and_sources(added):
    source, target = sides(5.0)
    shared = SharedTarget(load_metric(added), target)
    assert shared(source).score > shared(sides(5.0)[0][:, ::-1] ** 3).score
    assert bsjax.score_arrays(source.values, target.values, metric=added, error="jackknife").error > 0
