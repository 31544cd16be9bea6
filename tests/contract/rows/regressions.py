"""Regressions: cross-validated, on a fixed split, and with weights shared over time."""

from functools import partial

import numpy as np

from bsjax.metrics import (
    PLS,
    BandedRidge,
    ElasticNet,
    Folds,
    Kernelised,
    MultipleKernelRidge,
    NeuronToNeuron,
    PrincipalComponents,
    ReducedRank,
    Ridge,
    RidgeCV,
    Rotation,
    Stacked,
    cross_validate,
    cross_validate_by_components,
    cross_validate_over_time,
    make_folds,
    train_test,
)
from tests.contract.row import Row

N, P, Q, BINS = 24, 8, 3, 2
SCHRIMPF = "Schrimpf et al. 2018, Brain-Score"
POLICY = "r of a constant neuroid is NaN, left out of the median and counted in n_undefined"


def responses(rng, n=N, p=P, q=Q, bins=()):
    x = rng.normal(size=(n, p, *bins)) + 1.0
    return x, x[:, :q] + 0.5 * rng.normal(size=(n, q, *bins))


def folds_of(n, k=2):
    rows = np.arange(n)
    folds = make_folds(n, [(np.setdiff1d(rows, rows[i::4]), rows[i::4]) for i in range(k)])
    return {"held_out": folds.held_out, "held_out_mask": folds.held_out_mask}


def cross_validated(x, y, held_out, held_out_mask, *, mapping):
    return cross_validate(x, y, Folds(held_out, held_out_mask), mapping=mapping)


def by_components(x, y, held_out, held_out_mask, *, mapping):
    return cross_validate_by_components(x, y, Folds(held_out, held_out_mask), mapping=mapping)


def over_time(x, y, held_out, held_out_mask, *, mapping):
    return cross_validate_over_time(x, y, Folds(held_out, held_out_mask), mapping=mapping)


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


def change(names, function):
    """A change of those arrays by ``function(values, rng state shared by all of them)``."""

    def changed(arrays, rng):
        seed = rng.integers(2**31)
        return arrays | {name: function(arrays[name], np.random.default_rng(seed)) for name in names(arrays)}

    return changed


def rotate(x, rng):
    q = np.linalg.qr(rng.normal(size=(x.shape[1], x.shape[1])))[0]
    return np.einsum("np...,pr->nr...", x, q)


def permute(x, rng):
    return x[:, rng.permutation(x.shape[1])]


def shift(x, rng):
    return x + per_unit(rng.normal(size=x.shape[1]), x)


def stretch(x, rng):
    return x * rng.uniform(0.5, 2.0)


def stretch_each(x, rng):
    return x * per_unit(rng.uniform(0.5, 2.0, x.shape[1]), x)


def per_unit(values, x):
    return values.reshape(1, -1, *[1] * (x.ndim - 2))


def reorder_stimuli(arrays, rng):
    if "held_out" not in arrays:
        for part in ("train", "test"):
            order = rng.permutation(len(arrays[f"x_{part}"]))
            arrays |= {f"{side}_{part}": arrays[f"{side}_{part}"][order] for side in "xy"}
        return arrays
    order = rng.permutation(len(arrays["x"]))
    place = np.argsort(order)
    moved = {name: arrays[name][order] for name in ("x", "y")}
    return arrays | moved | {"held_out": place[arrays["held_out"]].astype(np.int32)}


def constant_features_and_padded_folds(arrays, rng):
    """More features that never vary, and places beyond the folds."""
    for name in features(arrays):
        constant = np.full((len(arrays[name]), 2, *arrays[name].shape[2:]), 0.1)
        arrays[name] = np.concatenate([arrays[name], constant], axis=1)
    return padded_folds(arrays, rng)


def padded_folds(arrays, rng):
    """Places beyond the folds that point at a stimulus which is not in them."""
    if "held_out" in arrays:
        more = np.zeros((len(arrays["held_out"]), 2), arrays["held_out"].dtype)
        for name, places in (("held_out", more), ("held_out_mask", more.astype(bool))):
            arrays[name] = np.concatenate([arrays[name], places], axis=1)
    return arrays


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


ROTATABLE = {"features rotated": change(features, rotate)}
SCALED = {"targets scaled": change(targets, stretch)}
COMMON = {
    "features permuted": change(features, permute),
    "features shifted": change(features, shift),
    "targets shifted": change(targets, shift),
    "targets scaled each": change(targets, stretch_each),
    "stimuli reordered": reorder_stimuli,
}

