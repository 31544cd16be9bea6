"""Labelled responses as arrays of right answers by condition, observer and stimulus."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike

from bsjax.core.labels import remedy
from bsjax.labelled.align import STIMULUS, coordinate, listed, require, with_dims

PRESENTATION, SUBJECT, TRUTH, CONDITION = "presentation", "subject", "truth", "condition"
NAMES = {"stimuli": STIMULUS, "subjects": SUBJECT}
"""The coordinate of trials that identifies each drawn factor."""
_TRIAL = "number of the trial"


@dataclass(frozen=True)
class Observers:
    """Answers of several observers to the same trials.

    Attributes:
        right: 1 where an observer is right, else 0: ``(conditions, observers, trials)``, padded to the longest
            condition.
        present: True where an observer has answered.
        names: names of the observers.
        stimuli: identifiers of the stimuli.
        shown: the position in ``stimuli`` of each trial's stimulus, ``(conditions, trials)``; -1 in the padding.
    """

    right: np.ndarray
    present: np.ndarray
    names: np.ndarray
    stimuli: np.ndarray
    shown: np.ndarray


def read(assembly: xr.DataArray, names: Sequence[str], what: str, missing: Collection[str] = ()) -> list[np.ndarray]:
    """The values of required coordinates of the presentations, of which those in ``missing`` may be NaN or None.

    Raises:
        ValueError: a coordinate or one of its values is missing; the message names all missing coordinates.
    """
    hint = "; a model's answers have the columns of the stimuli that it was shown" if what == "source" else ""
    require(assembly, {PRESENTATION: names}, what, hint=hint)
    return [coordinate(assembly, name, PRESENTATION, what, missing=name in missing) for name in names]


def refuse_where(bad: Any, labels: np.ndarray, name: str, problem: str, remedy: str = "") -> None:
    """Refuses rows of an assembly, whose labels are listed between the problem and its remedy.

    Raises:
        ValueError: any of ``bad`` is True.
    """
    if bad.any():
        raise ValueError(f"{problem} {listed(pd.unique(labels[bad]), name)}{remedy}")


def one_choice(assembly: xr.DataArray, what: str) -> xr.DataArray:
    """The assembly with presentation as its only dimension; a ``choice`` dimension of length 1 is dropped.

    Raises:
        ValueError: other dimensions, or several choices per presentation.
    """
    if "choice" in assembly.dims and assembly.sizes["choice"] == 1:
        assembly = assembly.isel(choice=0, drop=True)
    if assembly.dims != (PRESENTATION,):
        has = ", ".join(f"{dim} ({n})" for dim, n in assembly.sizes.items()) or "none"
        remedy = (
            ""
            if "choice" not in assembly.dims
            else ("; for the probabilities of choices, give the benchmark answers=bsjax.benchmarks.most_probable")
        )
        raise ValueError(f"{what} must hold one response per presentation; its dimensions are: {has}{remedy}")
    return assembly


def chosen(probabilities: xr.DataArray, what: str) -> np.ndarray:
    """The most probable choice of every presentation; the first among equally probable ones.

    Raises:
        ValueError: dimensions other than presentation and choice, or probabilities that are NaN.
    """
    values = np.asarray(with_dims(probabilities, what, PRESENTATION, "choice").values, float)
    missing = np.isnan(values).any(axis=1)
    if missing.any():
        raise ValueError(f"{what} is NaN in {missing.sum()} of {len(values)} presentations: leave those out")
    return coordinate(probabilities, "choice", "choice", what)[values.argmax(axis=1)]


def answered(responses: ArrayLike, no_response: Collection[str] = ()) -> np.ndarray:
    """Mask of given responses: not NaN, None or NaT, and not among the words for no response."""
    values = pd.Series(np.asarray(responses), dtype=object)
    return (values.notna() & ~values.isin(list(no_response))).to_numpy()


def equal(responses: ArrayLike, truth: ArrayLike) -> np.ndarray:
    """Mask of responses that equal the truth.

    Raises:
        ValueError: one side is text and the other numbers, of which none would be equal.
    """
    first = [next(iter(pd.Series(np.ravel(side), dtype=object).dropna()), None) for side in (responses, truth)]
    text = [isinstance(value, str) for value in first if value is not None]
    if len(set(text)) > 1:
        raise ValueError(f"responses such as {first[0]!r} cannot equal truths such as {first[1]!r}: give both as text")
    return np.asarray(np.asarray(responses, object) == np.asarray(truth, object), bool)


def judged_responses(
    assembly: xr.DataArray,
    what: str,
    by: Sequence[str],
    no_response: Collection[str] = (),
    observer: str | None = None,
    truth: Any = None,
) -> pd.DataFrame:
    """One row per trial: ``stimulus_id``, the coordinates ``by``, ``response``, ``answered``, ``right``, ``observer``.

    Args:
        assembly: one response per presentation, with ``truth``, which then becomes a column too.
        what: the assembly's name in messages.
        by: coordinates to include.
        no_response: words that count as no response.
        observer: the coordinate that names the observer; a single observer if None.
        truth: a series of truths by ``stimulus_id``, used instead of the coordinate.

    Raises:
        ValueError: a coordinate is missing, or the assembly does not hold one response per presentation.
    """
    assembly = one_choice(assembly, what)
    names = [STIMULUS, *by, *([TRUTH] if truth is None else []), *([observer] if observer else [])]
    columns = dict(zip(names, read(assembly, names, what), strict=True))
    table = pd.DataFrame({**columns, "response": np.asarray(assembly.values)})
    return table.assign(
        answered=answered(assembly.values, no_response),
        right=equal(table["response"], table[TRUTH] if truth is None else table[STIMULUS].map(truth)),
        observer=table[observer] if observer else 0,
    )


def refuse_other_truths(tables: Sequence[pd.DataFrame], names: Sequence[str], by: Sequence[str] = ()) -> None:
    """Refuses tables of responses with different truths for one stimulus, between tables or within one.

    Args:
        tables: with ``stimulus_id``, ``truth`` and the columns of ``by``; tables without a truth are ignored.
        names: names of the tables in messages.
        by: columns, such as conditions, that separate trials of one stimulus whose truths may differ.

    Raises:
        ValueError: a stimulus has several truths; the message names it and the first two truths.
    """
    trial = [*by, STIMULUS]
    stated = [
        table.loc[:, [*trial, TRUTH]].drop_duplicates().assign(said_by=name)
        for table, name in zip(tables, names, strict=True)
        if {TRUTH, *trial} <= set(table.columns)
    ]
    if not stated:
        return
    every: pd.DataFrame = pd.concat(stated, ignore_index=True).drop_duplicates([*trial, TRUTH])
    unclear = pd.DataFrame(every[every.duplicated(trial, keep=False)])
    if not len(unclear):
        return
    _, first = next(iter(unclear.groupby(trial, sort=False, dropna=False)))
    said = [f"{truth!r} in {name}" for truth, name in zip(first[TRUTH], first["said_by"], strict=True)]
    raise ValueError(
        f"{' and '.join(names)} {'give' if len(names) > 1 else 'gives'} several truths for "
        f"{listed(pd.unique(np.asarray(unclear[STIMULUS])), STIMULUS)}; the first is {' and '.join(said[:2])}. "
        "Give each stimulus one truth"
    )


def truth_table(assembly: xr.DataArray) -> pd.DataFrame:
    """The columns ``stimulus_id`` and ``truth`` of an assembly, or those of them that it has."""
    known = assembly.coords
    return pd.DataFrame({name: known[name].values for name in (STIMULUS, TRUTH) if name in known and known[name].ndim})


def laid_out(
    tables: Sequence[pd.DataFrame], names: Sequence[str], by: Sequence[str]
) -> tuple[list[Observers], pd.DataFrame]:
    """Tables of responses as arrays with the same layout of conditions and stimuli.

    Args:
        tables: with ``stimulus_id``, the columns of ``by``, ``right``, ``answered`` and ``observer``.
        names: names of the tables in messages.
        by: the columns whose combinations are the conditions; one condition if empty.

    Returns:
        The observers of every table, and the conditions in sorted order.

    Raises:
        ValueError: an observer answers the same trial twice, the tables hold different stimuli or none, or a trial has
            several truths.
    """
    by = list(by)
    for table, name in zip(tables, names, strict=True):
        refuse_repeated(table, name, by)
    refuse_other_truths(tables, names, by)
    every = of_same_trials(tables, names, by)
    condition: Any = every.groupby(by, sort=True, dropna=False).ngroup() if by else 0 * every[_TRIAL]
    # Trials are numbered condition by condition, so the trials of a condition have consecutive numbers.
    place: Any = every[_TRIAL] - every[_TRIAL].groupby(condition).transform("min")
    shape = condition.max() + 1, place.max() + 1
    observers = [_filled(every.loc[[name]], condition.loc[[name]], place.loc[[name]], shape) for name in names]
    return observers, every[by].iloc[np.unique(condition, return_index=True)[1]]


def refuse_repeated(table: pd.DataFrame, name: str, by: Sequence[str]) -> None:
    """Refuses a table without trials, or with repeated trials of an observer.

    Raises:
        ValueError: the table has no or repeated trials.
    """
    if not len(table):
        raise ValueError(f"{name} holds no trial")
    repeated = table.duplicated(["observer", *by, STIMULUS])
    same = " and ".join(["subject", *by])
    more = f" more than once for the same {same}: select one of the repetitions, or one subject"
    refuse_where(repeated.to_numpy(), table[STIMULUS].to_numpy(), STIMULUS, f"{name} holds", more)


def of_same_trials(tables: Sequence[pd.DataFrame], names: Sequence[str], by: Sequence[str]) -> pd.DataFrame:
    """All tables in one, with their names as index, and the number of each trial, condition by condition.

    Raises:
        ValueError: two tables hold different trials.
    """
    columns = [*by, STIMULUS]
    every = pd.concat(dict(zip(names, tables, strict=True))).droplevel(1)
    every[_TRIAL] = every.groupby(columns, sort=True, dropna=False).ngroup()
    only = []
    for name, other in zip(names, reversed(names), strict=True):
        alone = every.loc[~every[_TRIAL].isin(every.loc[[other], _TRIAL]), columns].drop_duplicates().astype(str)
        if len(alone):
            only.append(f"{listed(alone.agg(' '.join, axis=1), ' '.join(columns))} only in {name}")
    if only:
        remedies = [remedy(tables[0][column], tables[1][column], names, column) for column in columns]
        both = " and ".join(names)  # the longest remedy is the most specific one
        raise ValueError(f"{both} hold different trials: {'; '.join(only)}. {max(remedies, key=len)}")
    return every


def _filled(table: pd.DataFrame, condition: Any, place: Any, shape: tuple[int, int]) -> Observers:
    """The answers of one table, given the condition of each trial and its place among those of the condition."""
    who, names = pd.factorize(np.asarray(table["observer"]), sort=True)
    right = np.zeros((shape[0], len(names), shape[1]))
    present = np.zeros(right.shape, bool)
    right[condition, who, place] = table["right"]
    present[condition, who, place] = table["answered"]
    code, stimuli = pd.factorize(np.asarray(table[STIMULUS]), use_na_sentinel=False)
    shown = np.full(shape, -1, np.int32)
    shown[condition, place] = code
    return Observers(right, present, np.asarray(names), np.asarray(stimuli), shown)
