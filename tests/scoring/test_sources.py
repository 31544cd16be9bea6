"""Many sources against one target: each as by itself, with the programs and the memory of one."""

import gc
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

from bsjax import load_metric
from bsjax.engine.programs.compilation import traces
from bsjax.scoring import score_sources
from tests.support.responses import assembly
from tests.support.transfers import explicit_transfers

N = 50
SPLITS = {"crossvalidation_kwargs": {"stratification_coord": None, "splits": 3}}


def responses(width, seed=0):
    return assembly(np.random.default_rng(seed).normal(size=(N, width)))


TARGET = responses(9, seed=99)


@pytest.mark.slow
def test_sources_of_one_shape_share_a_program_and_score_as_by_themselves():
    layers = {f"layer{seed}": responses(21, seed)[::-1] for seed in range(12)}
    metric = load_metric("ridge", **SPLITS)
    with traces() as counted:
        scores = score_sources(metric, layers, TARGET)
    assert counted == {"cross_validate_and_report": 1}
    assert list(scores) == list(layers)
    for name, layer in layers.items():
        alone = metric(layer, TARGET)
        assert scores[name] == alone  # to the last digit
        xr.testing.assert_identical(scores[name].raw, alone.raw)


@pytest.mark.slow
def test_one_source_is_in_memory_at_a_time():
    loaded = []

    class Values(np.ndarray):
        """An array that can be followed, as it owns its memory."""

    def load(seed):
        gc.collect()
        assert not any(values() is not None for values in loaded), "the one before is still held"
        values = Values((N, 21))
        values[:] = responses(21, seed)
        loaded.append(weakref.ref(values))
        return responses(21, seed).copy(data=values)

    scores = score_sources("cka", {str(seed): lambda seed=seed: load(seed) for seed in range(3)}, TARGET)
    assert len(loaded) == 3
    assert float(scores["1"]) == pytest.approx(float(load_metric("cka")(responses(21, 1), TARGET)), abs=1e-12)


@pytest.mark.slow
def test_a_limit_of_memory_does_not_change_scores():
    layers = {"wide": responses(400), "narrow": responses(20)}
    metric = load_metric("ridge", **SPLITS)
    bounded = score_sources(metric, layers, TARGET, memory="100kB")
    for name, layer in layers.items():
        np.testing.assert_allclose(bounded[name].raw, metric(layer, TARGET).raw, atol=1e-9)


def test_any_metric_will_do_and_errors_name_the_source():
    layers = {"a": responses(21), "b": responses(22)}
    assert score_sources("rdm", layers, TARGET)["b"] == load_metric("rdm")(layers["b"], TARGET)
    with pytest.raises(ValueError, match="^b: source and target hold different stimuli"):
        score_sources("cka", {**layers, "b": layers["b"][:-1]}, TARGET)
    with pytest.raises(KeyError, match="cka"):
        score_sources("ckaa", layers, TARGET)


def on_device(assembly):
    with jax.enable_x64(True):
        return assembly.copy(data=jnp.asarray(assembly.values))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "settings"), [("ridge", SPLITS), ("rdm", {})])
def test_sources_on_a_device_go_through_one_call_together(name, settings):
    """Layers of two models: six of one shape, and two of another."""
    layers = {f"a{seed}": on_device(responses(21, seed)[::-1]) for seed in range(6)}
    layers |= {f"b{seed}": on_device(responses(30, seed)) for seed in range(2)}
    metric = load_metric(name, **settings)
    with traces() as counted, explicit_transfers() as fetched:
        scores = score_sources(metric, layers, TARGET)
    assert counted["_of_each_source"] == 2
    # Whether each is finite, and then the results, once for either shape: a regression's scores and dimensionalities.
    results = 2 if name == "ridge" else 1
    assert fetched[:8] == [()] * 8 and [shape[0] for shape in fetched[8:]] == [6] * results + [2] * results
    assert list(scores) == list(layers)
    for layer, source in layers.items():
        alone = metric(source.copy(data=np.asarray(source.data)), TARGET)
        assert float(scores[layer]) == pytest.approx(float(alone), abs=1e-12)


def test_a_source_on_a_device_without_a_score_is_named():
    good, bad = responses(21), responses(21, 1)
    bad[0, 0] = np.nan
    layers = {"good": on_device(good), "bad": on_device(bad)}
    with pytest.raises(ValueError, match="bad: source has 1 NaN or infinite values"):
        score_sources(load_metric("ridge", **SPLITS), layers, TARGET)
