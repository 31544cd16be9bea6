"""Run by ``test_sharding.py`` in processes of their own: metrics on one device and on all, and how they differ."""

import json
import sys
import warnings
from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from bsjax import load_metric
from bsjax.engine.memory_limit import memory_limit
from bsjax.engine.sharding import _MESH, _on_shares, _placed, dealt_out, over
from bsjax.labelled import reading_order
from bsjax.labelled.streaming import gram_of
from bsjax.metrics import Ridge, compiled, make_folds
from bsjax.metrics.regression.crossvalidation import cross_validate_and_report
from bsjax.metrics.tuning.distributions import bootstrapped_similarity

N, FEATURES, TARGETS, REPETITIONS = 37, 50, 21, 4  # no multiples of the number of devices
SPLITS = {"crossvalidation_kwargs": {"splits": 3, "stratification_coord": None}}
RIDGECV = {"alphas": (1e-3, 1.0, 1e3, 1e6)} | SPLITS
warnings.simplefilter("ignore")
reading_order._TILE = 5  # as many tiles as there would be of more stimuli

rng = np.random.default_rng(0)
values = rng.normal(size=(N, FEATURES))
targets = values @ rng.normal(size=(FEATURES, TARGETS)) + 5 * rng.normal(size=(N, TARGETS))
trials = np.concatenate([targets + rng.normal(size=targets.shape) for _ in range(REPETITIONS)])


def assembly(data, **coords):
    ids = np.tile(np.arange(N), len(data) // N)
    coords = {"stimulus_id": ids, **coords}
    return xr.DataArray(data, {k: ("presentation", v) for k, v in coords.items()}, ["presentation", "neuroid"])


X, Y = assembly(values), assembly(targets)
REPEATED = assembly(trials, repetition=np.repeat(np.arange(REPETITIONS), N))
DRAWS = rng.integers(0, N, (21, N)).astype(np.int32)


def raw_of(score):
    return np.asarray(score.raw if score.raw is not None else float(score), float)


def compare(name, *assemblies, **options):
    return lambda: raw_of(load_metric(name, **options)(*assemblies))


def of_cka_streamed():
    with memory_limit("8kB"):
        return raw_of(load_metric("cka")(X, Y))


def of_bootstraps():
    with jax.enable_x64(True):
        arrays = (values[:, 0], targets[:, 0], np.linspace(-3, 3, 9), DRAWS)
        return dealt_out(compiled(bootstrapped_similarity), arrays, (None, None, None, 0), 0)


COMPARISONS = {
    "pls": compare("pls", X, Y, n_components=5, **SPLITS),
    "ridge": compare("ridge", X, Y, **SPLITS),
    "linear_predictivity": compare("linear_predictivity", X, Y, **SPLITS),
    "neuron_to_neuron": compare("neuron_to_neuron", X, Y, **SPLITS),
    "ridgecv": compare("ridgecv", X, Y, **RIDGECV),
    "ridgecv per target": compare("ridgecv", X, Y, alpha_per_target=True, **RIDGECV),
    "ridge_split": compare("ridge_split", X[:25], X[25:], Y[:25], Y[25:]),
    "cka": compare("cka", X, Y),
    "cka with error": lambda: np.array(load_metric("cka", error="jackknife")(X, Y).error),
    "cka with bootstraps": compare("cka", X, Y, error="bootstrap"),
    "cka_cv": compare("cka_cv", X, Y, **SPLITS),
    "cka streamed": of_cka_streamed,
    "rdm": compare("rdm", X, Y),
    "internal_consistency": compare("internal_consistency", REPEATED),
    "internal_consistency by rdm": compare(
        "internal_consistency", REPEATED, consistency_metric=load_metric("rdm"), splits=3
    ),
    "bootstraps": of_bootstraps,
}


def bytes_of(kernel, arrays):
    memory = kernel.lower(*arrays).compile().memory_analysis()
    whole = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves((arrays[0], arrays[2])))
    return {"arguments": memory.argument_size_in_bytes, "results": memory.output_size_in_bytes, "whole": whole}


def shares():
    with jax.enable_x64(True), over():
        folds = make_folds(N, [(np.arange(30), np.arange(30, N))] * 3)
        many = np.tile(targets, 40)
        kernel, axes = compiled(cross_validate_and_report, mapping=Ridge()), (None, 1, None)
        mesh = _MESH.get()
        assert mesh is not None
        placed = [_placed(array, mesh, axis) for array, axis in zip((values, many, folds), axes, strict=True)]
        tiled = gram_of(X)[0]
        return {
            "share of targets": _placed(np.zeros((24, TARGETS)), mesh, 1).addressable_shards[0].data.shape,
            "share of stimuli": _placed(values, mesh, 0).addressable_shards[0].data.shape,
            "bytes of one device": bytes_of(kernel, [jnp.asarray(values), jnp.asarray(many), folds]),
            "bytes of eight devices": bytes_of(_on_shares(kernel, mesh, axes, -1), placed),
            "tiles of each device": sorted(Counter(t.device for t in tiled.tiles.values()).values(), reverse=True),
        }


def main() -> None:
    if len(sys.argv) > 1:
        jax.distributed.initialize(f"localhost:{sys.argv[1]}", 2, int(sys.argv[2]))
    alone = {name: of() for name, of in COMPARISONS.items()}
    with over():
        found = {name: of() for name, of in COMPARISONS.items()}
    differences = {name: float(np.abs(found[name] - alone[name]).max()) for name in alone}
    result = {"devices": jax.device_count(), "difference": differences}
    if jax.process_count() == 1:
        result |= shares()
    print(json.dumps(result))


if __name__ == "__main__":
    main()
