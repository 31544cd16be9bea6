"""Ceilings and corrections from the variances of signal and noise over single trials."""

from functools import partial

import jax
import numpy as np

from bsjax.metrics import noise_corrected_r2, reliability_of_averages, signal_and_noise, simulated_rsa_ceiling
from tests.contract.changes import constant, in_turn, padded, reordered, stretch, stretch_and_shift_each, units
from tests.contract.row import Row
from tests.contract.rows.ceilings import N, R, U, relabel_within_stimuli, trials_of

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


def all_trials_alike(arrays, rng):
    return arrays | {"trials": np.broadcast_to(arrays["trials"][:, :1], arrays["trials"].shape)}


OF_EACH_UNIT = {
    "undefined": constant("trials", np.s_[:, :, 0], 0),
    "padded": padded(trials=(0, 1), present=(0, 1), prediction=0),
    "identity": noiseless,
    "times_input": 6.0,
}
OF_TRIALS = {
    "trials of each stimulus reordered": relabel_within_stimuli,
    "stimuli reordered": reordered(trials=1, present=1, prediction=0),
    "neuroids scaled and shifted each": units("trials", stretch_and_shift_each),
}

ROWS = [
    Row(
        "noise_ceiling_snr",
        ("noise_ceiling_snr",),
        reliability_of_averages,
        trial_arrays,
        partial(trial_arrays, r=8, n=400, u=60),
        bounds=(0.0, 1.0),
        invariances=OF_TRIALS,
        **OF_EACH_UNIT,
    ),
    Row(
        "noise_corrected_r2",
        ("noise_corrected_r2",),
        noise_corrected_r2,
        predicted_arrays,
        partial(predicted_arrays, r=8, n=400, u=60),
        bounds=(-np.inf, np.inf),
        invariances=OF_TRIALS
        | {"predictions scaled and turned each": units("prediction", lambda x, rng: -stretch_and_shift_each(x, rng))},
        **OF_EACH_UNIT,
    ),
    Row(
        "gsn_rsa_ceiling",
        ("gsn_rsa_ceiling",),
        of_populations,
        population_arrays,
        partial(population_arrays, r=8, n=400, u=60),
        undefined=constant("trials", 0, 0),
        padded=padded(trials=(1, 2), there=(1, 2), held_out=1),
        invariances={
            "stimuli and folds reordered": in_turn(reordered(held_out=0), reordered(trials=2, there=2, held_out=1)),
            "responses scaled": units("trials", stretch),
        },
        identity=all_trials_alike,
        times_input=6.0,
        settings={"method": "corr"},
    ),
]
