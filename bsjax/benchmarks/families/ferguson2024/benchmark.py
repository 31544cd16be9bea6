"""Search for an odd one out: Ferguson, Ngo, Lee, DiCarlo & Schrimpf (2024).

People said whether all items of an image were the same or one was odd, among 1, 5 or 11 others. In the first block the
one kind of item was odd among the other, in the second the other among the one: a search asymmetry is a difference
between the two. A model learns the two answers from other images of the experiment.

An accuracy a is corrected for the trials on which people guess, :math:`(a - l/2) / (1 - l)` with the lapse rate l of
the experiment. The asymmetry is the integral over 1 to 11 other items of the accuracy in the second block less that in
the first, along straight lines between the three numbers of items, and a model is compared with people by it.

The ceilings are the authors' numbers. With ``ceiling="computed"`` they are computed from people's trials.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, cast

import numpy as np
import pandas as pd
import xarray as xr

from bsjax.benchmarks.ceilings import Ceiling, constant_ceiling
from bsjax.benchmarks.kinds.behavioural import BehavioralBenchmark
from bsjax.benchmarks.lazy_loading import LazyLoad, loader
from bsjax.benchmarks.prepare.choices import known_or_computed, most_probable
from bsjax.benchmarks.rows.behaviours import behavior_rows, fields_of
from bsjax.data import BehavioralAssembly, StimulusSet, load_dataset, load_stimulus_set
from bsjax.data.types.merging import merge_stimulus_set
from bsjax.labelled import Provenance, Score, load_metric
from bsjax.labelled.aggregate import error_over, nan_mean, over
from bsjax.labelled.align import coordinate, listed

BLOCKS, OTHERS = ("first", "second"), (1, 5, 11)

_SOURCE = "500 split halves of people's trials, computed offline by the authors"
_CELLS = [(block, others) for block in BLOCKS for others in OTHERS]
# Trapezoids over 1 to 5 and 5 to 11 items: the weights of the differences at 1, 5 and 11.
_WEIGHTS = np.array([2.0, 5.0, 3.0])


class AsymmetryDelta:
    r"""Nearness of two search asymmetries, exp(-s|a-b|).

    The asymmetry is an integral over the number of other items (the description of the module says of what); an
    accuracy is a person's own, and averaged over people. The error is that of people's integral, the standard error
    over people, carried over by the delta method. ``raw`` has both integrals.

    Args:
        lapse_rate: share of trials on which people guess, from 0 to below 1.
        scale: s, how steeply the nearness falls; by default as the authors chose.
        splits: how many times a ceiling halves the trials.

    Raises:
        ValueError: the lapse rate is no share.

    Source: Ferguson et al. (2024), OSF.

    Example:
        >>> coords = {"participant_id": ["a"] * 6, "block": ["first"] * 3 + ["second"] * 3,
        ...     "distractor_nums": ["1.0", "5.0", "11.0"] * 2, "correct": [1, 0, 0, 1, 1, 1]}
        >>> person = xr.DataArray(np.zeros(6), {n: ("presentation", c) for n, c in coords.items()}, ["presentation"])
        >>> AsymmetryDelta(lapse_rate=0.0)(person, person).raw.values.tolist()
        [8.0, 8.0]
    """

    def __init__(self, lapse_rate: float, scale: float = 0.75, splits: int = 500) -> None:
        if not 0 <= lapse_rate < 1:
            raise ValueError(f"lapse_rate must be a share of the trials, from 0 to below 1, got {lapse_rate}")
        self.lapse_rate = lapse_rate
        self.scale = scale
        self.splits = splits

    def __call__(self, source: xr.DataArray, target: xr.DataArray) -> Score:
        """Compares a model with all people together.

        Args:
            source, target: one trial a presentation, with ``participant_id``, ``block`` ("first" or "second"),
                ``distractor_nums`` (1, 5 or 11) and ``correct`` (1, 0, or NaN without an answer).

        Raises:
            ValueError: a coordinate is missing, has other values, or a block lacks trials of a number of items.
        """
        (model, _), (people, error) = (self._integral(*side) for side in ((source, "source"), (target, "target")))
        score = load_metric("value_delta", scale=self.scale)(model, people)
        return dataclasses.replace(
            score,
            error=None if error is None else self.scale * float(score) * error,
            error_kind="" if error is None else "standard error over people, by the delta method",
            provenance=score.provenance.with_details(lapse_rate=self.lapse_rate),
        )

    def ceiling(self, assembly: xr.DataArray) -> Score:
        """How near the asymmetries in two halves of the trials are, over many halvings: mean and standard deviation.

        Args:
            assembly: as ``target``.

        Raises:
            ValueError: a coordinate is missing, or has other values.
        """
        trials = _Trials(assembly, "assembly")
        # Halved as Brain-Score does, a seed each, so that the numbers are the same.
        orders = np.stack([np.random.RandomState(seed).permutation(trials.n) for seed in range(self.splits)])
        first = np.zeros(orders.shape, bool)
        np.put_along_axis(first, orders[:, : trials.n // 2], True, axis=1)
        one, two = (_integrals(self._accuracies(trials, half)) for half in (first, ~first))
        raw = np.exp(-self.scale * np.abs(one - two))
        return over(
            xr.DataArray(raw, dims=["split"]),
            "split",
            what="halvings of the trials",
            kind="standard deviation",
            ddof=0,
            formula="exp(-s|a-b|)",
            n_units=trials.n,
            provenance=Provenance(
                metric="asymmetry_delta.ceiling", settings={"scale": self.scale, "lapse_rate": self.lapse_rate}
            ),
        )

    def _integral(self, assembly: xr.DataArray, what: str) -> tuple[float, float | None]:
        """The integral of all people together, and its standard error over those who have done everything."""
        trials = _Trials(assembly, what)
        accuracies = self._accuracies(trials, np.ones((1, trials.n), bool))
        empty = [cell for cell, none in zip(_CELLS, np.isnan(accuracies[0]).all(axis=0), strict=True) if none]
        if empty:
            lost = listed([f"{block} block, {others} others" for block, others in empty], "conditions")
            raise ValueError(f"{what} has no trial in {lost}, so that there is no integral")
        return float(_integrals(accuracies)[0]), error_over(_integrals(accuracies[0][:, None, :]), "people")["error"]

    def _accuracies(self, trials: _Trials, kept: np.ndarray) -> np.ndarray:
        """Corrected accuracies ``(splits, people, cells)`` of the trials that are kept, ``(splits, trials)``."""
        splits, size = len(kept), trials.people * len(_CELLS)
        split, trial = np.nonzero(kept & trials.answered)
        where = split * size + trials.cell[trial]
        right = np.bincount(where, trials.correct[trial], splits * size)
        count = np.bincount(where, minlength=splits * size)
        share = right / np.where(count > 0, count, math.nan)
        return ((share - self.lapse_rate / 2) / (1 - self.lapse_rate)).reshape(splits, trials.people, len(_CELLS))


class _Trials:
    """Trials as codes of the person and the cell (block and number of other items) together."""

    def __init__(self, assembly: xr.DataArray, what: str) -> None:
        who, names = pd.factorize(coordinate(assembly, "participant_id", "presentation", what))
        block = pd.Index(BLOCKS).get_indexer(pd.Index(coordinate(assembly, "block", "presentation", what)))
        others = coordinate(assembly, "distractor_nums", "presentation", what).astype(float)
        number = pd.Index([float(n) for n in OTHERS]).get_indexer(pd.Index(others))
        for codes, name, known in ((block, "block", BLOCKS), (number, "distractor_nums", OTHERS)):
            if (codes < 0).any():
                strange = listed(pd.unique(assembly[name].values[codes < 0]), name)
                raise ValueError(f"{what} has {strange}; expected {', '.join(map(str, known))}")
        self.correct = coordinate(assembly, "correct", "presentation", what).astype(float)
        self.answered = np.isfinite(self.correct)
        self.cell = who * len(_CELLS) + block * len(OTHERS) + number
        self.people, self.n = len(names), len(who)


def value_delta(identifier: str, ceiling: str = "known") -> BehavioralBenchmark:
    """How near a model's search asymmetry is to people's.

    Args:
        identifier: ``"Ferguson2024<experiment>-value_delta"``, e.g. ``"Ferguson2024color-value_delta"``.
        ceiling: ``"known"``, the published number with its error, or ``"computed"`` from people's trials.

    Raises:
        KeyError: no such benchmark.
        ValueError: another ``ceiling``.

    Example:
        >>> value_delta("Ferguson2024color-value_delta").ceiling
        Score(0.8970 ± 0.0720)
    """
    row = behavior_rows()[identifier]
    name = f"Ferguson2024_{row['experiment']}"
    trials = LazyLoad(lambda: _people(name))
    load_stimuli = loader(lambda: labelled_by_number(load_dataset(name).attrs["stimulus_set"]))
    metric = AsymmetryDelta(row["lapse_rate"])
    known = constant_ceiling(row["ceiling"], _SOURCE, error=row["ceiling_error"])
    return BehavioralBenchmark(
        identifier,
        trials,
        "probabilities",
        metric,
        fitting_stimuli=lambda: labelled_by_number(load_stimulus_set(f"{name}_training_stimuli")),
        stimuli=load_stimuli,
        answers=lambda probabilities: as_trials(most_probable(probabilities), load_stimuli()),
        ceiling_func=known_or_computed(ceiling, known, Ceiling(metric.ceiling, trials), identifier),
        **fields_of(row),
        about=f"how much better people found the odd item in one block than in the other ({row['experiment']})",
    )


def labelled_by_number(stimuli: StimulusSet) -> StimulusSet:
    """The stimuli with ``image_label``: "oddball" for even numbers of the image, "same" for odd ones.

    Example:
        >>> stimuli = StimulusSet({"stimulus_id": ["a", "b"], "image_number": [0, 1]})
        >>> labelled_by_number(stimuli)["image_label"].tolist()
        ['oddball', 'same']
    """
    number = stimuli["image_number"].astype(int)
    return cast("StimulusSet", stimuli.assign(image_label=np.where(number % 2 == 0, "oddball", "same")))


def as_trials(choices: BehavioralAssembly, stimuli: StimulusSet) -> BehavioralAssembly:
    """A model's choices as trials of one person.

    Images are numbered in each block: two with 1 other item, two with 5, two with 11, and again.

    Args:
        choices: "oddball" or "same" (presentation), with ``stimulus_id``.
        stimuli: with ``image_number``, ``image_label`` and ``block``.

    Example:
        >>> stimuli = StimulusSet({"stimulus_id": ["a"], "image_number": [2], "block": "first", "image_label": "same"})
        >>> choices = BehavioralAssembly(["oddball"], {"stimulus_id": ("presentation", ["a"])}, ["presentation"])
        >>> trials = as_trials(choices, stimuli)
        >>> trials["distractor_nums"].values.tolist(), trials["correct"].values.tolist()
        ([5], [0])
    """
    trials = merge_stimulus_set(choices, stimuli)
    number = trials["image_number"].values.astype(int)
    more: dict[str, Any] = {
        "participant_id": np.full(len(number), "model"),
        "distractor_nums": np.array(OTHERS)[number % 6 // 2],
        "correct": (trials.values == trials["image_label"].values).astype(int),
    }
    return trials.assign_coords({name: ("presentation", values) for name, values in more.items()})


def _people(name: str) -> BehavioralAssembly:
    """People's trials but for those of the practice."""
    trials = load_dataset(name)
    return cast("BehavioralAssembly", trials.isel(presentation=np.flatnonzero(trials["trial_type"].values == "normal")))


def _integrals(accuracies: np.ndarray) -> np.ndarray:
    """The integral of each split of ``(splits, people, cells)``, of the mean accuracies."""
    mean = nan_mean(np.moveaxis(accuracies, 1, -1)).reshape(-1, len(BLOCKS), len(OTHERS))
    return (mean[:, 1] - mean[:, 0]) @ _WEIGHTS
