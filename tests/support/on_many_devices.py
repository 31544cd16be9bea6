"""Run by ``test_sharding.py`` in processes of their own: metrics on one device and on all, and how they differ."""

import json
import re
import sys
import warnings
from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from bsjax import load_metric
from bsjax.engine.memory_limit import memory_limit
from bsjax.engine.sharding import _MESH, Shards, _on_devices, _placed, _placed_shapes, sharded, use_devices
from bsjax.engine.sources import _of_each_source
from bsjax.labelled import streaming
from bsjax.labelled.similarity.cka import CKA
from bsjax.labelled.similarity.rdms.rdm import rdm_similarity_by
from bsjax.labelled.streaming import gram_of
from bsjax.metrics import PLS, NeuronToNeuron, Ridge, compiled, make_folds
from bsjax.metrics.regression.crossvalidation import cross_validate_and_report
from bsjax.metrics.regression.folds import Folds
from bsjax.metrics.tuning.distributions import bootstrapped_similarity
from bsjax.scoring import score_sources

COLLECTIVES = ("all-reduce", "all-gather", "all-to-all", "collective-permute", "reduce-scatter")
N, FEATURES, TARGETS, REPETITIONS = 37, 50, 21, 4  # no multiples of the number of devices
SPLITS = {"crossvalidation_kwargs": {"splits": 3, "stratification_coord": None}}
RIDGECV = {"alphas": (1e-3, 1.0, 1e3, 1e6)} | SPLITS
warnings.simplefilter("ignore")
streaming._TILE = 5  # as many tiles as there would be of more stimuli

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
        return sharded(compiled(bootstrapped_similarity), arrays, Shards((None, None, None, 0), repeats=0))


def of_layers(layers):
    """Ridge of layers on a device: of as many as devices, those are sharded; of fewer, the features of each."""
    metric, features = load_metric("ridge", **SPLITS), np.random.default_rng(1).normal(size=(layers, N, FEATURES))

    def scores():
        sources = {str(n): assembly(jnp.asarray(layer, "float32")) for n, layer in enumerate(features)}
        return np.stack([raw_of(score) for score in score_sources(metric, sources, Y).values()])

    return scores


COMPARISONS = {
    "ten layers": of_layers(10),
    "two layers": of_layers(2),
    "pls": compare("pls", X, Y, n_components=5, **SPLITS),
    "ridge": compare("ridge", X, Y, **SPLITS),
    "neuron_to_neuron": compare("neuron_to_neuron", X, Y, **SPLITS),
    "ridgecv per target": compare("ridgecv", X, Y, alpha_per_target=True, **RIDGECV),
    "ridge_split": compare("ridge_split", X[:25], X[25:], Y[:25], Y[25:]),
    "cka": compare("cka", X, Y),
    "cka with error": lambda: np.array(load_metric("cka", error="jackknife")(X, Y).error),
    "cka streamed": of_cka_streamed,
    "rdm": compare("rdm", X, Y),
    "internal_consistency": compare("internal_consistency", REPEATED),
    "internal_consistency by rdm": compare(
        "internal_consistency", REPEATED, consistency_metric=load_metric("rdm"), splits=3
    ),
    "bootstraps": of_bootstraps,
}


# One of each way in which the work is shared: between two processes each takes far longer than between devices of one.
BETWEEN_PROCESSES = ("two layers", "pls", "ridgecv per target", "cka with error", "cka streamed", "rdm", "bootstraps")


LARGE = {"stimuli": 96, "features": 3200, "targets": 1600}


def large(stimuli, *columns):
    return [jax.ShapeDtypeStruct((stimuli, width), np.float64) for width in columns]


