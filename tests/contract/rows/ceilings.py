"""Ceilings: of repetitions and of subjects."""

import numpy as np

from bsjax.metrics import split_half_consistency
from bsjax.metrics.ceilings.noise_ceiling import rsa_noise_ceiling
from tests.contract.row import Row

R, N, U, SPLITS, BINS = 5, 12, 3, 2, 2
SUBJECTS, VOXELS = 3, 6
SPEARMAN_BROWN = "Spearman 1910; Brown 1910"


def of_repetitions(trials, present, first):
    return split_half_consistency(trials, present, first)


def over_time(trials, present, first):
    """Bins beside one another as if they were more units, all with the same halves."""
    r, n, u, bins = trials.shape
    raw = split_half_consistency(trials.reshape(r, n, u * bins), present.reshape(r, n, u * bins), first)
    return raw.reshape(-1, u, bins)


def trials_of(rng, r, n, u, bins=()):
    signal = rng.normal(size=(n, u, *bins))
    return signal + 0.7 * rng.normal(size=(r, n, u, *bins))


def label_arrays(rng, r=R, n=N, u=U, bins=()):
    """The same half of the repetitions for all stimuli."""
    trials = trials_of(rng, r, n, u, bins)
    first = np.zeros((SPLITS, r, n), bool)
    first[0, ::2] = first[1, : r // 2] = True
    return {"trials": trials, "present": np.ones(trials.shape, bool), "first": first}


def stimulus_arrays(rng, r=R, n=N, u=U):
    """Halves of each stimulus's own repetitions, of which some are missing."""
    arrays = label_arrays(rng, r, n, u)
    arrays["present"][-1, ::3] = False
    order = np.argsort(rng.random((SPLITS, r - 1, n)), axis=1)
    arrays["first"] = np.concatenate([order < 2, np.zeros((SPLITS, 1, n), bool)], axis=1)
    return arrays


def time_arrays(rng, r=R, n=N, u=U):
    return label_arrays(rng, r, n, u, (BINS,))


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


OF_REPETITIONS = {
    "bounds": (-np.inf, 1.0),
    "source": SPEARMAN_BROWN,
    "undefined": constant_unit,
    "undefined_policy": "NaN for a neuroid that is constant, left out of the median and counted in n_undefined",
    "padded": more_trials,
    "invariances": {
        "repetitions relabelled": relabel_repetitions,
        "trials of each stimulus reordered": relabel_within_stimuli,
        "halves swapped": lambda arrays, rng: arrays | {"first": ~arrays["first"]},
        "stimuli reordered": reorder_stimuli,
        "neuroids scaled and shifted each": stretch_units,
    },
    "identity": noiseless,
    "times_input": 4.0,
}


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


OF_SUBJECTS = {
    "dims": ("bound", "subject"),
    "bounds": (-1.0, 1.0),
    "source": "Nili et al. 2014",
    "undefined": constant_pattern_of_a_subject,
    "undefined_policy": "NaN for a subject with a constant pattern, who is in no pooled RDM, counted in n_undefined",
    "padded": more_voxels_and_stimuli,
    "invariances": {
        "voxels permuted": permute_voxels,
        "stimuli reordered": reorder_stimuli_of_all,
        "patterns scaled and shifted each": stretch_patterns,
    },
    "identity": same_subjects,
    "times_input": 6.0,
}

ROWS = [
    Row(
        "internal_consistency",
        ("internal_consistency",),
        of_repetitions,
        label_arrays,
        lambda rng: label_arrays(rng, 8, 400, 60),
        ("split", "neuroid"),
        **OF_REPETITIONS,
    ),
    Row(
        "internal_consistency_temporal",
        ("internal_consistency_temporal",),
        over_time,
        time_arrays,
        lambda rng: label_arrays(rng, 8, 200, 60, (BINS,)),
        ("split", "neuroid", "time_bin"),
        **OF_REPETITIONS,
    ),
    Row(
        "predictor_consistency",
        ("predictor_consistency",),
        of_repetitions,
        stimulus_arrays,
        lambda rng: stimulus_arrays(rng, 8, 400, 60),
        ("split", "neuroid"),
        **OF_REPETITIONS,
    ),
    Row(
        "rsa_ceiling",
        ("rsa_ceiling",),
        rsa_noise_ceiling,
        subject_arrays,
        lambda rng: subject_arrays(rng, 4, 200, 300),
        smooth=False,
        **OF_SUBJECTS,
    ),
    Row(
        "rsa_ceiling matched to the correlation",
        (),
        rsa_noise_ceiling,
        subject_arrays,
        lambda rng: subject_arrays(rng, 4, 200, 300),
        settings={"method": "corr", "pooling": "matched"},
        **OF_SUBJECTS,
    ),
]
