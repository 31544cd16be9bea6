"""Regressions: cross-validated, on a fixed split, and with weights shared over time."""

from functools import partial

import numpy as np

from bsjax import metrics
from tests.contract.changes import in_turn, padded, permute, reordered, rotate, shift, stretch, stretch_each, units
from tests.contract.row import Row

N, P, Q, BINS = 24, 8, 3, 2


def responses(rng, n=N, p=P, q=Q, bins=()):
    x = rng.normal(size=(n, p, *bins)) + 1.0
    return x, x[:, :q] + 0.5 * rng.normal(size=(n, q, *bins))


def folds_of(n, k=2):
    rows = np.arange(n)
    folds = metrics.make_folds(n, [(np.setdiff1d(rows, rows[i::4]), rows[i::4]) for i in range(k)])
    return {"held_out": folds.held_out, "held_out_mask": folds.held_out_mask}


def cross_validated(x, y, held_out, held_out_mask, *, mapping):
    return metrics.cross_validate(x, y, metrics.Folds(held_out, held_out_mask), mapping=mapping)


def by_components(x, y, held_out, held_out_mask, *, mapping):
    return metrics.cross_validate_by_components(x, y, metrics.Folds(held_out, held_out_mask), mapping=mapping)


def over_time(x, y, held_out, held_out_mask, *, mapping):
    return metrics.cross_validate_over_time(x, y, metrics.Folds(held_out, held_out_mask), mapping=mapping)


def cv_arrays(rng, n=N, p=P, q=Q, bins=()):
    x, y = responses(rng, n, p, q, bins)
    return {"x": x, "y": y, **folds_of(n)}


def time_arrays(rng, n=N, p=P, q=Q):
    return cv_arrays(rng, n, p, q, (BINS,))


def split_arrays(rng, n=N, p=P, q=Q):
    x, y = responses(rng, n, p, q)
    cut = 3 * n // 4
    return {"x_train": x[:cut], "x_test": x[cut:], "y_train": y[:cut], "y_test": y[cut:]}


def features(arrays):
    return [name for name in arrays if name.startswith("x")]


def targets(arrays):
    return [name for name in arrays if name.startswith("y")]


REORDERED = in_turn(
    reordered(x=0, y=0, places=("held_out",)), reordered(x_train=0, y_train=0), reordered(x_test=0, y_test=0)
)
# Places beyond the folds that point at a stimulus which is not in them.
FOLDS_PADDED = padded(held_out=1, held_out_mask=1)


def constant_features_and_padded_folds(arrays, rng):
    """More features that never vary, and places beyond the folds."""
    for name in features(arrays):
        constant = np.full((len(arrays[name]), 2, *arrays[name].shape[2:]), 0.1)
        arrays[name] = np.concatenate([arrays[name], constant], axis=1)
    return FOLDS_PADDED(arrays, rng)


def constant_target(arrays):
    for name in targets(arrays):
        arrays[name][:, 0] = 0.1
    return arrays, (..., 0)


def itself(arrays, rng):
    """Targets that are among the features, of rank 4 and of a size at which a penalty of 1 weighs nothing."""
    directions = rng.normal(size=(4, P))
    for name in features(arrays):
        arrays[name] = 1e5 * np.einsum("np...,pr->nr...", arrays[name][:, :4], directions)
        arrays[name.replace("x", "y", 1)] = arrays[name][:, :Q]
    return arrays


ROTATABLE = {"features rotated": units("x", rotate, 1)}
SCALED = {"targets scaled": units("y", stretch, 1)}
COMMON = {
    "features permuted": units("x", permute, 1),
    "features shifted": units("x", shift, 1),
    "targets shifted": units("y", shift, 1),
    "stimuli reordered": REORDERED,
}

