"""From a network's layer to the score: nothing comes to the host but checks, results, and what decides labels."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
import xarray as xr
from flax import nnx
from PIL import Image

import bsjax
from bsjax import ModelCommitment, load_metric
from bsjax.activations import TemporalActivations
from bsjax.adapters import from_flax, from_jax, from_torch, imagenet_preprocessing, unit_preprocessing
from tests.support.transfers import ImplicitTransfer, explicit_transfers

N, NEUROIDS, BINS = 22, 4, [(70, 120), (120, 170)]
RNG = np.random.default_rng(0)
UNSTRATIFIED = {"crossvalidation_kwargs": {"splits": 3, "stratification_coord": None}}
ON_DEVICE = {"batch_size": 8, "cache": None, "keep_on_device": True}
METRICS = {
    "pls": {"n_components": 3, **UNSTRATIFIED},
    "ridge": UNSTRATIFIED,
    "rdm": {},
    "cka_cv": UNSTRATIFIED,
}


def flax_model():
    net = nnx.Sequential(nnx.Conv(3, 4, (3, 3), rngs=nnx.Rngs(0)), nnx.relu)
    return from_flax(net, "flax", preprocess=imagenet_preprocessing(size=4, layout="NHWC"), **ON_DEVICE)


def torch_model():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(inplace=True))
    return from_torch(net, "torch", preprocess=imagenet_preprocessing(size=6, layout="NCHW"), **ON_DEVICE)


@pytest.fixture(scope="module")
def model():
    return flax_model()


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    folder = tmp_path_factory.mktemp("images")
    for n in range(N):
        Image.fromarray(RNG.integers(0, 256, (8, 8, 3), np.uint8)).save(folder / f"{n}.png")
    ids = [f"s{n}" for n in range(N)]
    labels = ["dog", "cat"] * (N // 2)
    return bsjax.StimulusSet(
        {"stimulus_id": ids, "image_label": labels, "object_name": labels},
        identifier="shown",
        stimulus_paths={stimulus_id: folder / f"{n}.png" for n, stimulus_id in enumerate(ids)},
    )


@pytest.fixture(scope="module")
def target(shown):
    order = RNG.permutation(N)
    ids = shown["stimulus_id"].to_numpy()[order]
    return xr.DataArray(
        RNG.normal(size=(N, NEUROIDS)), {"stimulus_id": ("presentation", ids)}, ("presentation", "neuroid")
    )


def over_time(assembly):
    starts, ends = zip(*BINS, strict=True)
    timed = assembly.expand_dims(time_bin=len(BINS), axis=-1)
    return timed.assign_coords(time_bin_start=("time_bin", list(starts)), time_bin_end=("time_bin", list(ends)))


def on_host(assembly):
    return assembly.copy(data=np.asarray(assembly.data))


@pytest.mark.parametrize("name", [pytest.param("pls", marks=pytest.mark.slow), *list(METRICS)[1:]])
def test_activations_stay_where_they_are_until_the_score(shown, target, name):
    model = torch_model() if name == "rdm" else flax_model()
    layer = next(iter(model.layers()))
    metric = load_metric(name, **METRICS[name])
    with explicit_transfers() as fetched:
        source = model(shown, layer)
        score = metric(source, target)
    # Whether the layer is finite, then whether the source is, and then the results: a number, or one for each split,
    # and the effective dimensionality of the features.
    assert fetched[:2] == [(), ()] and len(fetched) == 3 + ("effective_dimensionality" in score.provenance)
    assert sum(int(np.prod(shape)) for shape in fetched[2:]) <= 3 * (NEUROIDS + 1)
    assert float(score) == float(metric(on_host(source), target))


def test_a_copy_that_is_not_asked_for_is_seen(model, shown):
    values = model(shown, next(iter(model.layers()))).data
    total = jnp.sum(values)
    for copy in (lambda x: np.isfinite(x), lambda x: xr.DataArray(x).values):
        with explicit_transfers(), pytest.raises(ImplicitTransfer):
            copy(values)
    with explicit_transfers(), pytest.raises(ImplicitTransfer):
        float(total)
    with explicit_transfers(), pytest.raises(jax.errors.JaxRuntimeError, match="Disallowed host-to-device"):
        values + np.ones(values.shape, np.float32)


def test_torch_gives_its_memory_away(shown):
    """By DLPack, of a copy that the next module's work in place does not reach."""
    made = []
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(inplace=True))
    net[0].register_forward_hook(lambda module, inputs, output: made.append(output.clone()))
    source = from_torch(
        net, "torch", preprocess=imagenet_preprocessing(size=6), batch_size=N, cache=None, keep_on_device=True
    )(shown, "0")
    np.testing.assert_array_equal(np.asarray(source.data), made[0].detach().numpy()[:N].reshape(N, -1))
    assert (np.asarray(source.data) < 0).any()


@pytest.mark.slow
def test_a_recording_in_time_bins(model, shown, target):
    brain = ModelCommitment("m", model, region_layer_map={"IT": next(iter(model.layers()))})
    metric = load_metric("spantime_ridge", **UNSTRATIFIED)
    with explicit_transfers() as fetched:
        brain.start_recording("IT", time_bins=BINS)
        source = brain.look_at(shown)
        score = metric(source, over_time(target)[..., ::-1])
    assert fetched == [(), (), (3, len(BINS), NEUROIDS)]
    assert score.raw.equals(metric(on_host(source), over_time(target)[..., ::-1]).raw)


@pytest.mark.slow
def test_a_layer_that_changes_over_time_is_averaged_where_it_is(shown):
    fading = from_jax(
        lambda x: jnp.stack([x.mean((1, 2)), x.max((1, 2))], 1), "fading", unit_preprocessing(6), **ON_DEVICE
    )
    model = TemporalActivations(fading, {"output": 0}, bins={"output": BINS})
    brain = ModelCommitment("m", model, region_layer_map={"IT": "output"})

    def look():
        brain.start_recording("IT", time_bins=[(95, 145)])
        return brain.look_at(shown)

    with explicit_transfers() as fetched:
        seen = look()
    assert fetched == [()] and isinstance(seen.data, jax.Array)
    np.testing.assert_allclose(seen.values, model(shown, "output").values.mean(axis=-1), rtol=1e-6)


def test_arrays_of_jax_are_scored_where_they_are(model, shown, target):
    features = model(shown, next(iter(model.layers()))).data
    with explicit_transfers() as fetched:
        score = bsjax.score_arrays(features, target.values, "ridge", {"splits": 3})
    assert sorted(fetched) == [(), (3,), (3, NEUROIDS)]
    assert float(score) == float(bsjax.score_arrays(np.asarray(features), target.values, "ridge", {"splits": 3}))
