"""Read-outs that are fitted by gradients: object solution times, and the factorised what/where regression."""

from functools import partial

import numpy as np

from bsjax.metrics import Folds, cross_validate, make_folds
from bsjax.metrics.behaviour.object_solution_time import ost_correlation
from bsjax.metrics.behaviour.softmax_decoder import SoftmaxDecoder
from bsjax.metrics.regression.factorised_readout import FactorisedReadout
from tests.contract.changes import constant, in_turn, padded, reordered, stretch_and_shift_each, units
from tests.contract.row import Row

N, P, BINS, OBJECTS, EPOCHS = 30, 8, 4, 3, 2
DECODER = SoftmaxDecoder(learning_rate=0.02, epochs=EPOCHS, batch_size=5)
READOUT = FactorisedReadout(2, 3, 3, epochs=EPOCHS, batch_size=5)


def recordings(rng, n=N, p=P):
    labels = np.arange(n) % OBJECTS
    strength = np.clip(np.arange(1, BINS + 1)[:, None] / BINS + 0.3 * rng.normal(size=n), 0, 1)
    signal = np.eye(OBJECTS)[labels] @ rng.normal(size=(OBJECTS, p))
    test = np.arange(n) // (n // 2) == np.arange(2)[:, None]
    return {
        "x": strength[:, :, None] * signal + rng.normal(size=(BINS, n, p)),
        "labels": labels,
        "train": ~test,
        "test": test,
        "orders": rng.permuted(np.tile(np.arange(n), (EPOCHS, 1)), axis=1),
        "start": rng.normal(size=(p, OBJECTS)),
        "times": 70.0 + 10.0 * np.arange(BINS),
        "thresholds": rng.normal(size=n) + 0.5,
        "target": rng.uniform(70, 100, n),
    }


def out_of_reach(arrays):
    arrays["thresholds"][arrays["test"][1]] = 100.0
    return arrays, 1


def images_of_no_split(arrays, rng):
    n, extra = arrays["labels"].shape[0], 7
    keys = np.argsort(arrays["orders"], axis=1)
    among = np.concatenate([keys, rng.uniform(-1, n, (EPOCHS, extra))], axis=1)
    more = recordings(rng, n + extra)
    joined = {name: np.concatenate([arrays[name], more[name][n:]]) for name in ("labels", "thresholds", "target")}
    joined |= {name: np.pad(arrays[name], ((0, 0), (0, extra))) for name in ("train", "test")}
    x = np.concatenate([arrays["x"], more["x"][:, n:]], axis=1)
    return arrays | joined | {"x": x, "orders": np.argsort(among, axis=1)}


OF_IMAGES = {"labels": 0, "thresholds": 0, "target": 0, "x": 1, "train": 1, "test": 1}


def rename_objects(arrays, rng):
    names = rng.permutation(OBJECTS)
    return arrays | {"labels": names[arrays["labels"]], "start": arrays["start"][:, np.argsort(names)]}


def other_unit_of_time(arrays, rng):
    return arrays | {"target": np.exp(arrays["target"] / 50)}


def cross_validated(x, y, held_out, held_out_mask, test, test_mask, *, mapping):
    return cross_validate(x, y, Folds(held_out, held_out_mask, test, test_mask), mapping=mapping)


def images_and_neuroids(rng, n=N, q=2):
    """Two folds with the same training stimuli, tested on different others."""
    x = rng.normal(size=(n, READOUT.channels * READOUT.height * READOUT.width))
    rows = np.arange(n)
    folds = make_folds(n, [(rows[rows % 4 > 1], rows[i::4]) for i in range(2)])
    return {"x": x, "y": x[:, :q] + 0.5 * rng.normal(size=(n, q)), **folds._asdict()}


OF_FOLDS = dict.fromkeys(("held_out", "held_out_mask", "test", "test_mask"), 1)


def rescale_tested(arrays, rng):
    held_out = (np.arange(arrays["y"].shape[0]) % 4 < 2)[:, None]
    return arrays | {"y": np.where(held_out, arrays["y"] * rng.uniform(0.1, 10) + rng.normal(), arrays["y"])}


ROWS = [
    Row(
        name="object solution time",
        metrics=("ost",),
        kernel=ost_correlation,
        settings={"decoder": DECODER},
        arrays=recordings,
        large=partial(recordings, n=300, p=200),
        undefined=out_of_reach,
        padded=images_of_no_split,
        invariances={
            "order of images": reordered(**OF_IMAGES, places=("orders",)),
            "order of units": reordered(x=2, start=0),
            "scale and offset of each unit": units("x", stretch_and_shift_each),
            "names of objects": rename_objects,
            "unit of the measured times": other_unit_of_time,
        },
        smooth=False,
    ),
    Row(
        name="factorised read-out",
        metrics=("mask_regression",),
        kernel=cross_validated,
        settings={"mapping": READOUT},
        arrays=images_and_neuroids,
        large=partial(images_and_neuroids, n=5000, q=10),
        undefined=constant("y", np.s_[:, 0], np.s_[:, 0]),
        padded=padded(**OF_FOLDS),
        atol=1e-6,  # training grows what rounding differs by
        invariances={
            "order of held-out stimuli": in_turn(
                reordered(held_out=1, held_out_mask=1), reordered(test=1, test_mask=1)
            ),
            "scale and offset of tested targets": rescale_tested,
        },
    ),
]
