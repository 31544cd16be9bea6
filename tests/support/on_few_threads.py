"""Run by ``test_host_call.py`` in processes of their own, with one core or with more devices than cores."""

import sys

import jax
import numpy as np
import xarray as xr

import bsjax
from bsjax.engine.primitives.decompositions import eigh
from bsjax.engine.sharding import use_devices
from bsjax.metrics import compiled, ranks
from bsjax.metrics.similarity.rdms.rdm_comparison import compare_rdm_vectors

rng = np.random.default_rng(0)
STIMULI = 640


def assembly(units):
    ids = {"stimulus_id": ("presentation", np.arange(STIMULI))}
    return xr.DataArray(rng.normal(size=(STIMULI, units)), ids, ["presentation", "neuroid"])


def ranked():
    jax.block_until_ready(jax.jit(ranks)(rng.normal(size=100_000)))


def tau_a():
    jax.block_until_ready(compiled(compare_rdm_vectors, method="tau-a")(*rng.normal(size=(2, 100_000))))


def eigenvectors():
    jax.block_until_ready(jax.jit(eigh)(np.eye(1_600)))


def rdm():
    float(bsjax.score_arrays(rng.normal(size=(700, 50)), rng.normal(size=(700, 60)), metric="rdm"))


def on_one_core():
    for program in (ranked, tau_a, eigenvectors, rdm):
        program()
        print(program.__name__, flush=True)


def on_devices(times):
    sides = assembly(30), assembly(40)
    metrics = [
        bsjax.load_metric("rdm_cv", crossvalidation_kwargs={"splits": 4, "stratification_coord": None}),
        bsjax.load_metric("rdm", error="bootstrap", n_bootstraps=4),
    ]
    for count in (2, 4):
        for metric in metrics:
            for _ in range(times):
                with use_devices(jax.devices()[:count]):
                    metric(*sides)
            print(count, metric.identifier, times, flush=True)


if __name__ == "__main__":
    name, *arguments = sys.argv[1:]
    with jax.enable_x64(True):
        globals()[name](*map(int, arguments))
    print("returned")