MAPPINGS = [
    ("pls", PLS(4), SCHRIMPF, ROTATABLE | {"features scaled": change(features, stretch)}, 4.0),
    ("ridge", Ridge(1.0), "Hoerl & Kennard 1970; " + SCHRIMPF, ROTATABLE, 6.0),
    ("linear_predictivity", Ridge(0.0), SCHRIMPF, ROTATABLE | {"features scaled": change(features, stretch)}, 6.0),
    (
        "neuron_to_neuron",
        NeuronToNeuron(),
        "Schrimpf et al. 2020",
        {"features scaled each": change(features, stretch_each)},
        6.0,
    ),
    ("ridgecv", RidgeCV((0.01, 1.0, 100.0)), "Golub, Heath & Wahba 1979", ROTATABLE, 8.0),
    ("elastic_net", ElasticNet(0.05, 0.5), "Zou & Hastie 2005", {}, 8.0),
    ("lasso", ElasticNet(0.05, 1.0), "Tibshirani 1996", {}, 8.0),
    (
        "nnls",
        ElasticNet(0.0, 0.0, positive=True),
        "Lawson & Hanson 1974",
        {"features scaled": change(features, stretch), "targets scaled each": change(targets, stretch_each)},
        8.0,
    ),
    (
        "pcr",
        PrincipalComponents(4),
        "Hotelling 1957",
        ROTATABLE
        | {"features scaled": change(features, stretch), "targets scaled each": change(targets, stretch_each)},
        8.0,
    ),
    ("reduced_rank", ReducedRank(2, 1.0), "Izenman 1975", ROTATABLE | SCALED, 10.0),
    (
        "rotation",
        Rotation(),
        "Schönemann 1966",
        ROTATABLE | SCALED | {"features scaled": change(features, stretch)},
        8.0,
    ),
    (
        "kernel_ridge",
        Kernelised(Ridge(1.0), gamma=0.1),
        "Saunders, Gammerman & Vovk 1998",
        ROTATABLE | {"targets scaled each": change(targets, stretch_each)},
        12.0,
    ),
    (
        "banded_ridge",
        BandedRidge((3, P - 3), (0.1, 10.0), candidates=4, cv=3),
        "Nunez-Elizalde, Huth & Gallant 2019",
        {"targets scaled each": change(targets, stretch_each)},
        12.0,
    ),
]
MAPPINGS += [
    (
        "multiple_kernel_ridge",
        MultipleKernelRidge(("linear", "rbf"), None, (0.1, 10.0), candidates=4, cv=3, gamma=0.1),
        "Dupré la Tour et al. 2022",
        {"targets scaled each": change(targets, stretch_each)},
        300.0,  # kernels have as many rows and columns as there are stimuli
    ),
    (
        "stacked_regression",
        Stacked(RidgeCV((0.1, 10.0), alpha_per_target=True, cv=3), (3, P - 3), cv=3),
        "Lin et al. 2024",
        {"targets scaled each": change(targets, stretch_each)},
        12.0,
    ),
]
# Where a penalty or a direction is common to all targets, their scales matter, or where it is on absolute weights.
ONE_SCALE = ("pls", "ridgecv", "elastic_net", "lasso", "reduced_rank", "rotation")
# Of one's own features: not exact with few dimensions or with a kernel of distances.
INEXACT = ("elastic_net", "lasso", "nnls", "pcr", "reduced_rank", "rotation", "kernel_ridge", "banded_ridge")
INEXACT += ("multiple_kernel_ridge", "stacked_regression")
# The spaces of the features are told by their places and their number, and validation folds by the order of stimuli.
IN_ORDER = ("banded_ridge", "multiple_kernel_ridge", "stacked_regression")
BOTH_WAYS = ("pls", "pcr", "reduced_rank", "rotation", "elastic_net", "lasso", "nnls", "kernel_ridge", *IN_ORDER)
CROSS_VALIDATED = {name: (name, f"{name}_cv", f"reverse_{name}", f"reverse_{name}_cv") for name in BOTH_WAYS}
FIXED = {
    **{name: (f"{name}_split", f"reverse_{name}_split") for name in BOTH_WAYS},
    "ridge": ("ridge_split", "dual_ridge_split"),
    "ridgecv": ("ridgecv_split", "dual_ridgecv_split"),
}

ROWS = []
for name, mapping, source, more, memory in MAPPINGS:
    invariances = COMMON | more
    if name in ONE_SCALE:
        invariances = {k: v for k, v in invariances.items() if k != "targets scaled each"}
    if name == "pls":
        invariances |= SCALED
    if name in IN_ORDER:
        invariances = {k: v for k, v in invariances.items() if k not in ("features permuted", "stimuli reordered")}
    shared = {
        "bounds": (-1.0, 1.0),
        "source": source,
        "undefined": constant_target,
        "undefined_policy": POLICY,
        "padded": padded_folds if name in IN_ORDER else constant_features_and_padded_folds,
        "invariances": invariances,
        "identity": None if name in INEXACT else itself,
        "times_input": memory,
        "settings": {"mapping": mapping},
    }
    ROWS += [
        Row(
            name,
            CROSS_VALIDATED.get(name, (name, f"{name}_cv")),
            cross_validated,
            cv_arrays,
            partial(cv_arrays, n=400, p=P if name in IN_ORDER else 300, q=Q if name in IN_ORDER else 20),
            ("split", "neuroid"),
            ceiling="internal_consistency",
            **shared,
        ),
        Row(
            f"{name}_split",
            FIXED.get(name, (f"{name}_split",)),
            train_test,
            split_arrays,
            partial(split_arrays, n=400, p=P if name in IN_ORDER else 300, q=Q if name in IN_ORDER else 20),
            ("neuroid",),
            ceiling="internal_consistency",
            **shared,
        ),
    ]
    if name in ("pls", "ridge"):
        ROWS.append(
            Row(
                f"spantime_{name}",
                (f"spantime_{name}",),
                over_time,
                time_arrays,
                lambda rng: time_arrays(rng, 200, 300, 20),
                ("split", "time_bin", "neuroid"),
                ceiling="internal_consistency_temporal",
                **shared,
            )
        )
    if name == "pls":
        ROWS.append(
            Row(
                "pls_by_components",
                ("pls_by_components", "reverse_pls_by_components"),
                by_components,
                cv_arrays,
                partial(cv_arrays, n=400, p=300, q=20),
                ("split", "component", "neuroid"),
                ceiling="internal_consistency",
                **shared | {"identity": None},
            )
        )