def programs():
    """Name -> kernel, its arrays, what is sharded of them, and the bytes of what every device has whole."""
    n = LARGE["stimuli"]
    folds = make_folds(n, [(np.setdiff1d(np.arange(n), held), held) for held in np.arange(n).reshape(8, -1)])
    sides = large(n, LARGE["features"], LARGE["targets"])
    units = Shards((1, 1, None))
    mappings = {"ridge": Ridge(), "pls": PLS(4), "neuron_to_neuron": NeuronToNeuron()}
    similarities = 3 * 8 * n * n
    # Every target may choose any feature.
    of_all = dict.fromkeys(mappings, similarities) | {"neuron_to_neuron": 8 * n * LARGE["features"]}
    made = {
        name: (compiled(cross_validate_and_report, mapping=mapping), (*sides, folds), units, of_all[name])
        for name, mapping in mappings.items()
    }
    ridge, one_fold = made["ridge"][0], Folds(*(part[:1] for part in folds[:2]))
    alone = planned(ridge, (*sides, one_fold))["bytes"]
    made["folds"] = (ridge, (*sides, folds), Shards((None, None, 0), repeats=0), alone)
    each_layer = compiled(_of_each_source, of=cross_validate_and_report, mapping=Ridge())
    layers = jax.ShapeDtypeStruct((16, n, LARGE["features"]), np.float64)
    alone = planned(ridge, (*large(n, LARGE["features"], 24), folds))["bytes"]
    made["layers"] = (each_layer, (layers, *large(n, 24), folds), Shards((0, None, None), repeats=0), alone)
    rows, (p, q) = jax.ShapeDtypeStruct((1600,), bool), (240, 160)
    of_units = 8 * (p * p + p * q + q * q)
    by_rows = Shards((0, 0, 0))
    made["stimuli of cka"] = (compiled(CKA.in_shares, shares=8), (*large(1600, p, q), rows), by_rows, of_units)
    rows = jax.ShapeDtypeStruct((400,), bool)
    by_pairs = compiled(rdm_similarity_by().in_shares, shares=8)
    made["stimuli of rdm"] = (by_pairs, (*large(400, 100, 80), rows), by_rows, 0)
    return made


def planned(kernel, arrays):
    compiled_program = kernel.lower(*arrays).compile()
    memory, text = compiled_program.memory_analysis(), compiled_program.as_text()
    taken = memory.argument_size_in_bytes + memory.temp_size_in_bytes + memory.output_size_in_bytes
    collectives = re.findall(rf" ({'|'.join(COLLECTIVES)})(?:-start)?\(", text)
    return {"bytes": taken, "collectives": dict(Counter(collectives))}


def shares():
    with jax.enable_x64(True), use_devices():
        mesh = _MESH.get()
        assert mesh is not None
        found = {}
        for name, (kernel, arrays, shards, of_all) in programs().items():
            placed = [_placed_shapes(array, mesh, axis) for array, axis in zip(arrays, shards.axes, strict=True)]
            found[name] = {
                "alone": planned(kernel, arrays),
                "each": planned(_on_devices(kernel, mesh, shards), placed),
                "of all": of_all,
            }
        tiled = gram_of(X)[0]
        return {
            "programs": found,
            "share of targets": _placed(np.zeros((24, TARGETS)), mesh, 1, "edge").addressable_shards[0].data.shape,
            "share of stimuli": _placed(values, mesh, 0, "constant").addressable_shards[0].data.shape,
            "tiles of each device": sorted(Counter(t.device for t in tiled.tiles.values()).values(), reverse=True),
        }


def main() -> None:
    names = list(COMPARISONS)
    if len(sys.argv) > 1:
        jax.distributed.initialize(f"localhost:{sys.argv[1]}", 2, int(sys.argv[2]))
        names = BETWEEN_PROCESSES
    alone = {name: COMPARISONS[name]() for name in names}
    with use_devices():
        found = {name: COMPARISONS[name]() for name in names}
    differences = {name: float(np.abs(found[name] - alone[name]).max()) for name in alone}
    result = {"devices": jax.device_count(), "difference": differences}
    if jax.process_count() == 1:
        result |= shares()
    print(json.dumps(result))


if __name__ == "__main__":
    main()
