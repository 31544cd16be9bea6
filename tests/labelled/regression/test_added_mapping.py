"""A mapping from one small file, and what it gets without another line: every form, padding, streaming, listing."""

import importlib
import sys

import numpy as np
import pytest

import bsjax
from bsjax import list_metrics, load_metric, metric_registry, register_mapping
from bsjax.engine.memory_limit import memory_limit
from bsjax.engine.programs.compilation import traces
from bsjax.labelled.layers import SharedTarget
from bsjax.labelled.regression import crossvalidation
from bsjax.metrics import Ridge
from tests.support.responses import assembly

N, TRAIN = 80, 60
UNSTRATIFIED = {"crossvalidation_kwargs": {"stratification_coord": None, "splits": 3}}
FILE = '''
"""Ridge regression in the coordinates of the stimuli, solved for each fold as the textbook has it."""
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp

from bsjax import register_mapping
from bsjax.metrics.regression.mapping import Mapping, Traits


class Prepared(NamedTuple):
    embedding: jax.Array
    x: jax.Array
    mean: jax.Array
    y: jax.Array


@dataclass(frozen=True)
class MyRidge(Mapping):
    alpha: float = 1.0
    {traits}

    def prepare(self, x, y):
        mean = x.mean(axis=0, keepdims=True)
        return Prepared((x - mean) @ (x - mean).T, x - mean, mean, y)

    def embed(self, prepared, x):
        return (x - prepared.mean) @ prepared.x.T

    def fit(self, prepared, held_out, held_out_mask):
        def one(fold):
            rows, there = fold
            gram, y, n = prepared.embedding, prepared.y, len(prepared.y)
            train = jnp.ones(n, y.dtype).at[rows].min(jnp.where(there, 0.0, 1.0).astype(y.dtype))
            centre = jnp.diag(train) - jnp.outer(train, train) / train.sum()
            system = centre @ gram @ centre + self.alpha * jnp.eye(n, dtype=y.dtype)
            return centre @ jnp.linalg.solve(system, centre @ y)
        return jax.lax.map(one, (held_out, held_out_mask))

    def predict(self, params, embedded):
        return embedded @ params


register_mapping("my_ridge", MyRidge, "ridge regression of my own", reverse=True)
'''
TRAITS = 'traits = Traits("inner products", True, ignores_zero_features=True, ignores_zero_targets=True)'


@pytest.fixture(params=[TRAITS, "pass"], ids=["with traits", "without traits"])
def added(request, tmp_path, monkeypatch):
    """Its registration, and whether it says its traits."""
    before = list_metrics()
    path = tmp_path / f"my_ridge_{'with' if request.param == TRAITS else 'without'}.py"
    path.write_text(FILE.replace("{traits}", request.param))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, path.stem, raising=False)
    importlib.import_module(path.stem)
    yield request.param == TRAITS
    for name in set(list_metrics()) - set(before):
        del metric_registry[name]


def of_width(width, seed=0, stimuli=N):
    rng = np.random.default_rng(seed)
    latent = np.random.default_rng(99).normal(size=(stimuli, 10))
    values = latent @ rng.normal(size=(10, width)) + rng.normal(size=(stimuli, width))
    return assembly(values)


@pytest.mark.slow
def test_every_form_scores_as_the_built_in_one(added):
    x, y = of_width(30), of_width(12, 1)
    for form in ("{}", "{}_cv", "reverse_{}", "reverse_{}_cv"):
        mine, theirs = form.format("my_ridge"), form.format("ridge")
        wanted = load_metric("ridge", alpha=3.0, **UNSTRATIFIED)(*((y, x) if "reverse" in form else (x, y)))
        assert mine in list_metrics() and "ridge regression of my own" in metric_registry.summary(mine), theirs
        score = load_metric(mine, alpha=3.0, **UNSTRATIFIED)(x, y)
        np.testing.assert_allclose(score.raw, wanted.raw, atol=1e-8)
    parts = x[:TRAIN], x[TRAIN:], y[:TRAIN], y[TRAIN:]
    np.testing.assert_allclose(
        load_metric("my_ridge_split", alpha=3.0)(*parts).raw,
        load_metric("ridge_split", alpha=3.0)(*parts).raw,
        atol=1e-8,
    )
    assert "my_ridge_cv" in bsjax.list_metrics() and bsjax.score_arrays(x.values, y.values, "my_ridge") > 0


@pytest.mark.slow
def test_widths_of_one_bucket_share_programs(added):
    metric = load_metric("my_ridge", alpha=2.0, **UNSTRATIFIED)
    with traces() as counted:
        for width, neuroids in ((65, 33), (70, 35), (72, 36)):
            metric(of_width(width), of_width(neuroids, 1))
    assert counted["cross_validate_and_report"] == (1 if added else 3)


@pytest.mark.slow
def test_wide_sources_are_read_in_blocks(added, monkeypatch):
    x, y = of_width(150_000), of_width(5, 1)
    metric = load_metric("my_ridge", alpha=2.0, **UNSTRATIFIED)
    wanted = metric(x, y)
    blocks = []
    read = crossvalidation.compress
    monkeypatch.setattr(
        crossvalidation, "compress", lambda *sources, **more: blocks.append(sources) or read(*sources, **more)
    )
    with memory_limit("8MB"):
        if added:
            np.testing.assert_allclose(metric(x, y).raw, wanted.raw, atol=1e-6)
        else:  # what is not known to see inner products alone needs its features
            with pytest.raises(ValueError, match="takes .* of memory"):
                metric(x, y)
    assert len(blocks) == int(added)


@pytest.mark.slow
def test_layers_are_scored_and_chosen_between(added):
    layers, target = {"narrow": of_width(20), "wide": of_width(120, 2)}, of_width(6, 1)
    metric = load_metric("my_ridge", **UNSTRATIFIED)
    scores = bsjax.score_sources(metric, layers, target)
    for name, layer in layers.items():
        assert float(scores[name]) == pytest.approx(float(metric(layer, target)), abs=1e-12)
    scored = SharedTarget(metric, target)(layers["wide"])
    assert scored.within.shape == (3,) and scored.held_out.shape == (3, 6)


def test_settings_are_those_of_the_mapping(added):
    with pytest.raises(TypeError, match="alhpa"):
        load_metric("my_ridge", alhpa=2.0)
    with pytest.raises(ValueError, match="it takes: crossvalidation_kwargs, dtype, alpha"):
        bsjax.score_arrays(np.eye(30), np.eye(30), "my_ridge", alhpa=2.0)


def test_settings_may_be_of_any_kind_and_name():
    made = []
    register_mapping("odd", lambda name, make=2, **more: made.append((name, make, more)) or Ridge(1.0))
    try:
        load_metric("odd", name="a", other=3)
        load_metric("odd_split", name="b", make=1)
    finally:
        for form in ("odd", "odd_cv", "odd_split"):
            del metric_registry[form]
    assert made == [("a", 2, {"other": 3}), ("b", 1, {})]
