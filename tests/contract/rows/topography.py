"""Topography: tuning and wiring of units by their positions, and pinwheels of a map of orientations."""

from functools import partial

import jax
import numpy as np

from bsjax.metrics import pinwheel_density, tuning_smoothness, wiring_economy
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


def constant_layer(arrays):
    arrays["x"][0] = 0.1
    return arrays, 0


def layer_without_selectivity(arrays):
    arrays["vectors"][0] = 0.0
    return arrays, 0


def more_units(arrays, rng):
    """Units of no pair that counts."""
    x = np.concatenate([arrays["x"], rng.normal(size=(LAYERS, STIMULI, 2))], axis=2)
    positions = np.concatenate([arrays["positions"], rng.uniform(0, 3, (2, 2))])
    return {"x": x, "positions": positions, "where": np.pad(arrays["where"], (0, 2))}


def as_it_is(arrays, rng):
    """All of a map counts."""
    return arrays


def reorder_stimuli(arrays, rng):
    return arrays | {"x": arrays["x"][:, rng.permutation(STIMULI)]}


def reorder_units(arrays, rng):
    order = rng.permutation(UNITS)
    return {
        "x": arrays["x"][:, :, order],
        "positions": arrays["positions"][order],
        "where": arrays["where"][np.ix_(order, order)],
    }


def stretch_units(arrays, rng):
    return arrays | {"x": arrays["x"] * rng.uniform(0.1, 10, UNITS) + rng.normal(size=UNITS)}


def move_positions(arrays, rng):
    turn = np.linalg.qr(rng.normal(size=(2, 2)))[0]
    return arrays | {"positions": rng.uniform(0.1, 10) * arrays["positions"] @ turn + rng.normal(size=2)}


def turn_orientations(arrays, rng):
    return arrays | {"vectors": rng.uniform(0.1, 10) * arrays["vectors"] @ np.linalg.qr(rng.normal(size=(2, 2)))[0]}


def turn_map(arrays, rng):
    return arrays | {"vectors": np.rot90(arrays["vectors"], axes=(1, 2)).copy()}


OF_UNITS = {
    "undefined": constant_layer,
    "padded": more_units,
    "times_input": 8.0,
    "invariances": {
        "stimuli reordered": reorder_stimuli,
        "units reordered": reorder_units,
        "units scaled and shifted each": stretch_units,
        "positions moved, turned and scaled": move_positions,
    },
}

ROWS = [
    Row(
        name,
        (name,),
        partial(of_layers, kernel=kernel),
        layer_arrays,
        lambda rng: layer_arrays(rng, 600, 300),
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
        lambda rng: map_arrays(rng, 200),
        bounds=(0.0, np.inf),
        undefined=layer_without_selectivity,
        padded=as_it_is,
        times_input=8.0,
        smooth=False,
        invariances={"orientations turned and scaled": turn_orientations, "map turned": turn_map},
    )
)
