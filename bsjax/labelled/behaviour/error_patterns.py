"""Error patterns: confusions of objects, accuracy by condition, and images on which model and people diverge."""

import re
from collections.abc import Iterable

import numpy as np
import pandas as pd
import xarray as xr

from bsjax.labelled.align import STIMULUS
from bsjax.labelled.behaviour.responses import (
    CONDITION,
    PRESENTATION,
    SUBJECT,
    TRUTH,
    judged_responses,
    of_same_trials,
    refuse_other_truths,
    refuse_repeated,
)

_NUMBER = re.compile(r"(\d+(?:\.\d+)?)")


def confusion_matrix(choices: xr.DataArray) -> xr.DataArray:
    """The confusion matrix: the share of each response among the trials of each true object.

    Trials are pooled over subjects; trials without a response (NaN, None) are left out.

    Args:
        choices: one per presentation, with ``stimulus_id`` and ``truth``.

    Returns:
        (truth, response), float64: rows sum to 1. Both axes have the objects in the same order, followed by responses
        that are no object, such as "na". Coordinate ``n`` on truth: the number of trials.

    Raises:
        ValueError: a coordinate is missing, a stimulus has several truths, or there is no response.

    Example:
        >>> shown = {"stimulus_id": ("presentation", [1, 2, 3]), "truth": ("presentation", ["cat", "cat", "dog"])}
        >>> matrix = confusion_matrix(xr.DataArray(["cat", "na", "cat"], shown, ["presentation"]))
        >>> matrix["response"].values.tolist(), matrix.values.tolist()
        (['cat', 'dog', 'na'], [[0.5, 0.0, 0.5], [1.0, 0.0, 0.0]])
    """
    table = _table(choices, "choices", [])
    truths = sorted(table[TRUTH].unique())
    responses = truths + sorted(set(table["response"].unique()) - set(truths))
    counts = pd.crosstab(table[TRUTH], table["response"]).reindex(index=truths, columns=responses, fill_value=0)
    n = counts.to_numpy(float).sum(axis=1)
    return xr.DataArray(
        counts.to_numpy(float) / n[:, None],
        dims=[TRUTH, "response"],
        coords={TRUTH: truths, "response": responses, "n": (TRUTH, n.astype(int))},
    )


def accuracy_by_condition(choices: xr.DataArray) -> xr.DataArray:
    """Share of right answers of each subject in each condition.

    Args:
        choices: one per presentation, with ``stimulus_id``, ``truth`` and ``condition``; and with ``subject`` if there
            are several observers.

    Returns:
        (condition, subject), float64, NaN for conditions that a subject has not done. Conditions are sorted by the
        numbers in their names. Without a coordinate ``subject``, there is one subject, ``""``.

    Raises:
        ValueError: a coordinate is missing, a stimulus of a condition has several truths, or there is no response.

    Example:
        >>> shown = {"stimulus_id": [1, 2, 3], "truth": ["cat"] * 3, "condition": ["c10", "c5", "c10"]}
        >>> coords = {name: ("presentation", values) for name, values in shown.items()}
        >>> accuracy = accuracy_by_condition(xr.DataArray(["cat", "cat", "dog"], coords, ["presentation"]))
        >>> accuracy["condition"].values.tolist(), accuracy.values.tolist()
        (['c5', 'c10'], [[1.0], [0.5]])
    """
    observer = SUBJECT if SUBJECT in choices.coords else None
    table = _table(choices, "choices", [CONDITION], observer)
    if observer is None:
        table = table.assign(observer="")
    means = table.pivot_table("right", index=CONDITION, columns="observer", aggfunc="mean")
    means = means.loc[in_order(means.index)]
    coords = {CONDITION: means.index.to_numpy(), SUBJECT: means.columns.to_numpy()}
    return xr.DataArray(means.to_numpy(float), dims=[CONDITION, SUBJECT], coords=coords)


def divergence(model: xr.DataArray, people: xr.DataArray) -> xr.DataArray:
    """Difference in accuracy between a model and people on each image: 1 if only it is right, -1 if only they are.

    Args:
        model: its choices, one per image, with ``stimulus_id`` and ``truth``, and with ``condition`` if ``people``
            have it.
        people: people's choices, any number per image, with the same coordinates.

    Returns:
        (presentation), float64, sorted by distance from 0, the largest first, then by condition and stimulus.
        Coordinates: ``stimulus_id``, ``truth``, ``condition`` if given, the model's ``response``, ``people_right`` (the
        share of people who are right), ``people_response`` (their most frequent response; the first by name among
        equally frequent ones), and ``n_people``.

    Raises:
        ValueError: a coordinate is missing, the model has several answers to one image, the two hold different images,
            or an image has several truths.

    Example:
        >>> def choices(answers, ids):
        ...     shown = {"stimulus_id": ("presentation", ids), "truth": ("presentation", ["cat"] * len(ids))}
        ...     return xr.DataArray(answers, shown, ["presentation"])
        >>> apart = divergence(choices(["cat", "dog"], ["a", "b"]), choices(["cat", "cow", "cat", "cat"], list("aabb")))
        >>> apart["stimulus_id"].values.tolist(), apart.values.tolist()
        (['b', 'a'], [-1.0, 0.5])
    """
    by = [CONDITION] if CONDITION in people.coords else []
    sides, trial = ["model", "people"], [*by, STIMULUS]
    one, many = tables = [_table(side, what, by) for side, what in zip((model, people), sides, strict=True)]
    refuse_repeated(one, "model", by)
    refuse_other_truths(tables, sides, by)
    of_same_trials(tables, sides, by)
    trials = many.groupby(trial, sort=True)
    said = pd.DataFrame({"people_right": trials["right"].mean(), "n_people": trials.size()})
    said["people_response"] = trials["response"].agg(lambda given: given.value_counts().sort_index().idxmax())
    both = said.join(one.set_index(trial)[[TRUTH, "response", "right"]]).reset_index()
    both["value"] = both["right"].astype(float) - both["people_right"]
    both = both.sort_values("value", key=lambda value: -value.abs(), kind="stable")
    names = [*trial, TRUTH, "response", "people_right", "people_response", "n_people"]
    coords = {name: (PRESENTATION, both[name].to_numpy()) for name in names}
    return xr.DataArray(both["value"].to_numpy(float), coords=coords, dims=[PRESENTATION])


def in_order(conditions: Iterable[object]) -> list:
    """Conditions sorted by the numbers in their names, and by the text between the numbers.

    Example:
        >>> in_order(["c100", "c5", "inf", "c10"])
        ['c5', 'c10', 'c100', 'inf']
    """

    def key(condition: object) -> list[tuple[float, str]]:
        parts = _NUMBER.split(str(condition))
        return [(float(part), "") if n % 2 else (np.inf, part) for n, part in enumerate(parts)]

    return sorted(conditions, key=key)


def _table(choices: xr.DataArray, what: str, by: list[str], observer: str | None = None) -> pd.DataFrame:
    table = judged_responses(choices, what, by, observer=observer)
    refuse_other_truths([table], [what], by)
    table = pd.DataFrame(table[table["answered"]])
    if not len(table):
        raise ValueError(f"{what} holds no response")
    return table
