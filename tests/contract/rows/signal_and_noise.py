"""Ceilings and corrections from the variances of signal and noise over single trials."""

import jax
import numpy as np

from bsjax.metrics import noise_corrected_r2, reliability_of_averages, signal_and_noise, simulated_rsa_ceiling
from tests.contract.row import Row
from tests.contract.rows.ceilings import N, R, U, constant_unit, stretch_units, trials_of

POPULATIONS, UNITS, DRAWS, FOLDS = 2, 8, 2, 3


def trial_arrays(rng, r=R, n=N, u=U):
    """Trials of which some are missing, of one unit more than of the others."""
    trials = trials_of(rng, r, n, u)
    present = np.ones(trials.shape, bool)
    present[-1, ::3] = present[0, 1, -1] = False
    return {"trials": trials, "present": present}


def predicted_arrays(rng, r=R, n=N, u=U):
    arrays = trial_arrays(rng, r, n, u)
    prediction = arrays["trials"].mean(axis=0) + 0.5 * rng.normal(size=(n, u))
    return {"prediction": prediction, **arrays}


def more_trials(arrays, rng):
    """A repetition and a stimulus that were never shown, with values that would count."""
    r, n, u = arrays["trials"].shape
    more = 50.0 + rng.normal(size=(r + 1, n + 1, u))
    more[:r, :n] = arrays["trials"]
    present = np.zeros(more.shape, bool)
    present[:r, :n] = arrays["present"]
    padded = {"trials": more, "present": present}
    if "prediction" in arrays:
        padded["prediction"] = np.concatenate([arrays["prediction"], 90.0 + rng.normal(size=(1, u))])
    return padded


def reorder_trials(arrays, rng):
    """Each stimulus's trials in another order."""
    r, n, _ = arrays["trials"].shape
    order = np.argsort(rng.random((r, n)), axis=0)
    return arrays | {name: arrays[name][order, np.arange(n)] for name in ("trials", "present")}


def reorder_stimuli(arrays, rng):
    order = rng.permutation(arrays["trials"].shape[1])
    return {name: values[..., order, :] for name, values in arrays.items()}


def stretch_prediction(arrays, rng):
    shape = arrays["prediction"].shape[1:]
    return arrays | {"prediction": arrays["prediction"] * rng.uniform(-9.0, -0.1, shape) + rng.normal(size=shape)}


def noiseless(arrays, rng):
    trials = np.broadcast_to(arrays["trials"][:1], arrays["trials"].shape)
    return arrays | {"trials": trials} | ({"prediction": 2.0 * trials[0]} if "prediction" in arrays else {})


def of_populations(trials, there, held_out, normals, method):
    """The units of each population have a model of their own."""

    def one(trials, there):
        return simulated_rsa_ceiling(signal_and_noise(trials, there, held_out), normals, method=method)

    return jax.vmap(one)(trials, there)


def population_arrays(rng, r=3, n=15, u=UNITS):
    signal = rng.normal(size=(POPULATIONS, 1, n, u))
    there = np.ones((POPULATIONS, r, n), bool)
    there[:, -1, ::4] = there[0, 1, 2] = False
    return {
        "trials": signal + 0.7 * rng.normal(size=(POPULATIONS, r, n, u)),
        "there": there,
        "held_out": np.arange(n) % FOLDS == np.arange(FOLDS)[:, None],
        "normals": rng.normal(size=(DRAWS, 2, 10, u)),
    }


def constant_population(arrays):
    arrays["trials"][0] = 0.1
    return arrays, 0


def more_of_each_population(arrays, rng):
    populations, r, n, u = arrays["trials"].shape
    trials = 50.0 + rng.normal(size=(populations, r + 1, n + 1, u))
    trials[:, :r, :n] = arrays["trials"]
    there, held_out = np.zeros(trials.shape[:3], bool), np.zeros((FOLDS, n + 1), bool)
    there[:, :r, :n], held_out[:, :n], held_out[0, -1] = arrays["there"], arrays["held_out"], True
    return arrays | {"trials": trials, "there": there, "held_out": held_out}


def reorder_stimuli_and_folds(arrays, rng):
    order = rng.permutation(arrays["trials"].shape[2])
    return arrays | {
        "trials": arrays["trials"][:, :, order],
        "there": arrays["there"][:, :, order],
        "held_out": arrays["held_out"][rng.permutation(FOLDS)][:, order],
    }


def scale_all(arrays, rng):
    return arrays | {"trials": rng.uniform(0.1, 10.0) * arrays["trials"]}


def all_trials_alike(arrays, rng):
    return arrays | {"trials": np.broadcast_to(arrays["trials"][:, :1], arrays["trials"].shape)}


OF_EACH_UNIT = {
    "undefined": lambda arrays: (constant_unit(arrays)[0], 0),
    "padded": more_trials,
    "identity": noiseless,
    "times_input": 6.0,
}
OF_TRIALS = {"trials of each stimulus reordered": reorder_trials, "stimuli reordered": reorder_stimuli}

ROWS = [
    Row(
        "noise_ceiling_snr",
        ("noise_ceiling_snr",),
        reliability_of_averages,
        trial_arrays,
        lambda rng: trial_arrays(rng, 8, 400, 60),
        bounds=(0.0, 1.0),
        invariances=OF_TRIALS | {"neuroids scaled and shifted each": stretch_units},
        **OF_EACH_UNIT,
    ),
    Row(
        "noise_corrected_r2",
        ("noise_corrected_r2",),
        noise_corrected_r2,
        predicted_arrays,
        lambda rng: predicted_arrays(rng, 8, 400, 60),
        bounds=(-np.inf, np.inf),
        invariances=OF_TRIALS
        | {"neuroids scaled and shifted each": stretch_units, "predictions scaled and turned each": stretch_prediction},
        **OF_EACH_UNIT,
    ),
    Row(
        "gsn_rsa_ceiling",
        ("gsn_rsa_ceiling",),
        of_populations,
        population_arrays,
        lambda rng: population_arrays(rng, 8, 400, 60),
        undefined=constant_population,
        padded=more_of_each_population,
        invariances={"stimuli and folds reordered": reorder_stimuli_and_folds, "responses scaled": scale_all},
        identity=all_trials_alike,
        times_input=6.0,
        settings={"method": "corr"},
    ),
]
