"""Every metric that is measured beside other implementations of it: one row each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import data, exact

# Brain-Score's penalties: from 0.01 to 1e7, about evenly spread within each decade.
_STEPS = [np.linspace(low, 10 * low, 18, endpoint=False) for low in (1e2, 1e3, 1e4, 1e5)]
ALPHAS = [0.01, 0.1, 0.5, 1.0, 10.0, 32.5, 55.0, 77.5, *np.concatenate([*_STEPS, np.linspace(1e6, 1e7, 19)]).tolist()]

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
    options: Mapping[str, Any]


_MAJAJHONG = {"stimuli": (2560, 50), "features": (1000, 30), "neuroids": (168, 10)}
_OF_EQUAL_WIDTH = _MAJAJHONG | {"neuroids": (1000, 10)}
_SPLIT = {"train": (1000, 50), "test": (515, 25), "features": (4096, 100), "neuroids": (2000, 10)}
_MAPPED = "{stimuli} stimuli x {features} features -> {neuroids} neuroids"
_COMPARED = "{stimuli} stimuli, {features} features beside {neuroids} neuroids"
_ON_SPLIT = "{train}+{test} stimuli x {features} features -> {neuroids} neuroids"
_BRAINSCORE = ("brainscore-vision",)
_AND_SKLEARN = (*_BRAINSCORE, "scikit-learn")

Sizes = Mapping[str, tuple[int, int]]
"""Each size, and that of the smallest recordings."""


def _row(
    what: str,
    answer: Callable[..., dict[str, Any]],
    draw: Callable[..., data.Inputs],
    peers: tuple[str, ...],
    sizes: Sizes,
    task: str | None = None,
    **options: Any,
) -> Row:
    """A row whose task is called like the function that answers it exactly, unless it is given."""
    full, smallest = ({name: pair[at] for name, pair in sizes.items()} for at in (0, 1))
    return Row(what, task or answer.__name__, draw, answer, peers, full, smallest, options)


def _regression(
    what: str, task: str, fit: exact.Fit, peers: tuple[str, ...], draw: Any = data.recordings, **options: Any
) -> Row:
    title, answer = f"{what}, {{splits}} splits: {_MAPPED}", exact.crossvalidated(fit)
    return _row(title, answer, draw, peers, _MAJAJHONG, task, splits=10, **options)


def _similarity(what: str, answer: Callable[..., Any], peers: tuple[str, ...], sizes: Sizes = _MAJAJHONG) -> Row:
    return _row(f"{what}: {_COMPARED}", answer, data.recordings, peers, sizes)


TABLE: dict[str, Row] = {
    "pls": _regression("PLS, {n_components} components", "pls", exact.pls, (*_AND_SKLEARN, "ikpls"), n_components=25),
    "ridge": _regression("ridge, alpha 1", "ridge", exact.ridge, _AND_SKLEARN),
    **{
        name: _regression(f"linear regression{how}", "linear_predictivity", exact.least_squares, _AND_SKLEARN, draw)
        for name, how, draw in (
            ("linear_predictivity", "", data.recordings),
            ("linear_deficient", ", each feature twice", data.twice),
        )
    },
    "neuron_to_neuron": _regression(
        "the best feature for each neuroid", "neuron_to_neuron", exact.neuron_to_neuron, _BRAINSCORE
    ),
    "cka": _similarity("CKA, unbiased", exact.cka, _BRAINSCORE),
    "rdm": _similarity("RDMs and their rank correlation", exact.rdm, (*_BRAINSCORE, "rsatoolbox")),
    "rdm_of_trials": _row(
        "crossnobis of {repetitions} runs, noise covariance included: {stimuli} stimuli x {neuroids} neuroids",
        exact.rdm_of_trials,
        data.model_and_trials,
        ("rsatoolbox",),
        {"stimuli": (92, 50), "repetitions": (10, 10), "neuroids": (1000, 30)},
    ),
    "searchlight": _row(
        "searchlight of {centres} centres, radius {radius}, in {side} x {side} x {side} voxels: "
        "{stimuli} stimuli, {features} features",
        exact.searchlight,
        data.voxels,
        ("rsatoolbox",),
        {"stimuli": (40, 12), "features": (50, 30), "side": (20, 8), "centres": (5000, 100)},
        radius=3.0,
    ),
    "ridgecv_split": _row(
        f"ridge, one of 99 alphas: {_ON_SPLIT}",
        exact.ridgecv_split,
        data.train_test,
        _AND_SKLEARN,
        _SPLIT,
        alphas=ALPHAS,
    ),
    "alpha_per_target": _row(
        f"ridge, one of 20 alphas for each neuroid by {{cv}} folds: {_ON_SPLIT}",
        exact.alpha_per_target,
        data.train_test,
        ("himalaya",),
        _SPLIT | {"neuroids": (5000, 10)},
        alphas=np.logspace(0, 7, 20).tolist(),
        cv=5,
    ),
    "banded_ridge": _row(
        f"ridge on {{spaces}} spaces, one of 100 shares and 10 alphas for each neuroid by {{cv}} folds: {_ON_SPLIT}",
        exact.banded_ridge,
        data.train_test,
        ("himalaya",),
        {"train": (400, 50), "test": (100, 25), "features": (3000, 150), "neuroids": (1000, 10)},
        **{"spaces": 3, "shares": SHARES, "alphas": [10.0**power for power in range(-2, 8)], "cv": 5},
    ),
    "procrustes": _similarity("Procrustes", exact.procrustes, ("scipy",), _OF_EQUAL_WIDTH),
    "cca": _similarity("CCA", exact.cca, ("scipy",), _OF_EQUAL_WIDTH),
    "similarity_matrix": _row(
        "CKA of all pairs of {models} models: {stimuli} stimuli x {features} features",
        exact.similarity_matrix,
        data.models,
        ("scipy",),
        {"models": (50, 5), "stimuli": (1000, 50), "features": (200, 30)},
    ),
    "internal_consistency": _row(
        "split-half consistency, ten splits: {stimuli} stimuli x {repetitions} repetitions x {neuroids} neuroids",
        exact.internal_consistency,
        data.repeated,
        _BRAINSCORE,
        {"stimuli": (640, 50), "repetitions": (10, 4), "neuroids": (168, 10)},
    ),
    "i2n": _row(
        "I2n: {images} images, {objects} objects, {trials} trials",
        exact.i2n,
        data.choices,
        _BRAINSCORE,
        {"images": (240, 50), "objects": (24, 5), "trials": (22_000, 1000)},
    ),
    "spantime_ridge": _row(
        f"ridge over all time bins, {{splits}} splits: {_MAPPED} x {{bins}} bins",
        exact.crossvalidated(exact.ridge),
        data.in_time,
        _BRAINSCORE,
        {"stimuli": (640, 50), "features": (200, 30), "neuroids": (50, 10), "bins": (18, 3)},
        "spantime_ridge",
        splits=10,
    ),
    "layers": _row(
        f"{{layers}} layers at once, PLS, {{n_components}} components, {{splits}} splits: {_MAPPED}",
        exact.layers,
        data.layers,
        ("single calls",),
        {"layers": (12, 3), **_MAJAJHONG},
        **{"splits": 10, "n_components": 25},
    ),
    "bootstraps": _row(
        f"{{bootstraps}} bootstraps of CKA: {_COMPARED}",
        exact.bootstraps,
        data.recordings,
        ("single calls",),
        _MAJAJHONG | {"stimuli": (1000, 50)},
        bootstraps=200,
    ),
}
