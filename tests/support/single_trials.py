"""Recordings of single trials with a known ratio of signal to noise."""

import numpy as np

from bsjax import NeuroidAssembly


def recording(seed=0, r=4, n=60, u=20, snr=1.0):
    """Responses to n stimuli and noise of unit variance in r trials of each, whose rows are in a random order."""
    rng = np.random.default_rng(seed)
    trials = snr * rng.normal(size=(n, u)) + rng.normal(size=(r, n, u))
    order = rng.permutation(r * n)
    repetition, stimulus = np.divmod(order, n)
    return NeuroidAssembly(
        trials.reshape(r * n, u)[order],
        coords={
            "stimulus_id": ("presentation", [f"s{i:03}" for i in stimulus]),
            "repetition": ("presentation", repetition),
            "neuroid_id": ("neuroid", [f"n{i}" for i in range(u)]),
        },
        dims=["presentation", "neuroid"],
    )


def trials(n=30, r=6, u=5, noise=1.0, seed=0, keep=None, image="stimulus_id"):
    """Responses to n stimuli in r trials of each, stimulus by stimulus; ``keep(stimulus, repetition)`` selects some."""
    rng = np.random.default_rng(seed)
    values = np.repeat(rng.normal(size=(n, 1, u)), r, axis=1) + noise * rng.normal(size=(n, r, u))
    stimulus, repetition = (v.ravel() for v in np.meshgrid(np.arange(n), np.arange(r), indexing="ij"))
    rows = np.arange(n * r) if keep is None else np.flatnonzero(keep(stimulus, repetition))
    return NeuroidAssembly(
        values.reshape(n * r, u)[rows],
        coords={
            image: ("presentation", [f"s{i:03d}" for i in stimulus[rows]]),
            "repetition": ("presentation", repetition[rows]),
            "neuroid_id": ("neuroid", [f"n{i}" for i in range(u)]),
        },
        dims=["presentation", "neuroid"],
    )
