"""A behavioural metric and a similarity from one small file each: what they get without another line."""

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

N, PEOPLE = 30, 6

BEHAVIOURAL = """
from dataclasses import dataclass

import jax.numpy as jnp

from bsjax import KernelMetric, Score, metric_registry
from bsjax.labelled.align import order_of
from bsjax.metrics import pearson


@dataclass(frozen=True)
class Hesitation(KernelMetric):
    identifier = "hesitation"
    power: float = 1.0

    def arrays(self, source, target):
        order = order_of(source, target, target_repeats=True)
        return (source.values if order is None else source.values[order]), target.values

    def kernel(self, probabilities, times):
        return pearson((1 - probabilities.max(axis=1)) ** self.power, jnp.log(times), axis=0)

    def summary(self, r, source, target):
        return Score(float(r), n_units=len(target))


metric_registry.register("hesitation", Hesitation, summary="reaction times and confidence")
"""


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
FILES = {"hesitation": BEHAVIOURAL, "gram_cosine": SIMILARITY}


@pytest.fixture(params=FILES)
def added(request, tmp_path, monkeypatch):
    """The name of a metric whose file was imported."""
    name = request.param
    (tmp_path / f"added_{name}.py").write_text(FILES[name])
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module(f"added_{name}")
    yield name
    del metric_registry[name], sys.modules[f"added_{name}"]


def responses(rng):
    return assembly(rng.normal(size=(N, 5)))


def assemblies(name, signal):
    """What a metric is called with: noise, and so much of what both sides share."""
    rng = np.random.default_rng(0)
    if name == "hesitation":
        unsure, image = rng.random(N) / 2, np.repeat(np.arange(N), PEOPLE)
        model = xr.DataArray(np.stack([1 - unsure, unsure], axis=1), dims=["presentation", "choice"])
        times = xr.DataArray(np.exp(signal * unsure[image] + 0.1 * rng.normal(size=len(image))), dims=["presentation"])
        model["stimulus_id"], times["stimulus_id"] = ("presentation", np.arange(N)), ("presentation", image)
        return model, times
    source = responses(rng)
    return source, responses(rng) + signal * source.values


def test_it_is_listed_loaded_and_scores_what_both_sides_share(added):
    assert added in bsjax.list_metrics()
    metric = load_metric(added)
    high, low = (metric(*assemblies(added, signal)) for signal in (5.0, 0.0))
    assert float(high) > 0.8 > 0.5 > abs(float(low))
    assert high.provenance.metric == added and high.provenance.dtype == "float64"


def test_it_has_an_interval_over_stimuli_and_permutations(added):
    with in_draws(Resampling("stimuli", draws=20)):
        score = scored(load_metric(added), *assemblies(added, 1.0))
    assert np.isfinite(score.error) and score.value in score.interval()
    with bsjax.Permutations.within(19):
        assert scored(load_metric(added), *assemblies(added, 5.0)).provenance["p_value"] == 0.05


@pytest.mark.slow
def test_it_is_refused_before_it_takes_too_much_memory(added):
    wide = [xr.concat([side] * 40_000, side.dims[-1]) if side.ndim > 1 else side for side in assemblies(added, 1.0)]
    with bsjax.memory_limit("20MB"), pytest.raises(ValueError, match="takes"):
        load_metric(added)(*wide)


@pytest.mark.parametrize("added", ["gram_cosine"], indirect=True)
def test_a_similarity_compares_layers_and_sources(added):
    source, target = assemblies(added, 5.0)
    noise = responses(np.random.default_rng(1))
    shared = SharedTarget(load_metric(added), target)
    assert shared(source).score > shared(noise).score
    assert bsjax.score_arrays(source.values, target.values, metric=added, error="jackknife").error > 0
