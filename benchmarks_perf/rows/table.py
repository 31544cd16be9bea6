"""Every metric that is measured beside other implementations of it: one row each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import data, exact

# Brain-Score's penalties: from 0.01 to 1e7, about evenly spread within each decade.
ALPHAS = [
    *(0.01, 0.1, 0.5, 1.0),
    *np.linspace(10, 100, 4, endpoint=False),
    *(step for low in (1e2, 1e3, 1e4, 1e5) for step in np.linspace(low, 10 * low, 18, endpoint=False)),
    *np.linspace(1e6, 1e7, 19),
]
ALPHAS = [float(alpha) for alpha in ALPHAS]

# Shares of three feature spaces, drawn evenly.
SHARES = np.random.default_rng(0).dirichlet(np.ones(3), 100).tolist()

OURS = ("bsjax float64", "bsjax float32")


@dataclass(frozen=True)
class Row:
    """One measurement.

    Attributes:
        what: its title, with the names of sizes and options in braces.
        task: what the workers call it.
        draw: makes the inputs of ``sizes``.
        exact: gives the answer of inputs and ``options``.
        peers: contestants beside bsjax, keys of `workers.client.CONTESTANTS`.
        sizes: as in the comparisons of the reference.
        smallest_sizes: those of the smallest recordings, where it is the overhead of a call that takes time.
        options: settings of the metric, given to all contestants.
    """

    what: str
    task: str
    draw: Callable[..., data.Inputs]
    exact: Callable[..., dict[str, Any]]
    peers: tuple[str, ...]
    sizes: Mapping[str, int]
    smallest_sizes: Mapping[str, int]
    options: Mapping[str, Any] = field(default_factory=dict)


_MAJAJHONG = {"stimuli": 2560, "features": 1000, "neuroids": 168}
_SMALLEST = {"stimuli": 50, "features": 30, "neuroids": 10}
_OF_EQUAL_WIDTH = {"stimuli": 2560, "features": 1000, "neuroids": 1000}
_SPLIT = {"train": 1000, "test": 515, "features": 4096, "neuroids": 2000}
_SMALLEST_SPLIT = {"train": 50, "test": 25, "features": 100, "neuroids": 10}
_MAPPED = "{stimuli} stimuli x {features} features -> {neuroids} neuroids"
_COMPARED = "{stimuli} stimuli, {features} features beside {neuroids} neuroids"
_ON_SPLIT = "{train}+{test} stimuli x {features} features -> {neuroids} neuroids"


def _regression(
    what: str,
    task: str,
    fit: exact.Fit,
    peers: tuple[str, ...],
    draw: Callable[..., data.Inputs] = data.recordings,
    **options: Any,
) -> Row:
    options = {"splits": 10, **options}
    title = f"{what}, {{splits}} splits: {_MAPPED}"
    return Row(title, task, draw, exact.crossvalidated(fit), peers, _MAJAJHONG, _SMALLEST, options)


def _similarity(
    what: str, answer: Callable[..., dict[str, Any]], peers: tuple[str, ...], sizes: Mapping[str, int]
) -> Row:
    """A row whose task is called like the function that answers it exactly."""
    return Row(f"{what}: {_COMPARED}", answer.__name__, data.recordings, answer, peers, sizes, _SMALLEST)


TABLE: dict[str, Row] = {
    "pls": _regression(
        "PLS, {n_components} components",
        "pls",
        exact.pls,
        ("brainscore-vision", "scikit-learn", "ikpls"),
        n_components=25,
    ),
    "ridge": _regression("ridge, alpha 1", "ridge", exact.ridge, ("brainscore-vision", "scikit-learn")),
    "linear_predictivity": _regression(
        "linear regression", "linear_predictivity", exact.least_squares, ("brainscore-vision", "scikit-learn")
    ),
    "linear_deficient": _regression(
        "linear regression, each feature twice",
        "linear_predictivity",
        exact.least_squares,
        ("brainscore-vision", "scikit-learn"),
        draw=data.twice,
    ),
    "neuron_to_neuron": _regression(
        "the best feature for each neuroid", "neuron_to_neuron", exact.neuron_to_neuron, ("brainscore-vision",)
    ),
    "cka": _similarity("CKA, unbiased", exact.cka, ("brainscore-vision",), _MAJAJHONG),
    "rdm": _similarity("RDMs and their rank correlation", exact.rdm, ("brainscore-vision", "rsatoolbox"), _MAJAJHONG),
    "rdm_of_trials": Row(
        "crossnobis of {repetitions} runs, noise covariance included: {stimuli} stimuli x {neuroids} neuroids",
        "rdm_of_trials",
        data.model_and_trials,
        exact.rdm_of_trials,
        ("rsatoolbox",),
        {"stimuli": 92, "repetitions": 10, "neuroids": 1000},
        {"stimuli": 50, "repetitions": 10, "neuroids": 30},
    ),
    "searchlight": Row(
        "searchlight of {centres} centres, radius {radius}, in {side} x {side} x {side} voxels: "
        "{stimuli} stimuli, {features} features",
        "searchlight",
        data.voxels,
        exact.searchlight,
        ("rsatoolbox",),
        {"stimuli": 40, "features": 50, "side": 20, "centres": 5000},
        {"stimuli": 12, "features": 30, "side": 8, "centres": 100},
        {"radius": 3.0},
    ),
    "ridgecv_split": Row(
        f"ridge, one of 99 alphas: {_ON_SPLIT}",
        "ridgecv_split",
        data.train_test,
        exact.ridgecv_split,
        ("brainscore-vision", "scikit-learn"),
        _SPLIT,
        _SMALLEST_SPLIT,
        {"alphas": ALPHAS},
    ),
    "alpha_per_target": Row(
        f"ridge, one of 20 alphas for each neuroid by {{cv}} folds: {_ON_SPLIT}",
        "alpha_per_target",
        data.train_test,
        exact.alpha_per_target,
        ("himalaya",),
        {**_SPLIT, "neuroids": 5000},
        _SMALLEST_SPLIT,
        {"alphas": [float(alpha) for alpha in np.logspace(0, 7, 20)], "cv": 5},
    ),
    "banded_ridge": Row(
        f"ridge on {{spaces}} spaces, one of 100 shares and 10 alphas for each neuroid by {{cv}} folds: {_ON_SPLIT}",
        "banded_ridge",
        data.train_test,
        exact.banded_ridge,
        ("himalaya",),
        {"train": 400, "test": 100, "features": 3000, "neuroids": 1000},
        {"train": 50, "test": 25, "features": 150, "neuroids": 10},
        {"spaces": 3, "shares": SHARES, "alphas": [10.0**power for power in range(-2, 8)], "cv": 5},
    ),
    "procrustes": _similarity("Procrustes", exact.procrustes, ("scipy",), _OF_EQUAL_WIDTH),
    "cca": _similarity("CCA", exact.cca, ("scipy",), _OF_EQUAL_WIDTH),
    "similarity_matrix": Row(
        "CKA of all pairs of {models} models: {stimuli} stimuli x {features} features",
        "similarity_matrix",
        data.models,
        exact.similarity_matrix,
        ("scipy",),
        {"models": 50, "stimuli": 1000, "features": 200},
        {"models": 5, "stimuli": 50, "features": 30},
    ),
    "internal_consistency": Row(
        "split-half consistency, ten splits: {stimuli} stimuli x {repetitions} repetitions x {neuroids} neuroids",
        "internal_consistency",
        data.repeated,
        exact.internal_consistency,
        ("brainscore-vision",),
        {"stimuli": 640, "repetitions": 10, "neuroids": 168},
        {"stimuli": 50, "repetitions": 4, "neuroids": 10},
    ),
    "i2n": Row(
        "I2n: {images} images, {objects} objects, {trials} trials",
        "i2n",
        data.choices,
        exact.i2n,
        ("brainscore-vision",),
        {"images": 240, "objects": 24, "trials": 22_000},
        {"images": 50, "objects": 5, "trials": 1000},
    ),
    "spantime_ridge": Row(
        f"ridge over all time bins, {{splits}} splits: {_MAPPED} x {{bins}} bins",
        "spantime_ridge",
        data.in_time,
        exact.crossvalidated(exact.ridge),
        ("brainscore-vision",),
        {"stimuli": 640, "features": 200, "neuroids": 50, "bins": 18},
        {"stimuli": 50, "features": 30, "neuroids": 10, "bins": 3},
        {"splits": 10},
    ),
    "layers": Row(
        f"{{layers}} layers at once, PLS, {{n_components}} components, {{splits}} splits: {_MAPPED}",
        "layers",
        data.layers,
        exact.layers,
        ("single calls",),
        {"layers": 12, **_MAJAJHONG},
        {"layers": 3, **_SMALLEST},
        {"splits": 10, "n_components": 25},
    ),
    "bootstraps": Row(
        f"{{bootstraps}} bootstraps of CKA: {_COMPARED}",
        "bootstraps",
        data.recordings,
        exact.bootstraps,
        ("single calls",),
        {**_MAJAJHONG, "stimuli": 1000},
        _SMALLEST,
        {"bootstraps": 200},
    ),
}
