"""Activations that are kept: found when nothing has changed, computed anew when anything has, by any process."""

import os
import signal
import subprocess
import sys
import warnings
from collections import Counter
from functools import partial

import jax.numpy as jnp
import numpy as np
import pytest
from PIL import Image

from bsjax.activations import ActivationCache, SparseRandomProjection, Subsampling
from bsjax.adapters import from_jax, unit_preprocessing
from tests.support.disks import fill, let_only_read
from tests.support.paths import REPOSITORY

SIX = unit_preprocessing(6)
SLOW_NETWORK = REPOSITORY / "tests" / "support" / "slow_network.py"


@pytest.fixture
def cache(tmp_path):
    return ActivationCache(tmp_path / "cache")


def keys(cache):
    return {entry.key for entry in cache.entries()}


def network(parameters, images):
    return {"map": images * parameters["gain"], "mean": images.mean((1, 2)) + parameters["bias"][None]}


WEIGHTS = {"gain": jnp.float32(2), "bias": jnp.arange(3, dtype=jnp.float32)}


def model(cache, parameters=None, function=network, preprocess=SIX, **options):
    return from_jax(function, "net", preprocess, parameters=parameters or WEIGHTS, cache=cache, batch_size=4, **options)


@pytest.mark.slow
def test_what_has_not_changed_is_found_and_the_same(cache, stimuli):
    shown = stimuli([0, 1, 2, 1, 5, 6, 7])
    first = model(cache)(shown, ["map", "mean"])
    made = keys(cache)
    assert len(made) == 2
    # Another instance, other identifiers of the same images, the layers one by one, another batch size.
    renamed = shown.assign(stimulus_id=[f"new{n}" for n in range(7)])
    paths = zip(renamed["stimulus_id"], shown["stimulus_id"], strict=True)
    renamed.stimulus_paths = {new: shown.get_stimulus(old) for new, old in paths}
    refuses = model(cache, preprocess=SIX).with_options(batch_size=3, progress=lambda progress: pytest.fail("it ran"))
    for layer in ("mean", "map"):
        np.testing.assert_array_equal(refuses(renamed, layer).values, first.sel(layer=layer).values)
    assert keys(cache) == made


@pytest.mark.slow
def test_a_weight_a_pixel_the_preprocessing_and_the_reducer_are_four_other_keys(cache, stimuli, tmp_path):
    shown = stimuli([0, 1, 2])
    known: list[set[str]] = [set()]

    def added(make, shown=shown):
        values = make(shown, "map").values
        known.append(keys(cache))
        assert len(known[-1] - known[-2]) == 1
        return values

    first = added(model(cache))
    assert (added(model(cache, {**WEIGHTS, "bias": WEIGHTS["bias"].at[2].add(1e-3)})) == first).all()
    pixel = np.array(Image.open(shown.get_stimulus("1-image1")))
    pixel[3, 3, 0] ^= 1
    Image.fromarray(pixel).save(tmp_path / "pixel.png")
    changed = stimuli([0, 1, 2])
    changed.stimulus_paths["1-image1"] = tmp_path / "pixel.png"
    assert (added(model(cache), changed) != first).any()
    assert added(model(cache, preprocess=partial(SIX, mean=(0.1, 0, 0)))).shape == first.shape
    added(model(cache, reducer=Subsampling(5)))
    added(model(cache, reducer=Subsampling(5, seed=1)))
    added(model(cache, reducer=SparseRandomProjection(5)))
    # What the network computes is part of it, also in a layer that was not asked for, as it is one program.
    added(model(cache, function=lambda p, x: network(p, x) | {"mean": x.mean((1, 2)) - p["bias"][None]}))
    assert len(known[-1]) == 8


@pytest.mark.slow
def test_a_layer_too_large_for_the_store_is_computed_all_the_same(tmp_path, stimuli):
    small = ActivationCache(tmp_path / "small", max_bytes=300)
    with pytest.warns(UserWarning, match="layer 'map' of model 'net' take 992 B, more than the 300 B"):
        found = model(small)(stimuli([0, 1]), ["map", "mean"])
    np.testing.assert_array_equal(found.values, model(None)(stimuli([0, 1]), ["map", "mean"]).values)
    assert [entry.layer for entry in small.entries()] == ["mean"]


