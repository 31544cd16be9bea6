"""Search asymmetries: the difference between two blocks in finding the odd item, compared with people's."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import xarray as xr

from bsjax.labelled.aggregate import error_over, mean_and_deviation, nan_mean
from bsjax.labelled.align import DRAWN_ROW, listed
from bsjax.labelled.behaviour.responses import read, refuse_where
from bsjax.labelled.metric import Metric, WithCeiling
from bsjax.labelled.provenance import Provenance
from bsjax.labelled.score import Score
from bsjax.labelled.settings import finite_number, keep
from bsjax.metrics.behaviour.agreement import value_delta

BLOCKS, OTHERS = ("first", "second"), (1, 5, 11)
_CELLS = [(block, others) for block in BLOCKS for others in OTHERS]
# The weights of the differences at 1, 5 and 11 items, from the trapezoidal rule on 1 to 5 and 5 to 11 items.
_WEIGHTS = np.array([2.0, 5.0, 3.0])


@dataclass(frozen=True)
class ValueDelta(Metric):
    r"""Nearness of two numbers, :math:`e^{-s |a - b|}`: 1 where they are equal, falling to 0.

    Args:
        scale: the rate s at which it falls, per unit of the numbers.
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

    Raises:
        ValueError: a negative scale.

    Example:
        >>> ValueDelta()(1.5, 1.0)
        Score(0.6065, exp(-s|a-b|))
    """

    identifier = "value_delta"
    zero_by_chance = False

    scale: float = 1.0
    dtype: str | None = None

    def __post_init__(self) -> None:
        keep(self, scale=finite_number(self.scale, "scale"))

    def __call__(self, source_value: float, target_value: float) -> Score:
        """The nearness of the two numbers, without an error; NaN if either is NaN.

        Args:
            source_value, target_value: the model's number and the measured one.
        """
        both = np.array([source_value, target_value], float)
        value = float(self.run_kernel(value_delta, *both, scale=self.scale))
        raw = xr.DataArray(both, {"side": ["source", "target"]}, ["side"])
        lost = int(np.isnan(value))
        return Score(value, raw=raw, formula="exp(-s|a-b|)", n_undefined=lost, provenance=self.provenance())


@dataclass(frozen=True)
class AsymmetryDelta(WithCeiling):
    r"""Nearness of two search asymmetries, exp(-s|a-b|).

    The asymmetry is the integral, over 1 to 11 other items, of the accuracy in the second block minus that in the
    first, with linear interpolation between the three numbers of items. The accuracy a of each person is corrected for
    trials on which they guess, :math:`(a - l/2) / (1 - l)` with the lapse rate l, and averaged over people. The error
    is the standard error over people of their integral, carried over by the delta method. ``raw`` has both integrals.

    Args:
        lapse_rate: share of trials on which people guess, from 0 to below 1.
        scale: the rate s at which nearness falls; the default is the authors' choice.
        splits: number of halvings of the trials in a ceiling.

    Raises:
        ValueError: the lapse rate is not in this range.

    Source: Ferguson et al. (2024), OSF.

    Example:
        >>> coords = {"participant_id": ["a"] * 6, "block": ["first"] * 3 + ["second"] * 3,
        ...     "distractor_nums": ["1.0", "5.0", "11.0"] * 2, "correct": [1, 0, 0, 1, 1, 1]}
        >>> person = xr.DataArray(np.zeros(6), {n: ("presentation", c) for n, c in coords.items()}, ["presentation"])
        >>> AsymmetryDelta(lapse_rate=0.0)(person, person).raw.values.tolist()
        [8.0, 8.0]
    """

    identifier = "asymmetry_delta"
    needs = needs_of_source = ("participant_id", "block", "distractor_nums", "correct")

    lapse_rate: float
    scale: float = 0.75
    splits: int = 500

    def __post_init__(self) -> None:
        if not 0 <= self.lapse_rate < 1:
            raise ValueError(f"lapse_rate must be a share of the trials, from 0 to below 1, got {self.lapse_rate}")

    def __call__(self, source: xr.DataArray, target: xr.DataArray) -> Score:
        """Compares a model with all people together.

        Args:
            source, target: one trial per presentation, with ``participant_id``, ``block`` ("first" or "second"),
                ``distractor_nums`` (1, 5 or 11) and ``correct`` (1, 0, or NaN without an answer).

        Raises:
            ValueError: a coordinate is missing or has other values, or a block has no trials with a number of items.
        """
        (model, _), (people, error) = (self._integral(*side) for side in ((source, "source"), (target, "target")))
        score = ValueDelta(self.scale)(model, people)
        return replace(
            score,
            error=None if error is None else self.scale * float(score) * error,
            error_kind="" if error is None else "standard error over people, by the delta method",
            provenance=replace(score.provenance, metric=self.identifier, settings=self.own_settings()),
        )

    def ceiling(self, assembly: xr.DataArray) -> Score:
        """Nearness of the asymmetries in two halves of the trials: mean and standard deviation over many halvings.

        Args:
            assembly: as ``target``.

        Raises:
            ValueError: a coordinate is missing or has other values.
        """
        trials = _Trials(assembly, "assembly")
        # Halved with Brain-Score's seeds, one per halving, so that the numbers are the same.
        copied = assembly[DRAWN_ROW].values if DRAWN_ROW in assembly.coords else np.arange(trials.n)
        which, different = pd.factorize(copied)
        orders = np.stack([np.random.RandomState(seed).permutation(len(different)) for seed in range(self.splits)])
        first = (orders.argsort(axis=1) < len(different) // 2)[:, which]
        one, two = (_integrals(self._accuracies(trials, half)) for half in (first, ~first))
        raw = np.exp(-self.scale * np.abs(one - two))
        made = Provenance(metric=f"{self.identifier}.ceiling", settings=self.own_settings())
        halvings = xr.DataArray(raw, dims=["split"])
        return mean_and_deviation(halvings, "halvings of the trials", "exp(-s|a-b|)", made, n_units=trials.n)

    def _integral(self, assembly: xr.DataArray, what: str) -> tuple[float, float | None]:
        """The integral of all people together, and its standard error over people with trials in all cells."""
        trials = _Trials(assembly, what)
        accuracies = self._accuracies(trials, np.ones((1, trials.n), bool))
        empty = [cell for cell, none in zip(_CELLS, np.isnan(accuracies[0]).all(axis=0), strict=True) if none]
        if empty:
            lost = listed([f"{block} block, {others} others" for block, others in empty], "conditions")
            raise ValueError(f"{what} has no trial in {lost}, so that there is no integral")
        return float(_integrals(accuracies)[0]), error_over(_integrals(accuracies[0][:, None, :]), "people")["error"]

    def _accuracies(self, trials: _Trials, kept: np.ndarray) -> np.ndarray:
        """Corrected accuracies ``(splits, people, cells)`` of the kept trials, a mask ``(splits, trials)``."""
        splits, size = len(kept), trials.people * len(_CELLS)
        split, trial = np.nonzero(kept & trials.answered)
        where = split * size + trials.cell[trial]
        right = np.bincount(where, trials.correct[trial], splits * size)
        count = np.bincount(where, minlength=splits * size)
        share = right / np.where(count > 0, count, math.nan)
        return ((share - self.lapse_rate / 2) / (1 - self.lapse_rate)).reshape(splits, trials.people, len(_CELLS))


class _Trials:
    """Trials as joint codes of person and cell (block and number of other items)."""

    def __init__(self, assembly: xr.DataArray, what: str) -> None:
        needs = AsymmetryDelta.needs
        participant, blocks, others, correct = read(assembly, needs, what, missing=["distractor_nums", "correct"])
        who, names = pd.factorize(participant)
        block = pd.Index(BLOCKS).get_indexer(pd.Index(blocks))
        number = pd.Index(OTHERS, dtype=float).get_indexer(pd.Index(others.astype(float)))
        refuse_where(block < 0, blocks, "block", f"{what} has", f"; expected {', '.join(BLOCKS)}")
        refuse_where(number < 0, others, "distractor_nums", f"{what} has", f"; expected {', '.join(map(str, OTHERS))}")
        self.correct = correct.astype(float)
        self.answered = np.isfinite(self.correct)
        self.cell = who * len(_CELLS) + block * len(OTHERS) + number
        self.people, self.n = len(names), len(who)


def _integrals(accuracies: np.ndarray) -> np.ndarray:
    """The integral of each split of ``(splits, people, cells)``, from accuracies averaged over people."""
    mean = nan_mean(np.moveaxis(accuracies, 1, -1)).reshape(-1, len(BLOCKS), len(OTHERS))
    return (mean[:, 1] - mean[:, 0]) @ _WEIGHTS
