"""Ceilings: of repetitions and of subjects."""

from functools import partial

import numpy as np

from bsjax.metrics import cka_between_subjects, split_half_consistency
from bsjax.metrics.ceilings.noise_ceiling import rsa_noise_ceiling
from tests.contract.changes import constant, padded, reordered, rotate, shift, stretch, stretch_and_shift_each, units
from tests.contract.row import Row

R, N, U, SPLITS = 5, 12, 3, 2
SUBJECTS, VOXELS = 3, 6


def trials_of(rng, r, n, u):
    return rng.normal(size=(n, u)) + 0.7 * rng.normal(size=(r, n, u))


def stimulus_arrays(rng, r=R, n=N, u=U):
    """Halves of each stimulus's own repetitions, of which some are missing."""
    trials = trials_of(rng, r, n, u)
    present = np.ones(trials.shape, bool)
    present[-1, ::3] = False
    order = np.argsort(rng.random((SPLITS, r - 1, n)), axis=1)
    first = np.concatenate([order < 2, np.zeros((SPLITS, 1, n), bool)], axis=1)
    return {"trials": trials, "present": present, "first": first}


def relabel_within_stimuli(arrays, rng):
    """Each stimulus's trials in another order: what a shuffle of the rows of an assembly can do to them."""
    r, n = arrays["trials"].shape[:2]
    order, stimuli = np.argsort(rng.random((r, n)), axis=0), np.arange(n)
    moved = {name: arrays[name][order, stimuli] for name in ("trials", "present")}
    return arrays | moved | {name: arrays[name][:, order, stimuli] for name in ("first",) if name in arrays}


def noiseless(arrays, rng):
    return arrays | {"trials": np.broadcast_to(arrays["trials"][:1], arrays["trials"].shape)}


def subject_arrays(rng, s=SUBJECTS, n=N, p=VOXELS):
    """Subjects who see the same; the last one has fewer voxels, the first one has not seen the last stimulus."""
    responses = rng.normal(size=(n, p)) + 0.7 * rng.normal(size=(s, n, p))
    units, seen = np.ones((s, p), bool), np.ones((s, n), bool)
    units[-1, -1] = seen[0, -1] = False
    return {"responses": responses, "units": units, "seen": seen}


def same_subjects(arrays, rng):
    return {
        name: np.ones_like(values) if name == "seen" else np.broadcast_to(values[:1], values.shape)
        for name, values in arrays.items()
    }


def complete_arrays(rng, s=SUBJECTS, n=N, p=VOXELS):
    arrays = subject_arrays(rng, s, n, p)
    return {"responses": arrays["responses"], "units": arrays["units"]}


def rotate_voxels(arrays, rng):
    """Of each subject its own rotation; those that do not count stay where they are."""
    responses = arrays["responses"].copy()
    for own, counts in zip(responses, arrays["units"], strict=True):
        own[:, counts] = rotate(own[:, counts], rng)
    return arrays | {"responses": responses}


ROWS = [
    Row(
        "predictor_consistency",
        ("internal_consistency", "internal_consistency_temporal", "predictor_consistency"),
        split_half_consistency,
        stimulus_arrays,
        partial(stimulus_arrays, r=8, n=400, u=60),
        bounds=(-np.inf, 1.0),
        undefined=constant("trials", np.s_[:, :, 0], np.s_[:, 0]),
        padded=padded(trials=(0, 1), present=(0, 1), first=(1, 2)),
        invariances={
            "repetitions relabelled": reordered(trials=0, present=0, first=1),
            "trials of each stimulus reordered": relabel_within_stimuli,
            "halves swapped": lambda arrays, rng: arrays | {"first": ~arrays["first"]},
            "stimuli reordered": reordered(trials=1, present=1, first=2),
            "neuroids scaled and shifted each": units("trials", stretch_and_shift_each),
        },
        identity=noiseless,
    ),
    *(
        Row(
            name,
            metrics,
            rsa_noise_ceiling,
            subject_arrays,
            partial(subject_arrays, s=4, n=200, p=300),
            undefined=constant("responses", (1, 2), np.s_[:, 1]),
            padded=padded(responses=(1, 2), units=1, seen=1),
            invariances={
                "voxels permuted": reordered(responses=2, units=1),
                "stimuli reordered": reordered(responses=1, seen=1),
                "patterns scaled and shifted each": units("responses", stretch_and_shift_each, axis=1),
            },
            identity=same_subjects,
            times_input=6.0,
            smooth=bool(settings),
            variant_of="rsa_ceiling" if settings else "",
            settings=settings,
        )
        for name, metrics, settings in (
            ("rsa_ceiling", ("rsa_ceiling",), {}),
            ("rsa_ceiling matched to the correlation", (), {"method": "corr", "pooling": "matched"}),
            ("rsa_ceiling that no RDM exceeds", (), {"method": "corr", "pooling": "bound"}),
        )
    ),
    Row(
        "cross_subject_consistency",
        ("cross_subject_consistency",),
        cka_between_subjects,
        complete_arrays,
        partial(complete_arrays, s=4, n=300, p=200),
        undefined=constant("responses", 1, 1),
        padded=padded(responses=2, units=1),
        invariances={
            "voxels rotated": rotate_voxels,
            "stimuli reordered": reordered(responses=1),
            # All by one factor: what is side by side depends on how large subjects are to one another.
            "responses scaled": units("responses", stretch),
            "responses shifted": units("responses", shift, axis=0),
        },
        identity=same_subjects,
        times_input=6.0,
        settings={"how": "leave_one_out"},
    ),
]
