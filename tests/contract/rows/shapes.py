"""Shape metrics of single trials and of time series."""

import jax
import numpy as np

from bsjax.metrics import dynamical_similarity, stochastic_shape_similarity
from tests.contract.row import Row
from tests.contract.rows.similarity import LAYERS, permute, rotate, shift_units, stretch, units


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


def constant_layer(arrays):
    arrays["x"][0] = 0.1
    return arrays, 0


def more_trials(arrays, rng):
    """A repetition and a stimulus that do not count, with responses that would."""
    padded = {}
    for side in "xy":
        values, of = arrays[side], arrays[f"of_{side}"]
        r, n = of.shape
        more = 50.0 + rng.normal(size=(*values.shape[:-3], r + 1, n + 1, values.shape[-1]))
        there = np.zeros((r + 1, n + 1), bool)
        more[..., :r, :n, :], there[:r, :n] = values, of
        padded |= {side: more, f"of_{side}": there}
    return padded


def more_series(arrays, rng):
    more = {s: 50.0 * rng.normal(size=(*arrays[s].shape[:-3], 2, *arrays[s].shape[-2:])) for s in "xy"}
    padded = {side: np.concatenate([more[side], arrays[side]], axis=-3) for side in "xy"}
    return padded | {"where": np.r_[False, False, arrays["where"]]}


def itself(arrays, rng):
    more = {"of_y": arrays["of_x"]} if "of_x" in arrays else {}
    return arrays | {"x": np.stack([arrays["x"][0]] * LAYERS), "y": arrays["x"][0]} | more


def reorder_trials(arrays, rng):
    """The trials of each side in another order, and the stimuli of both in the same one."""
    order = rng.permutation(arrays["y"].shape[1])
    moved = {}
    for side in "xy":
        trials = rng.permutation(arrays[f"of_{side}"].shape[0])
        moved[side] = arrays[side][..., trials, :, :][..., order, :]
        moved[f"of_{side}"] = arrays[f"of_{side}"][trials][:, order]
    return moved


def of_series(change):
    """A change of units, of arrays whose last axis is time."""
    return lambda values, rng: np.swapaxes(change(np.swapaxes(values, -1, -2), rng), -1, -2)


def reorder_series(arrays, rng):
    order = rng.permutation(len(arrays["where"]))
    return arrays | {side: arrays[side][..., order, :, :] for side in "xy"}


SHARED = {"undefined": constant_layer, "identity": itself}
CHANGES = (permute, rotate, stretch, shift_units)

ROWS = [
    Row(
        "stochastic_shape",
        ("stochastic_shape",),
        of_noisy_layers,
        trial_arrays,
        lambda rng: trial_arrays(rng, 4, 60, 80, 40),
        bounds=(0.0, 1.0),
        padded=more_trials,
        invariances={"trials and stimuli reordered": reorder_trials}
        | {f"{change.__name__} {side}": units(side, change) for change in CHANGES for side in "xy"},
        times_input=30.0,
        **SHARED,
    ),
    Row(
        "dsa",
        ("dsa",),
        of_moving_layers,
        series_arrays,
        lambda rng: series_arrays(rng, 60, 40, 30, 12),
        padded=more_series,
        invariances={"stimuli reordered": reorder_series}
        | {f"{change.__name__} {side}": units(side, of_series(change)) for change in CHANGES for side in "xy"},
        times_input=20.0,
        atol=1e-7,
        **SHARED,
    ),
]