FEATURES_SCALED = {"features scaled": units("x", stretch, 1)}
EACH_SCALED = {"targets scaled each": units("y", stretch_each, 1)}
# Mapping, invariances beside those in common, and bound of memory.
MAPPINGS = {
    "pls": (metrics.PLS(4), ROTATABLE | SCALED | FEATURES_SCALED, 4.0),
    "ridge": (metrics.Ridge(1.0), ROTATABLE | EACH_SCALED, 6.0),
    "linear_predictivity": (metrics.Ridge(0.0), ROTATABLE | EACH_SCALED | FEATURES_SCALED, 6.0),
    "neuron_to_neuron": (
        metrics.NeuronToNeuron(),
        EACH_SCALED | {"features scaled each": units("x", stretch_each, 1)},
        6.0,
    ),
    "ridgecv": (metrics.RidgeCV((0.01, 1.0, 100.0)), ROTATABLE, 8.0),
    "elastic_net": (metrics.ElasticNet(0.05, 0.5), {}, 8.0),
    "nnls": (metrics.ElasticNet(0.0, 0.0, positive=True), FEATURES_SCALED | EACH_SCALED, 8.0),
    "pcr": (metrics.PrincipalComponents(4), ROTATABLE | FEATURES_SCALED | EACH_SCALED, 8.0),
    "reduced_rank": (metrics.ReducedRank(2, 1.0), ROTATABLE | SCALED, 10.0),
    "rotation": (metrics.Rotation(), ROTATABLE | SCALED | FEATURES_SCALED, 8.0),
    "kernel_ridge": (metrics.Kernelised(metrics.Ridge(1.0), gamma=0.1), ROTATABLE | EACH_SCALED, 12.0),
    "banded_ridge": (metrics.BandedRidge((3, P - 3), (0.1, 10.0), candidates=4, cv=3), EACH_SCALED, 12.0),
    # Its kernels have as many rows and columns as there are stimuli.
    "multiple_kernel_ridge": (
        metrics.MultipleKernelRidge(("linear", "rbf"), None, (0.1, 10.0), candidates=4, cv=3, gamma=0.1),
        EACH_SCALED,
        300.0,
    ),
    "stacked_regression": (
        metrics.Stacked(metrics.RidgeCV((0.1, 10.0), alpha_per_target=True, cv=3), (3, P - 3), cv=3),
        EACH_SCALED,
        12.0,
    ),
}
# Of one's own features: exact with all dimensions, and without a kernel of distances.
EXACT = ("pls", "ridge", "linear_predictivity", "neuron_to_neuron", "ridgecv")
# The spaces of the features are told by their places and their number, and validation folds by the order of stimuli.
IN_ORDER = ("banded_ridge", "multiple_kernel_ridge", "stacked_regression")
BOTH_WAYS = ("pls", "pcr", "reduced_rank", "rotation", "elastic_net", "nnls", "kernel_ridge", *IN_ORDER)
# A fixed split prepares, fits and predicts by the functions of cross-validation. But kernels embed the test stimuli by
# code of their own, and ridgecv has a route of its own.
SPLIT_OF_THEIR_OWN = ("pls", "ridge", "ridgecv", "kernel_ridge", "neuron_to_neuron")


def names_of(mapping, pattern="{}"):
    """Registered names of a mapping; those of elastic nets, of which a lasso is one, are of both."""
    names = [mapping, *(["lasso"] if mapping == "elastic_net" else [])]
    names += [f"reverse_{name}" for name in names if mapping in BOTH_WAYS]
    return [pattern.format(name) for name in names]


ROWS = []
for name, (mapping, more, memory) in MAPPINGS.items():
    in_order = name in IN_ORDER
    left_out = ("features permuted", "stimuli reordered") if in_order else ()
    size = {"n": 400, "p": P if in_order else 300, "q": Q if in_order else 20}
    shared = {
        "undefined": constant_target,
        "padded": FOLDS_PADDED if in_order else constant_features_and_padded_folds,
        "invariances": {k: v for k, v in (COMMON | more).items() if k not in left_out},
        "identity": itself if name in EXACT else None,
        "times_input": memory,
        "settings": {"mapping": mapping},
    }
    of_split = [*names_of(name, "{}_split"), *([f"dual_{name}_split"] if name in ("ridge", "ridgecv") else [])]
    of_folds = [*names_of(name), *names_of(name, "{}_cv")] + (of_split if name not in SPLIT_OF_THEIR_OWN else [])
    shared["variant_of"] = "elastic_net" if name == "nnls" else ""
    ROWS.append(Row(name, tuple(of_folds), cross_validated, cv_arrays, partial(cv_arrays, **size), **shared))
    shared["variant_of"] = name
    if name in SPLIT_OF_THEIR_OWN:
        large = partial(split_arrays, **size)
        ROWS.append(Row(f"{name}_split", tuple(of_split), metrics.train_test, split_arrays, large, **shared))
    if name == "pls":
        spanning, components = ("spantime_pls", "spantime_ridge"), ("pls_by_components", "reverse_pls_by_components")
        large = partial(time_arrays, n=200, p=300, q=20)
        ROWS.append(Row("spantime_pls", spanning, over_time, time_arrays, large, **shared))
        shared["identity"] = None
        ROWS.append(
            Row("pls_by_components", components, by_components, cv_arrays, partial(cv_arrays, **size), **shared)
        )
