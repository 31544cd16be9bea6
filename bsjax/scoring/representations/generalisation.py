"""``generalisation``: scores on stimuli of a kind that was held out, beside those on stimuli of known kinds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bsjax.labelled.aggregate import mean_score, nan_median
from bsjax.labelled.align import aligned, coordinate, listed
from bsjax.labelled.settings import whole_number
from bsjax.scoring.arrays import assemblies_of, loaded
from bsjax.scoring.display.bars import shown

if TYPE_CHECKING:
    from bsjax.labelled import Score

_LEAST = 6  # stimuli of a group, so that a correlation over half of it has some meaning


@dataclass(frozen=True)
class Generalisation:
    """Scores on known and on unknown kinds of stimuli; see :func:`generalisation`.

    Attributes:
        within: mean score over groups of which some stimuli were trained on.
        beyond: mean score over groups of which none were.
        loss: ``within - beyond``, paired by group.
        splits: a row per split: its ``group``, whether that was ``held_out``, the ``score``, the mean ``distance`` of
            test stimuli to the nearest training stimulus, and the numbers ``train`` and ``test``.

    Example:
        >>> from bsjax.labelled import Score
        >>> Generalisation(Score(0.6), Score(0.5), Score(0.1), pd.DataFrame())
        within 0.600, beyond 0.500 over 0 splits
    """

    within: Score
    beyond: Score
    loss: Score
    splits: pd.DataFrame

    def __repr__(self) -> str:
        return f"within {float(self.within):.3f}, beyond {float(self.beyond):.3f} over {len(self.splits)} splits"


def stimulus_groups(values: Any, groups: int = 5, seed: int = 1) -> NDArray[Any]:
    """Group stimuli by category, by quantiles of a quantity, or by clusters of features.

    As a coordinate, the groups make splits that any cross-validated metric takes: with
    ``crossvalidation_kwargs={"group_coord": NAME, "kfold": True, "splits": 5}``, each fold tests on whole groups.

    Args:
        values: labels ``(stimuli,)``, which are the groups; real numbers ``(stimuli,)``, such as hue or contrast, which
            are divided at their quantiles; or features ``(stimuli, ...)``, such as pixels, which are clustered by
            k-means.
        groups: number of quantiles or clusters. Equal numbers are never separated, which may leave fewer.
        seed: seed of k-means.

    Returns:
        The group of each stimulus, ``(stimuli,)``.

    Raises:
        ValueError: values are missing, or ``groups`` is not a whole number from 2 to the number of stimuli.

    Source: MacQueen 1967 (k-means).

    Example:
        >>> stimulus_groups([0.1, 0.9, 0.2, 0.8], groups=2)
        array([0, 1, 0, 1])
    """
    found = np.asarray(values)
    if pd.isna(found).any():
        raise ValueError("stimuli without a value belong to no group: leave them out")
    if found.ndim == 1 and found.dtype.kind != "f":
        return found
    if whole_number(groups, "groups", 2) > len(found):
        raise ValueError(f"{len(found)} stimuli make no {groups} groups: use fewer")
    if found.ndim == 1:
        return np.asarray(pd.qcut(found, groups, labels=False, duplicates="drop"))
    from sklearn.cluster import KMeans

    how: dict[str, Any] = {"n_init": 10, "random_state": seed}
    return KMeans(groups, **how).fit_predict(found.reshape(len(found), -1).astype(float))


def generalisation(
    source: Any,
    target: Any,
    by: Any,
    metric: str | Callable[..., Score] = "ridge",
    *,
    groups: int = 5,
    seed: int = 1,
    progress: bool | None = None,
    **metric_kwargs: Any,
) -> Generalisation:
    """Compare the score of a model on kinds of stimuli that were held out with that on kinds that were not.

    A regression is fitted twice for each half of each group of stimuli: to stimuli of other groups only, and to as many
    that include the other half of the group. Both are tested on the same stimuli, so that only the shift differs.

    Args:
        source: features ``(stimuli, units)``: an array, a table or an assembly.
        target: responses ``(stimuli, neuroids)``; rows are matched as in :func:`bsjax.score_arrays`.
        by: what groups the stimuli, see :func:`bsjax.stimulus_groups`: the name of a coordinate of the target, or
            values for each row of the target.
        metric: a name of :func:`bsjax.list_metrics` that cross-validates, or a metric object.
        groups: number of quantiles or clusters.
        seed: seed of clusters, halves and training stimuli.
        progress: True shows progress, False hides it. By default it is shown on a terminal and in notebooks.
        **metric_kwargs: further arguments of the metric.

    Returns:
        The two scores, their difference, with errors over groups, and a table of score against distance: the mean
        Euclidean distance to the nearest training stimulus, in ``by`` if that is numeric, else in features of the
        source.

    Raises:
        ValueError: there are fewer than two groups, a group has fewer than 6 stimuli, the coordinate is missing,
            stimuli differ, or the metric does not cross-validate.

    Source: Madan et al. 2024, "Benchmarking out-of-distribution generalization capabilities of DNN-based encoding
        models for the ventral visual cortex"; Roberts et al. 2017.

    Example:
        >>> import bsjax
        >>> rng = np.random.default_rng(0)
        >>> contrast, x = rng.uniform(size=200), rng.normal(size=(200, 6))
        >>> x[contrast < 0.8, :3] = 0  # features that vary at high contrast only
        >>> y = x @ rng.normal(size=(6, 6)) + 0.5 * rng.normal(size=(200, 6))
        >>> found = bsjax.generalisation(x, y, contrast)
        >>> found.within > found.beyond
        True
    """
    made = loaded(metric, None, metric_kwargs, interval=False)
    values = coordinate(target, by, "presentation", "target") if isinstance(by, str) else np.asarray(by)
    features, responses = assemblies_of({"source": source, "target": target})
    if len(values) != len(responses):
        raise ValueError(
            f"'by' needs a value for each of the {len(responses)} stimuli of the target, it has {len(values)}"
        )
    features = aligned(features, responses)
    labels = stimulus_groups(values, groups, seed)
    rows = _splits(labels, np.random.default_rng(seed))
    with shown(progress=progress):
        raw = np.asarray(made.at([split[2:] for split in rows])(features, responses).raw, float)
    table = pd.DataFrame({"group": [row[0] for row in rows], "held_out": [row[1] for row in rows]})
    table["score"] = nan_median(raw.reshape(len(rows), -1))
    numeric = values.ndim > 1 or values.dtype.kind == "f"
    places = (values if numeric else np.asarray(features)).reshape(len(values), -1).astype(float)
    table["distance"] = [_distance(places[test], places[train]) for _, _, train, test in rows]
    table["train"], table["test"] = [len(train) for *_, train, _ in rows], [len(test) for *_, test in rows]
    # Rows are two halves of each group, each held out and not.
    of_group = table["score"].to_numpy().reshape(-1, 2, 2).mean(axis=1)
    known: dict[str, Any] = {"provenance": made.provenance(), "n_units": responses.sizes["neuroid"]}

    def over_groups(each: np.ndarray, formula: str) -> Score:
        return mean_score(xr.DataArray(each, dims=["group"]), "group", formula=formula, **known)

    beyond, within = of_group.T
    loss = over_groups(within - beyond, "r - r")
    return Generalisation(over_groups(within, "r"), over_groups(beyond, "r"), loss, table)


def _splits(labels: NDArray[Any], rng: np.random.Generator) -> list[tuple[Any, bool, np.ndarray, np.ndarray]]:
    """The group, whether it is held out, and the rows for training and testing, for each half of each group."""
    codes, names = pd.factorize(labels, sort=True)
    if len(names) < 2:
        raise ValueError("all stimuli are of one group: generalisation needs two or more")
    few = names[np.bincount(codes) < _LEAST]
    if len(few):
        raise ValueError(f"too few stimuli, fewer than {_LEAST}, in {listed(few, 'group(s)')}: join groups")
    rows = []
    for code, name in enumerate(names):
        own, others = (rng.permutation(np.flatnonzero((codes == code) == mine)) for mine in (True, False))
        for side in (0, 1):
            test, rest = own[side::2], own[1 - side :: 2][: len(others) // 2]
            known = np.concatenate([rest, others[len(rest) :]])
            rows += [
                (name, held_out, np.sort(train), np.sort(test)) for held_out, train in ((True, others), (False, known))
            ]
    return rows


def _distance(test: np.ndarray, train: np.ndarray) -> float:
    from sklearn.metrics import pairwise_distances_argmin_min

    return float(pairwise_distances_argmin_min(test, train)[1].mean())
