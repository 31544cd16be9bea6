"""Shape metrics of single trials and of time series."""

from functools import partial

import jax
import numpy as np

from bsjax.metrics import dynamical_similarity, stochastic_shape_similarity
from tests.contract.changes import in_turn, padded, permute, reordered, rotate, shift, stretch, units
from tests.contract.row import Row
from tests.contract.rows.similarity import CONSTANT_LAYER, LAYERS


def of_noisy_layers(x, y, of_x, of_y):
    return jax.vmap(lambda layer: stochastic_shape_similarity(layer, y, of_x=of_x, of_y=of_y))(x)


def of_moving_layers(x, y, where):
    return jax.vmap(lambda layer: dynamical_similarity(layer, y, delays=2, rank=2, where=where))(x)


def trial_arrays(rng, r=3, n=8, p=4, q=3):
    """Two layers whose first trials resemble those of the other side; some trials are missing."""
    x = rng.normal(size=(LAYERS, 1, n, p)) + 0.7 * rng.normal(size=(LAYERS, r, n, p))
    y = x[0, :, :, :q] + 0.5 * rng.normal(size=(r, n, q))
    of_x, of_y = np.ones((r, n), bool), np.ones((r, n), bool)
    of_x[-1, ::3] = of_y[0, 1] = False
    return {"x": x, "y": y, "of_x": of_x, "of_y": of_y}


def series_arrays(rng, n=6, p=3, q=3, t=8):
    """Damped oscillations of both sides in noise, of which a layer is one."""
    times = np.arange(t) * np.array([0.5, 0.8])[:, None, None] + rng.uniform(0, 6, (LAYERS, n, 1))
    states = 0.95 ** np.arange(t) * np.stack([np.cos(times), np.sin(times)], axis=2)
    x = np.swapaxes(np.swapaxes(states, 2, 3) @ rng.normal(size=(2, p)), 2, 3) + 0.1 * rng.normal(
        size=(LAYERS, n, p, t)
    )
    return {"x": x, "y": x[0, :, :q] + 0.1 * rng.normal(size=(n, q, t)), "where": np.ones(n, bool)}


def itself(arrays, rng):
    more = {"of_y": arrays["of_x"]} if "of_x" in arrays else {}
    return arrays | {"x": np.stack([arrays["x"][0]] * LAYERS), "y": arrays["x"][0]} | more


SHARED = {"undefined": CONSTANT_LAYER, "identity": itself}
CHANGES = (permute, rotate, stretch, shift)

ROWS = [
    Row(
        "stochastic_shape",
        ("stochastic_shape",),
        of_noisy_layers,
        trial_arrays,
        partial(trial_arrays, r=4, n=60, p=80, q=40),
        bounds=(0.0, 1.0),
        padded=padded(x=(1, 2), of_x=(0, 1), y=(0, 1), of_y=(0, 1)),
        invariances={
            "trials and stimuli reordered": in_turn(
                reordered(x=1, of_x=0), reordered(y=0, of_y=0), reordered(x=2, of_x=1, y=1, of_y=1)
            )
        }
        | {f"{change.__name__} {side}": units(side, change) for change in CHANGES for side in "xy"},
        times_input=30.0,
        **SHARED,
    ),
    Row(
        "dsa",
        ("dsa",),
        of_moving_layers,
        series_arrays,
        partial(series_arrays, n=60, p=40, q=30, t=12),
        padded=padded(x=1, y=0, where=0),
        invariances={"stimuli reordered": reordered(x=1, y=0, where=0)}
        | {f"{change.__name__} {side}": units(side, change, axis=-2) for change in CHANGES for side in "xy"},
        times_input=20.0,
        atol=1e-7,
        **SHARED,
    ),
]
