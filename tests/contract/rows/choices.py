"""Signatures of object choices: a model against trials, and one half of the trials against the other."""

import numpy as np

from bsjax.metrics.behaviour.choice_signatures import choice_consistency, choice_reliability
from tests.contract.changes import reordered
from tests.contract.row import Row
from tests.support.signatures import KINDS

OBJECTS = 4
TRIALS = ("stimulus", "choice", "sample", "distractor")


def trials(rng, images=12, n=160, halves=2):
    truth = rng.permutation(np.arange(images) % OBJECTS)
    stimulus = rng.permutation(np.arange(n) % images)
    sample = truth[stimulus]
    distractor = (sample + rng.integers(1, OBJECTS, n)) % OBJECTS
    choice = np.where(rng.random(n) < 0.7, sample, distractor)
    weights = (rng.random((halves, n)) < 0.5).astype(float)
    parts = {"truth": truth, "stimulus": stimulus, "choice": choice, "sample": sample, "distractor": distractor}
    return parts | {"weights": weights}


def with_probabilities(rng, images=12, n=160):
    return {"probabilities": rng.dirichlet(np.ones(OBJECTS), images), **trials(rng, images, n)}


def halves(rng, images=12, n=160):
    parts = trials(rng, images, n)
    return parts | {"others": 1.0 - parts["weights"]}


def weighted(arrays):
    return [name for name in ("weights", "others") if name in arrays]


def rename_objects(arrays, rng):
    names = rng.permutation(OBJECTS)
    moved = {name: names[arrays[name]] for name in ("truth", *TRIALS[1:])}
    if "probabilities" in arrays:
        moved["probabilities"] = arrays["probabilities"][:, np.argsort(names)]
    return arrays | moved


def scale_probabilities(arrays, rng):
    p = arrays["probabilities"]
    return arrays | {"probabilities": p * rng.uniform(0.1, 10, (len(p), 1))}


def exchange_halves(arrays, rng):
    return arrays | {"weights": arrays["others"], "others": arrays["weights"]}


def an_empty_half(arrays):
    arrays["weights"][1] = 0.0
    return arrays, 1


def trials_that_do_not_count(arrays, rng):
    extra = trials(rng, len(arrays["truth"]), 20)
    more = {name: np.concatenate([arrays[name], extra[name]]) for name in TRIALS}
    return arrays | more | {name: np.pad(arrays[name], ((0, 0), (0, 20))) for name in weighted(arrays)}


def same_half(arrays, rng):
    return arrays | {"others": arrays["weights"]}


def correlation(kernel):
    """The kernel's correlations without its counts."""

    def only_r(**arrays):
        return kernel(**arrays).r

    return only_r


SHARED = {
    "undefined": an_empty_half,
    "padded": trials_that_do_not_count,
}
INVARIANCES = {
    "order of trials": reordered(**dict.fromkeys(TRIALS, 0), weights=1, others=1),
    "order of images": reordered(truth=0, probabilities=0, places=("stimulus",)),
    "names of objects": rename_objects,
}
ROWS = [
    Row(
        name=name,
        metrics=metrics,
        kernel=correlation(choice_consistency),
        settings={"kind": KINDS[name]},
        arrays=with_probabilities,
        large=lambda rng: with_probabilities(rng, 3000, 40_000),
        invariances=INVARIANCES | {"scale of an image's probabilities": scale_probabilities},
        variant_of="" if metrics else "I2n",
        smooth=("probabilities",),  # trials count or do not: a weight below 0 takes one out
        **SHARED,
    )
    for name, metrics in (("I2n", ("i1", "i2n")), ("O2", ()))
] + [
    Row(
        name="I2n ceiling",
        metrics=(),
        kernel=correlation(choice_reliability),
        settings={"kind": KINDS["I2n"], "n_objects": OBJECTS},
        arrays=halves,
        large=lambda rng: halves(rng, 3000, 40_000),
        invariances=INVARIANCES | {"exchange of the halves": exchange_halves},
        identity=same_half,
        smooth=False,  # trials count or do not
        **SHARED,
    )
]
