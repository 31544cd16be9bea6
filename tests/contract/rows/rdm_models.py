"""Models of RDMs that are fitted to training stimuli, and RDMs of predictions."""

from functools import partial

import jax.numpy as jnp
import numpy as np

from bsjax import metrics
from tests.contract.changes import constant, permute, rotate, shift_patterns, stretch, stretch_patterns, units
from tests.contract.row import Row
from tests.contract.rows.regressions import FOLDS_PADDED, REORDERED, cv_arrays

P, Q = 9, 5
SPACES = np.array([[0, 1, 2, 3, 4], [5, 6, 7, 8, 0]], np.int32)
MEMBERS = np.array([[True] * 5, [True] * 4 + [False]])


def of_spaces(x, y, held_out, held_out_mask, **settings):
    spaces = jnp.asarray(SPACES), jnp.asarray(MEMBERS)
    return metrics.cross_validated_rdm_model(x, y, metrics.Folds(held_out, held_out_mask), *spaces, **settings)[0]


def reweighted(x, y, held_out, held_out_mask, **settings):
    return metrics.cross_validated_feature_reweighting(x, y, metrics.Folds(held_out, held_out_mask), **settings)[0]


def encoded(x, y, held_out, held_out_mask, **settings):
    return metrics.cross_validated_encoding_rdm(x, y, metrics.Folds(held_out, held_out_mask), **settings)


def same(arrays, rng):
    return arrays | {"y": arrays["x"][:, :5]}


def within_spaces(x, rng):
    return x[:, np.r_[rng.permutation(5), 5 + rng.permutation(4)]]


OF_Y = {
    "stimuli reordered": REORDERED,
    "units of y permuted": units("y", permute),
    "y scaled": units("y", stretch),
}
PATTERNS = {
    "patterns of y shifted": units("y", shift_patterns),
    "patterns of y scaled each": units("y", stretch_patterns),
}
SHARED = {
    "arrays": partial(cv_arrays, p=P, q=Q),
    "large": partial(cv_arrays, n=200, p=P, q=Q),
    "undefined": constant("y", 0, slice(None)),
    "padded": FOLDS_PADDED,
    "times_input": 200.0,  # RDMs have as many rows and columns as there are stimuli
    "atol": 1e-8,
}

ROWS = [
    *(
        Row(
            f"{fit}_rdm",
            (f"{fit}_rdm",),
            of_spaces,
            invariances=OF_Y
            | PATTERNS
            | {"features permuted": units("x", within_spaces), "x scaled": units("x", stretch)},
            settings={"fit": fit},
            identity=same,
            variant_of="" if fit == "weighted" else "weighted_rdm",
            **SHARED,
        )
        for fit in ("weighted", "selected", "interpolated")
    ),
    Row(
        "feature_reweighted_rdm",
        ("feature_reweighted_rdm",),
        reweighted,
        invariances=OF_Y | {"features permuted": units("x", permute), "x scaled": units("x", stretch)},
        settings={"alpha": 0.1},
        **SHARED,
    ),
    Row(
        "encoding_rdm",
        ("encoding_rdm",),
        encoded,
        invariances={
            "stimuli reordered": REORDERED,
            "features rotated": units("x", rotate),
            "units of y permuted": units("y", permute),
        },
        settings={"mapping": metrics.Ridge(1.0), "method": "corr"},
        **SHARED | {"undefined": constant("y", 0, 0)},
    ),
]
