"""Similarity of a model's RDM to that of single trials."""

import numpy as np

from bsjax.metrics import compare_rdms, rdm, rdm_of_trials
from tests.contract.row import Row
from tests.contract.rows.ceilings import N, R, U, trials_of


def similarity(source, trials, present):
    return compare_rdms(
        rdm(source, dissimilarity="sqeuclidean"), rdm_of_trials(trials, present), method="whitened_cosine"
    )


def arrays(rng, r=R, n=N, u=U):
    """Trials of which some are missing."""
    trials, present = trials_of(rng, r, n, u), np.ones((r, n), bool)
    present[-1, ::3] = present[0, 1] = False
    return {"source": trials.mean(axis=0) + rng.normal(size=(n, u)), "trials": trials, "present": present}


def constant_unit(arrays):
    arrays["trials"][:, :, 0] = 0.1
    return arrays, ()


def another_repetition(arrays, rng):
    """A repetition that was never shown, with values that would count."""
    shape = arrays["trials"].shape[1:]
    return arrays | {
        "trials": np.concatenate([arrays["trials"], 50.0 + rng.normal(size=(1, *shape))]),
        "present": np.concatenate([arrays["present"], np.zeros((1, shape[0]), bool)]),
    }


def reorder_repetitions(arrays, rng):
    order = rng.permutation(len(arrays["trials"]))
    return arrays | {name: arrays[name][order] for name in ("trials", "present")}


def reorder_stimuli(arrays, rng):
    order = rng.permutation(len(arrays["source"]))
    return {name: values[order] if name == "source" else values[:, order] for name, values in arrays.items()}


def rotate_source(arrays, rng):
    rotation = np.linalg.qr(rng.normal(size=(arrays["source"].shape[1],) * 2))[0]
    return arrays | {"source": 3.0 * arrays["source"] @ rotation + 1.0}


def stretch_units(arrays, rng):
    return arrays | {"trials": arrays["trials"] * rng.uniform(0.5, 2.0)}


ROWS = [
    Row(
        "rdm_of_trials",
        ("rdm_of_trials",),
        similarity,
        arrays,
        lambda rng: arrays(rng, 8, 400, 60),
        undefined=constant_unit,
        padded=another_repetition,
        invariances={
            "repetitions reordered": reorder_repetitions,
            "stimuli reordered": reorder_stimuli,
            "source rotated, scaled and shifted": rotate_source,
            "trials scaled": stretch_units,
        },
        times_input=12.0,
    )
]
