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

N = 80
UNSTRATIFIED = {"crossvalidation_kwargs": {"stratification_coord": None, "splits": 3}}
FILE = """
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
"""
TRAITS = 'traits = Traits("inner products", True, ignores_zero_features=True, ignores_zero_targets=True)'


@pytest.fixture(params=[TRAITS, "pass"], ids=["with traits", "without traits"])
def added(request, tmp_path, monkeypatch):
    """Its registration, and whether it says its traits."""
    before = list_metrics()
    path = tmp_path / f"my_ridge_{'with' if request.param == TRAITS else 'without'}.py"
    path.write_text(FILE.replace("{traits}", request.param))
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module(path.stem)
    yield request.param == TRAITS
    del sys.modules[path.stem]
    for name in set(list_metrics()) - set(before):
        del metric_registry[name]


def of_width(width, seed=0):
    rng = np.random.default_rng(seed)
    latent = np.random.default_rng(99).normal(size=(N, 10))
    return assembly(latent @ rng.normal(size=(10, width)) + rng.normal(size=(N, width)))


@pytest.mark.slow
def test_every_form_scores_as_the_built_in_one(added):
    x, y = of_width(30), of_width(12, 1)
    for way, sides in (("", (x, y)), ("reverse_", (y, x))):
        wanted = load_metric("ridge", alpha=3.0, **UNSTRATIFIED)(*sides).raw
        for name in (f"{way}my_ridge", f"{way}my_ridge_cv"):
            assert name in list_metrics() and "ridge regression of my own" in metric_registry.summary(name)
            np.testing.assert_allclose(load_metric(name, alpha=3.0, **UNSTRATIFIED)(x, y).raw, wanted, atol=1e-8)
    parts = x[:60], x[60:], y[:60], y[60:]
    mine, theirs = (load_metric(f"{name}_split", alpha=3.0)(*parts).raw for name in ("my_ridge", "ridge"))
    np.testing.assert_allclose(mine, theirs, atol=1e-8)
    assert bsjax.score_arrays(x.values, y.values, "my_ridge") > 0


@pytest.mark.slow
def test_widths_of_one_bucket_share_programs(added):
    metric = load_metric("my_ridge", alpha=2.0, **UNSTRATIFIED)
    with traces() as counted:
        for width, neuroids in ((65, 33), (72, 36)):
            metric(of_width(width), of_width(neuroids, 1))
    assert counted["cross_validate_and_report"] == (1 if added else 2)


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
    wide, target, metric = of_width(120, 2), of_width(6, 1), load_metric("my_ridge", **UNSTRATIFIED)
    scores = bsjax.score_sources(metric, {"narrow": of_width(20), "wide": wide}, target)
    assert float(scores["wide"]) == pytest.approx(float(metric(wide, target)), abs=1e-12)
    assert SharedTarget(metric, target)(wide).held_out.shape == (3, 6)


def test_settings_are_those_of_the_mapping(added):
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
