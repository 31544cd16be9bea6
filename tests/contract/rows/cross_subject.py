"""Ceilings of subjects who predict one another."""

from functools import partial

import numpy as np

from bsjax.metrics import cka_between_subjects
from tests.contract.changes import constant, padded, reordered
from tests.contract.row import Row
from tests.contract.rows.ceilings import SUBJECTS, VOXELS, N, subject_arrays


def arrays_of(rng, s=SUBJECTS, n=N, p=VOXELS):
    """Subjects who see the same stimuli; the last one has fewer voxels."""
    arrays = subject_arrays(rng, s, n, p)
    return {"responses": arrays["responses"], "units": arrays["units"]}


def rotate_voxels(arrays, rng):
    """Of each subject its own rotation; those that do not count stay where they are."""
    responses = arrays["responses"].copy()
    for own, counts in zip(responses, arrays["units"], strict=True):
        rotation = np.linalg.qr(rng.normal(size=(counts.sum(), counts.sum())))[0]
        own[:, counts] = own[:, counts] @ rotation
    return arrays | {"responses": responses}


def scale_and_shift(arrays, rng):
    """All by one factor: what is side by side depends on how large subjects are to one another."""
    shift = rng.normal(size=(len(arrays["responses"]), 1, 1))
    return arrays | {"responses": rng.uniform(0.1, 10.0) * arrays["responses"] + shift}


def same_subjects(arrays, rng):
    same = np.broadcast_to(arrays["responses"][:1], arrays["responses"].shape)
    return {"responses": same, "units": np.ones_like(arrays["units"])}


ROWS = [
    Row(
        "cross_subject_consistency",
        ("cross_subject_consistency",),
        cka_between_subjects,
        arrays_of,
        partial(arrays_of, s=4, n=300, p=200),
        undefined=constant("responses", 1, 1),
        padded=padded(responses=2, units=1),
        invariances={
            "voxels rotated": rotate_voxels,
            "stimuli reordered": reordered(responses=1),
            "responses scaled and shifted": scale_and_shift,
        },
        identity=same_subjects,
        times_input=6.0,
        settings={"how": "leave_one_out"},
    ),
]
