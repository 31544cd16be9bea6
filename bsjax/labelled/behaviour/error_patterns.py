"""Error patterns of observers: confusions of objects, accuracy by condition, images on which model and people part."""

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
    numbered,
    refuse_other_truths,
    refuse_repeated,
)

_NUMBER = re.compile(r"(\d+(?:\.\d+)?)")


def confusion_matrix(choices: xr.DataArray) -> xr.DataArray:
    """How often each object is taken for each: the share of the trials of a truth with each response.

    Trials of all subjects count alike; those without a response (NaN, None) do not.

    Args:
        choices: one a presentation, with ``stimulus_id`` and ``truth``.

    Returns:
        (truth, response), float64: rows sum to 1. Objects come in the same order on both, then the responses that are
        no object, such as "na". Coordinate ``n`` on truth: the number of trials.

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
        choices: one a presentation, with ``stimulus_id``, ``truth`` and ``condition``; with ``subject``, or of one
            observer.

    Returns:
        (condition, subject), float64, NaN for a condition that a subject has not done; conditions in the order of the
        numbers in them. Without a coordinate ``subject`` there is one, ``""``.

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
    """By how much a model is right more often than people on each image: 1 where only it is right, -1 where only they.

    Args:
        model: its choices, one an image, with ``stimulus_id`` and ``truth``; with ``condition`` if people's have it.
        people: theirs, with ``subject`` in any number for an image.

    Returns:
        (presentation), float64, the farthest from 0 first, equal ones by condition and stimulus. Coordinates:
        ``stimulus_id``, ``truth``, ``condition`` if there is one, ``response`` of the model, ``people_right``, the
        share of people who are right, ``people_response``, what most of them say (the first by name of equally
        frequent ones), and ``n_people``.

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
    numbered(tables, sides, by)
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
    """Conditions in the order of the numbers in them, and of the text between.

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
