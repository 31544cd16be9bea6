"""Similarity of a model's RDM to that of single trials."""

from functools import partial

import numpy as np

from bsjax.metrics import compare_rdms, rdm, rdm_of_trials
from tests.contract.changes import constant, in_turn, padded, reordered, rotate, shift, stretch, units
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


ROWS = [
    Row(
        "rdm_of_trials",
        ("rdm_of_trials",),
        similarity,
        arrays,
        partial(arrays, r=8, n=400, u=60),
        undefined=constant("trials", np.s_[:, :, 0], ()),
        padded=padded(trials=0, present=0),
        invariances={
            "repetitions reordered": reordered(trials=0, present=0),
            "stimuli reordered": reordered(source=0, trials=1, present=1),
            "source rotated, scaled and shifted": in_turn(*(units("source", of) for of in (rotate, stretch, shift))),
            "trials scaled": units("trials", stretch),
        },
        times_input=12.0,
    )
]