def unkept(root, make, shown, layers, reason):
    """What is computed where nothing can be kept: with one warning, and the same as without a cache."""
    with pytest.warns(RuntimeWarning) as said:
        found = make(shown, layers)
    [message] = [str(warning.message) for warning in said]
    assert message.startswith(f"cannot cache activations in {root} ({reason}): ") and "set BSJAX_HOME to" in message
    np.testing.assert_array_equal(found.values, model(None)(shown, layers).values)
    return found


def test_a_store_that_can_only_be_read(small_disk, stimuli):
    cache, shown = ActivationCache(small_disk / "cache"), stimuli([0, 1, 2, 3, 4])
    model(cache)(shown, "map")
    let_only_read(small_disk)
    ran = []
    unkept(cache.root, model(cache, progress=ran.append), shown, ["map", "mean"], "Read-only file system")
    assert len(ran) == 2  # batches
    ran.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model(cache, progress=ran.append)(shown, "map")  # which is there
    assert not ran


def test_a_disk_that_fills_up_meanwhile(small_disk, stimuli):
    """The room for the values was taken at the start; there is none for the note that they are whole."""
    cache, shown = ActivationCache(small_disk / "cache"), stimuli(list(range(12)))
    filling = model(cache, progress=lambda progress: fill(small_disk))
    unkept(cache.root, filling, shown, ["map", "mean"], "No space left on device")
    assert not any(entry.complete for entry in cache.entries())
    (small_disk / "filled").unlink()
    found = model(cache)(shown, ["map", "mean"])
    np.testing.assert_array_equal(found.values, model(None)(shown, ["map", "mean"]).values)
    assert [entry.complete for entry in cache.entries()] == [True, True]


@pytest.fixture
def images_20(tmp_path):
    folder = tmp_path / "images"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for n in range(20):
        Image.fromarray(rng.integers(0, 256, (8, 8, 3), np.uint8)).save(folder / f"{n:02d}.png")
    return folder


def start(tmp_path, images, layers, seconds=0.0, stop=99, cache="cache", out="out"):
    files = [tmp_path / "log", tmp_path / cache, images]
    command = [sys.executable, SLOW_NETWORK, *files, layers, seconds, stop, tmp_path / f"{out}.npy"]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    return subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, text=True, env=environment)


def ended(process):
    process.communicate()
    return process.returncode


@pytest.mark.slow
def test_a_killed_extraction_goes_on_and_gives_the_same_bits(tmp_path, images_20):
    log = tmp_path / "log"
    killed = start(tmp_path, images_20, "a,c", stop=3)
    assert killed.stdout is not None
    for line in killed.stdout:
        if line.strip() == "12":  # three batches of five
            os.kill(killed.pid, signal.SIGKILL)
            break
    assert ended(killed) == -signal.SIGKILL
    before = len(log.read_text().splitlines())
    assert ActivationCache(tmp_path / "cache").verify() == []
    assert ended(start(tmp_path, images_20, "a,c")) == 0
    batches = len(log.read_text().splitlines())
    assert before in (3, 4) and batches == before + 2
    assert ended(start(tmp_path, images_20, "a,c", cache="other", out="whole")) == 0
    resumed, whole = np.load(tmp_path / "out.npy"), np.load(tmp_path / "whole.npy")
    assert resumed.tobytes() == whole.tobytes()


@pytest.mark.slow
def test_processes_compute_each_layer_once(tmp_path, images_20):
    wanted = ["ab", "bc"]
    running = [
        start(tmp_path, images_20, ",".join(layers), seconds=0.05, out=f"out{number}")
        for number, layers in enumerate(wanted)
    ]
    assert [ended(process) for process in running] == [0] * 2
    lines = (tmp_path / "log").read_text().splitlines()
    computed = Counter(layer for line in lines for layer in line.split(","))
    assert computed == dict.fromkeys("abc", 5)  # five batches
    cache = ActivationCache(tmp_path / "cache")
    assert cache.verify() == [] and len(cache.entries()) == 3
    answers = {}
    for number, layers in enumerate(wanted):
        for layer, part in zip(layers, np.split(np.load(tmp_path / f"out{number}.npy"), 2, axis=1), strict=True):
            np.testing.assert_array_equal(part, answers.setdefault(layer, part))
