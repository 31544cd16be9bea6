"""A regression of many targets, fitted by several workers, in a process of a cluster."""

import numpy as np
import xarray as xr

from bsjax import Score, load_metric
from bsjax.labelled.regression.target_blocks import spread_by
from bsjax.scoring.cluster import OnAllWorkers


def sides(stimuli: int, features: int, targets: int) -> list[xr.DataArray]:
    """A source and a target with a linear relation."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(stimuli, features))
    y = x[:, :20] @ rng.normal(size=(20, targets)) + 4 * rng.normal(size=(stimuli, targets))
    ids = {"stimulus_id": ("presentation", np.arange(stimuli))}
    sides = [xr.DataArray(values, ids, ["presentation", "neuroid"]) for values in (x, y)]
    return [side.assign_coords(neuroid_id=("neuroid", np.arange(side.shape[1]))) for side in sides]


def metric():
    """Ridge regression with a penalty of each target, chosen on folds within folds."""
    settings = {"alphas": (0.1, 10.0, 1e3, 1e5), "alpha_per_target": True, "cv": 3}
    return load_metric("ridgecv", crossvalidation_kwargs={"stratification_coord": None}, **settings)


def spread_score(workers: int, times: int, *sizes: int) -> tuple[Score, list[str]]:
    """The score by several workers, and the name of its prepared features in every repetition."""
    spread, names = OnAllWorkers(workers), []
    for _ in range(times):
        with spread_by(spread):
            score = metric()(*sides(*sizes))
        names.append(spread._ready.key)
    return score, names
