"""Ceilings: of repetitions and of subjects."""

import numpy as np

from bsjax.metrics import split_half_consistency
from bsjax.metrics.ceilings.noise_ceiling import rsa_noise_ceiling
from tests.contract.row import Row

R, N, U, SPLITS = 5, 12, 3, 2
SUBJECTS, VOXELS = 3, 6


def of_repetitions(trials, present, first):
    return split_half_consistency(trials, present, first)


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


def constant_unit(arrays):
    arrays["trials"][:, :, 0] = 0.1
    return arrays, (slice(None), 0)


def more_trials(arrays, rng):
    """A repetition and a stimulus that were never shown, with values that would count."""
    r, n = arrays["trials"].shape[:2]
    more = 50.0 + rng.normal(size=(r + 1, n + 1, *arrays["trials"].shape[2:]))
    more[:r, :n] = arrays["trials"]
    present, first = np.zeros(more.shape, bool), np.ones((SPLITS, r + 1, n + 1), bool)
    present[:r, :n], first[:, :r, :n] = arrays["present"], arrays["first"]
    return {"trials": more, "present": present, "first": first}


def relabel_repetitions(arrays, rng):
    order = rng.permutation(arrays["trials"].shape[0])
    return {"trials": arrays["trials"][order], "present": arrays["present"][order], "first": arrays["first"][:, order]}


def relabel_within_stimuli(arrays, rng):
    """Each stimulus's trials in another order: what a shuffle of the rows of an assembly can do to them."""
    r, n = arrays["trials"].shape[:2]
    order = np.argsort(rng.random((r, n)), axis=0)
    stimuli = np.arange(n)
    return {
        "trials": arrays["trials"][order, stimuli],
        "present": arrays["present"][order, stimuli],
        "first": arrays["first"][:, order, stimuli],
    }


def reorder_stimuli(arrays, rng):
    order = rng.permutation(arrays["trials"].shape[1])
    return {
        "trials": arrays["trials"][:, order],
        "present": arrays["present"][:, order],
        "first": arrays["first"][:, :, order],
    }


def stretch_units(arrays, rng):
    shape = arrays["trials"].shape[2:]
    return arrays | {"trials": arrays["trials"] * rng.uniform(0.1, 10.0, shape) + rng.normal(size=shape)}


def noiseless(arrays, rng):
    return arrays | {"trials": np.broadcast_to(arrays["trials"][:1], arrays["trials"].shape)}


def subject_arrays(rng, s=SUBJECTS, n=N, p=VOXELS):
    """Subjects who see the same; the last one has fewer voxels, the first one has not seen the last stimulus."""
    responses = rng.normal(size=(n, p)) + 0.7 * rng.normal(size=(s, n, p))
    units, seen = np.ones((s, p), bool), np.ones((s, n), bool)
    units[-1, -1] = seen[0, -1] = False
    return {"responses": responses, "units": units, "seen": seen}


def constant_pattern_of_a_subject(arrays):
    arrays["responses"][1, 2] = 0.1
    return arrays, (slice(None), 1)


def more_voxels_and_stimuli(arrays, rng):
    s, n, p = arrays["responses"].shape
    responses = 50.0 * rng.normal(size=(s, n + 1, p + 2))
    responses[:, 1:, 2:] = arrays["responses"]
    units = np.concatenate([np.zeros((s, 2), bool), arrays["units"]], axis=1)
    seen = np.concatenate([np.zeros((s, 1), bool), arrays["seen"]], axis=1)
    return {"responses": responses, "units": units, "seen": seen}


def permute_voxels(arrays, rng):
    order = rng.permutation(arrays["units"].shape[1])
    return arrays | {"responses": arrays["responses"][:, :, order], "units": arrays["units"][:, order]}


def reorder_stimuli_of_all(arrays, rng):
    order = rng.permutation(arrays["seen"].shape[1])
    return arrays | {"responses": arrays["responses"][:, order], "seen": arrays["seen"][:, order]}


def stretch_patterns(arrays, rng):
    s, n, _ = arrays["responses"].shape
    scale, shift = rng.uniform(0.1, 10.0, (s, n, 1)), rng.normal(size=(s, n, 1))
    return arrays | {"responses": arrays["responses"] * scale + shift}


def same_subjects(arrays, rng):
    same = {name: np.broadcast_to(values[:1], values.shape) for name, values in arrays.items()}
    return same | {"seen": np.ones_like(arrays["seen"])}


ROWS = [
    Row(
        "predictor_consistency",
        ("internal_consistency", "internal_consistency_temporal", "predictor_consistency"),
        of_repetitions,
        stimulus_arrays,
        lambda rng: stimulus_arrays(rng, 8, 400, 60),
        bounds=(-np.inf, 1.0),
        undefined=constant_unit,
        padded=more_trials,
        invariances={
            "repetitions relabelled": relabel_repetitions,
            "trials of each stimulus reordered": relabel_within_stimuli,
            "halves swapped": lambda arrays, rng: arrays | {"first": ~arrays["first"]},
            "stimuli reordered": reorder_stimuli,
            "neuroids scaled and shifted each": stretch_units,
        },
        identity=noiseless,
    ),
    *(
        Row(
            name,
            metrics,
            rsa_noise_ceiling,
            subject_arrays,
            lambda rng: subject_arrays(rng, 4, 200, 300),
            undefined=constant_pattern_of_a_subject,
            padded=more_voxels_and_stimuli,
            invariances={
                "voxels permuted": permute_voxels,
                "stimuli reordered": reorder_stimuli_of_all,
                "patterns scaled and shifted each": stretch_patterns,
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
]
