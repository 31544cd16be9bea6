"""Topography: tuning and wiring of units by their positions, and pinwheels of a map of orientations."""

from functools import partial

import jax
import numpy as np

from bsjax.metrics import pinwheel_density, tuning_smoothness, wiring_economy
from tests.contract.changes import constant, padded, reordered, stretch_and_shift_each, units
from tests.contract.row import Row

LAYERS, STIMULI, UNITS, PLACES = 2, 10, 7, 12


def of_layers(x, positions, where, *, kernel):
    return jax.vmap(lambda layer: kernel(layer, positions, where=where))(x)


def of_maps(vectors):
    return jax.vmap(pinwheel_density)(vectors)


def layer_arrays(rng, n=STIMULI, p=UNITS):
    positions = rng.uniform(0, 3, (p, 2))
    return {"x": rng.normal(size=(LAYERS, n, p)), "positions": positions, "where": np.ones((p, p), bool)}


def map_arrays(rng, places=PLACES):
    return {"vectors": rng.normal(size=(LAYERS, places, places, 2))}


def move_positions(arrays, rng):
    turn = np.linalg.qr(rng.normal(size=(2, 2)))[0]
    return arrays | {"positions": rng.uniform(0.1, 10) * arrays["positions"] @ turn + rng.normal(size=2)}


def turn_orientations(arrays, rng):
    return arrays | {"vectors": rng.uniform(0.1, 10) * arrays["vectors"] @ np.linalg.qr(rng.normal(size=(2, 2)))[0]}


def turn_map(arrays, rng):
    return arrays | {"vectors": np.rot90(arrays["vectors"], axes=(1, 2)).copy()}


OF_UNITS = {
    "undefined": constant("x", 0, 0),
    "padded": padded(x=2, positions=0, where=(0, 1)),
    "times_input": 8.0,
    "invariances": {
        "stimuli reordered": reordered(x=1),
        "units reordered": reordered(x=2, positions=0),
        "units scaled and shifted each": units("x", stretch_and_shift_each),
        "positions moved, turned and scaled": move_positions,
    },
}

ROWS = [
    Row(
        name,
        (name,),
        partial(of_layers, kernel=kernel),
        layer_arrays,
        partial(layer_arrays, n=600, p=300),
        bounds=bounds,
        **OF_UNITS,
    )
    for name, kernel, bounds in (
        ("tuning_smoothness", tuning_smoothness, (-1.0, 1.0)),
        ("wiring_economy", wiring_economy, (-np.inf, 1.0)),
    )
]
ROWS.append(
    Row(
        "pinwheel_density",
        ("pinwheel_density",),
        of_maps,
        map_arrays,
        partial(map_arrays, places=200),
        bounds=(0.0, np.inf),
        undefined=constant("vectors", 0, 0, 0.0),
        padded=lambda arrays, rng: arrays,  # all of a map counts
        times_input=8.0,
        smooth=False,
        invariances={"orientations turned and scaled": turn_orientations, "map turned": turn_map},
    )
)
