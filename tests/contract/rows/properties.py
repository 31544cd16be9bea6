"""Single-neuron properties and what populations of neurons code for."""

from functools import partial

import numpy as np

from bsjax.metrics.similarity.dimensionality import factor_shares
from bsjax.metrics.tuning.distributions import bootstrapped_similarity
from tests.contract.changes import reordered
from tests.contract.row import Row

NEURONS, RECORDED, DRAWS, BINS = 12, 10, 6, 5
PAIRS, UNITS, FACTORS = 12, 5, 2


def of_factors(a, b, factor, *, factors):
    """Without the residual: all shares together are 1, whatever the responses."""
    return factor_shares(a, b, factor, factors=factors)[:-1]


def property_arrays(rng, neurons=NEURONS, recorded=RECORDED, draws=DRAWS):
    return {
        "source": rng.normal(size=neurons),
        "target": 0.5 + rng.normal(size=recorded),
        "edges": np.linspace(-1.5, 1.5, BINS + 1),
        "draws": rng.integers(0, neurons, (draws, recorded)),
    }


def a_draw_of_neurons_without_value(arrays):
    arrays["source"][0] = np.nan
    arrays["draws"][arrays["draws"] == 0] = 1
    arrays["draws"][2] = 0
    return arrays, 2


def neurons_without_value(arrays, rng):
    more = {name: np.append(arrays[name], [np.nan] * 3) for name in ("source", "target")}
    draws = np.concatenate([arrays["draws"], np.full((DRAWS, 2), NEURONS + 1)], axis=1)
    return {**arrays, **more, "draws": draws}


def order_of_neurons(arrays, rng):
    moved = reordered(source=0, places=("draws",))(arrays, rng)
    return moved | {"target": rng.permutation(arrays["target"])}


def order_within_draws(arrays, rng):
    return {**arrays, "draws": rng.permuted(arrays["draws"], axis=1)}


def any_increasing_scale(arrays, rng):
    slope = rng.uniform(0.2, 2.0)
    return {name: v if name == "draws" else np.exp(slope * v) for name, v in arrays.items()}


def every_neuron_once(arrays, rng):
    draws = np.argsort(rng.random((DRAWS, NEURONS)), axis=1)
    return arrays | {"draws": draws, "target": rng.permutation(arrays["source"])}


def pair_arrays(rng, pairs=PAIRS, units=UNITS):
    factor = np.arange(pairs) % FACTORS
    common = rng.normal(size=(pairs, units)) * np.where(factor == 0, 1.0, 0.3)[:, None]
    a, b = (common + rng.normal(size=(pairs, units)) for _ in range(2))
    return {"a": a, "b": b, "factor": factor}


def a_factor_without_pairs(arrays):
    arrays["factor"][:] = 0
    return arrays, 1


def pairs_of_other_factors(arrays, rng):
    more = {side: np.concatenate([np.full((2, UNITS), np.nan), arrays[side]]) for side in ("a", "b")}
    return {**more, "factor": np.append([FACTORS, FACTORS + 1], arrays["factor"])}


def sides_swapped(arrays, rng):
    return {**arrays, "a": arrays["b"], "b": arrays["a"]}


def shift_rotation_and_scale(arrays, rng):
    rotation = np.linalg.qr(rng.normal(size=(UNITS, UNITS)))[0] * rng.uniform(0.1, 10.0)
    shift = rng.normal(size=UNITS)
    return {**arrays, **{side: arrays[side] @ rotation + shift for side in ("a", "b")}}


ROWS = [
    Row(
        name="ks_similarity",
        metrics=("ks_similarity", "property_ceiling"),
        kernel=bootstrapped_similarity,
        arrays=property_arrays,
        large=partial(property_arrays, neurons=20_000, recorded=800, draws=400),
        bounds=(0.0, 1.0),
        undefined=a_draw_of_neurons_without_value,
        padded=neurons_without_value,
        invariances={
            "order of neurons": order_of_neurons,
            "order within draws": order_within_draws,
            "any increasing scale": any_increasing_scale,
        },
        identity=every_neuron_once,
        smooth=False,
    ),
    Row(
        name="factor_dimensionality",
        metrics=("factor_dimensionality",),
        kernel=of_factors,
        settings={"factors": FACTORS},
        arrays=pair_arrays,
        large=partial(pair_arrays, pairs=2_000, units=50),
        bounds=(0.0, 1.0),
        undefined=a_factor_without_pairs,
        padded=pairs_of_other_factors,
        invariances={
            "order of pairs": reordered(a=0, b=0, factor=0),
            "sides swapped": sides_swapped,
            "shift, rotation and scale of the units": shift_rotation_and_scale,
        },
    ),
]
