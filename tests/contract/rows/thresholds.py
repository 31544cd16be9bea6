"""Perceptual thresholds: psychometric functions fitted to a model's choices, compared with subjects'."""

from functools import partial

import jax
import numpy as np
from scipy.stats import norm

from bsjax.metrics.behaviour.psychometric import psychometric_threshold
from bsjax.metrics.behaviour.thresholds import relative_similarity, threshold_elevation
from tests.contract.changes import reordered
from tests.contract.row import Row

MODELS, LEVELS, SUBJECTS = 2, 7, 3
# 50 starts at each level descend at once, and each of them holds some arrays of all levels and its 3 x 3 curvature.
STARTS_PER_LEVEL = 50


def of_models(x, correct, trials, subjects):
    fits = jax.vmap(psychometric_threshold)(x, correct, trials)
    return relative_similarity(fits.threshold[:, None], subjects[None, :])


def elevation_of_models(x, correct, trials, test_x, test_correct, test_trials, subjects):
    baseline = jax.vmap(psychometric_threshold)(x, correct, trials)
    test = jax.vmap(psychometric_threshold)(test_x, test_correct, test_trials, baseline.level)
    return relative_similarity(threshold_elevation(test.threshold, baseline.threshold)[:, None], subjects[None, :])


def choices(rng, models, levels, midpoint):
    x = np.linspace(1.0, 10.0, levels) + rng.uniform(-0.2, 0.2, (models, levels))
    slope, lapse = rng.uniform(0.5, 0.8, (models, 1)), rng.uniform(0.05, 0.1, (models, 1))
    share = 0.5 + (0.5 - lapse) * norm.cdf(slope * (x - midpoint)) + rng.uniform(-0.01, 0.01, x.shape)
    return x, 100.0 * share, np.full(x.shape, 100.0)


def threshold_arrays(rng, models=MODELS, levels=LEVELS):
    x, correct, trials = choices(rng, models, levels, 5.0)
    return {"x": x, "correct": correct, "trials": trials, "subjects": rng.uniform(4.0, 7.0, SUBJECTS)}


def elevation_arrays(rng, models=MODELS, levels=LEVELS):
    arrays = threshold_arrays(rng, models, levels)
    x, correct, trials = choices(rng, models, levels, 6.0)
    arrays |= {"test_x": x, "test_correct": correct, "test_trials": trials}
    return {**arrays, "subjects": rng.uniform(1.0, 2.0, SUBJECTS)}


def at_chance_and_no_threshold(arrays):
    arrays["correct"][0] = 50.0
    arrays["subjects"][1] = np.nan
    nan = np.zeros((MODELS, SUBJECTS), bool)
    nan[0], nan[:, 1] = True, True
    return arrays, nan


def levels_without_trials(arrays, rng):
    def padded(name, values):
        filler = 0.0 if "trials" in name else np.nan
        return np.concatenate([np.full((len(values), 2), filler), values, np.full((len(values), 1), filler)], axis=1)

    return {name: v if name == "subjects" else padded(name, v) for name, v in arrays.items()}


OF_LEVELS = {f"{phase}{name}": 1 for phase in ("", "test_") for name in ("x", "correct", "trials")}


def unit_of_the_variable(arrays, rng):
    unit = rng.uniform(0.3, 3.0)
    scaled = {name: v * unit if name.endswith("x") else v for name, v in arrays.items()}
    # An elevation has no unit.
    return scaled if "test_x" in arrays else {**scaled, "subjects": arrays["subjects"] * unit}


def number_of_trials(arrays, rng):
    more = rng.uniform(0.5, 5.0)
    return {name: v * more if name.endswith(("correct", "trials")) else v for name, v in arrays.items()}


def row(name, kernel, arrays, **more):
    return Row(
        name=name,
        metrics=(name,),
        kernel=kernel,
        arrays=arrays,
        large=partial(arrays, levels=48),
        times_input=6.0 * STARTS_PER_LEVEL * 48,
        bounds=(0.0, 1.0),
        undefined=at_chance_and_no_threshold,
        padded=levels_without_trials,
        invariances={
            "order of levels": reordered(**OF_LEVELS),
            "unit of the variable": unit_of_the_variable,
            "number of trials": number_of_trials,
        },
        **more,
    )


ROWS = [
    row("threshold", of_models, threshold_arrays),
    row("threshold_elevation", elevation_of_models, elevation_arrays, variant_of="threshold"),
]
