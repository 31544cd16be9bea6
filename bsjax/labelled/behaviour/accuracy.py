"""Metrics that are shares of trials: accuracy, shape bias, and agreement on the odd one out of three."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bsjax.core.given_arrays import unmasked
from bsjax.labelled.aggregate import mean_and_deviation
from bsjax.labelled.align import STIMULUS, aligned
from bsjax.labelled.behaviour.responses import NAMES, PRESENTATION, answered, equal, one_choice, read, refuse_where
from bsjax.labelled.metric import InPrecision
from bsjax.labelled.resampling.draws import Drawn
from bsjax.labelled.score import Score
from bsjax.labelled.uncertainty import Uncertainty
from bsjax.metrics.behaviour.agreement import accuracy
from bsjax.metrics.resampling.behaviour import accuracy_bootstraps
from bsjax.metrics.resampling.influence import grouped_influence

TRIPLET = ("image_1", "image_2", "image_3")
"""The coordinates of a triplet's images; people chose the third one."""


class _Shares(InPrecision):
    """The base class of metrics that are shares of trials."""

    @abstractmethod
    def _trials(self, source: Any, target: Any) -> tuple[np.ndarray, np.ndarray]:
        """Masks of the trials that are right, and of those that count."""

    def _share(self, source: Any, target: Any, formula: str) -> Score:
        right, present = self._trials(source, target)
        raw = np.where(present, right, np.nan)
        value = float(self.run_kernel(accuracy, right.astype(float), present))
        known = {"value": value, "n_units": len(present), "uncertainty": _of_a_share(raw, target)}
        trials = xr.DataArray(raw, dims=[PRESENTATION])
        return mean_and_deviation(trials, "trials", formula, self.provenance(), **known)

    def drawn_values(self, drawn: Drawn, source: Any, target: xr.DataArray) -> dict[str, Any]:
        """Its values in every draw of stimuli and subjects, see :func:`bsjax.labelled.metric.scored`.

        The weight of a trial is the number of copies of its stimulus times that of its subject.
        """
        right, present = self._trials(source, target)
        codes = {factor: drawn.codes(factor, target[NAMES[factor]].values) for factor in drawn.plan.factors}

        def shares(together: Sequence[str]) -> np.ndarray:
            counts, of_trials = (tuple(each[factor] for factor in together) for each in (drawn.counts, codes))
            return self.run_kernel(accuracy_bootstraps, right.astype(float), present, counts, of_trials)

        return {"values": drawn.in_passes(shares)}


class Accuracy(_Shares):
    """Share of trials on which source and target are equal, e.g. a model's choices and the truth.

    A trial without a response (NaN or None on either side) is left out and counted in ``n_undefined``; ``n_units``
    counts all trials. The score is NaN if no trial is left. ``raw`` has 1, 0 or NaN for every trial.

    Args:
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

    Example:
        >>> Accuracy()([5, 3, 6, 7, 1, 8], [5, 2, 1, 7, 1, 9])
        Score(0.5000 ± 0.5000 [-0.0748, 1.0748], share of trials)
    """

    identifier = "accuracy"
    zero_by_chance = False

    def __call__(self, source: Any, target: Any) -> Score:
        """Compares the responses trial by trial.

        Args:
            source, target: responses, one per presentation. Two assemblies with ``stimulus_id`` are matched by it;
                others, such as arrays or columns of a stimulus set, are matched by position.

        Returns:
            The share of equal responses. Its error is the population standard deviation over trials, as in Brain-Score,
            not a standard error. The interval is for independent trials, or for stimuli if they are identified.

        Raises:
            ValueError: different stimuli, or different numbers of trials.
        """
        return self._share(source, target, "share of trials")

    def _trials(self, source: Any, target: Any) -> tuple[np.ndarray, np.ndarray]:
        responses, truth = _paired(source, target)
        return equal(responses, truth), answered(responses) & answered(truth)


class ShapeBias(_Shares):
    """Share of shape choices among all choices of shape or texture: ``shape / (shape + texture)``.

    NaN if neither is ever chosen. The error is the standard error of a share of ``n`` choices,
    ``sqrt(b (1 - b) / n)``. ``raw`` has 1 (shape), 0 (texture) or NaN (neither) for every trial; ``n_units`` counts all
    trials, ``n_undefined`` those with neither.

    Args:
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

    Source: Geirhos et al. 2019; Hermann, Chen & Kornblith 2020.

    Example:
        >>> cues = xr.DataArray(["cat", "car", "dog"], dims=["presentation"], coords={
        ...     "stimulus_id": ("presentation", [1, 2, 3]), "texture": ("presentation", ["dog", "dog", "car"])})
        >>> choices = xr.DataArray(["cat", "dog", "cup"], {"stimulus_id": cues["stimulus_id"]}, ["presentation"])
        >>> ShapeBias()(choices, cues)
        Score(0.5000 ± 0.3536 [-5.8531, 6.8531], shape/(shape+texture))
    """

    identifier = "shape_bias"
    needs = (STIMULUS, "texture")
    needs_of_source = (STIMULUS,)

    def __call__(self, source: xr.DataArray, target: xr.DataArray) -> Score:
        """Scores how often the shape is chosen.

        Args:
            source: choices, one per presentation, with ``stimulus_id``.
            target: the shapes of the same stimuli, with their ``texture``.

        Raises:
            ValueError: a coordinate is missing, or the two hold different stimuli.
        """
        score = self._share(source, target, "shape/(shape+texture)")
        if score.error is None:
            return score
        decisions = (score.n_units or 0) - score.n_undefined
        error = float(np.sqrt(score.value * (1 - score.value) / decisions))
        return replace(score, error=error, error_kind="standard error of a share")

    def _trials(self, source: xr.DataArray, target: xr.DataArray) -> tuple[np.ndarray, np.ndarray]:
        _, texture = read(target, self.needs, "target")
        choices = aligned(one_choice(source, "source"), target).values
        right = equal(choices, target.values)
        return right, (right | equal(choices, texture)) & answered(choices) & answered(target.values)


def same_choices(answers: xr.DataArray, people: xr.DataArray) -> Score:
    """Share of the triplets of which a model picks the image that people picked.

    Args:
        answers: the ``stimulus_id`` of the odd one of each triplet, in the order of ``people``.
        people: with ``image_1`` to ``image_3``; people chose the third.

    Raises:
        ValueError: the number of answers is not that of triplets, or an answer is not in its triplet.

    Example:
        >>> images = {"image_1": ["a", "a"], "image_2": ["b", "c"], "image_3": ["c", "d"]}
        >>> triplets = {name: ("presentation", ids) for name, ids in images.items()}
        >>> people = xr.DataArray(["c", "d"], coords=triplets, dims=["presentation"])
        >>> same_choices(xr.DataArray(["c", "a"], dims=["presentation"]), people).value
        0.5
    """
    chosen = np.asarray(one_choice(answers, "the answers").values, object)
    images = triplets(people).astype(object)
    if len(chosen) != len(images):
        raise ValueError(f"there are {len(images)} triplets, and {len(chosen)} answers")
    outside = ~(images == chosen[:, None]).any(axis=1)
    problem = "an answer must be the stimulus_id of the odd one of its triplet; other answers:"
    refuse_where(outside, chosen, "answer", problem)
    return Accuracy()(chosen, images[:, -1])


def triplets(people: xr.DataArray) -> np.ndarray:
    """The three images of each triplet, ``(triplets, 3)``."""
    return np.stack([people[name].values for name in TRIPLET], axis=1)


def _of_a_share(raw: np.ndarray, target: Any) -> Uncertainty | None:
    """The uncertainty of the mean over trials, grouped by stimulus; None for fewer than two stimuli."""
    ids = target[STIMULUS].values if isinstance(target, xr.DataArray) and STIMULUS in target.coords else None
    finite = np.isfinite(raw)
    if finite.sum() < 2:
        return None
    groups = None if ids is None else pd.factorize(ids[finite])[0]
    adds, dof = grouped_influence((raw[finite] - raw[finite].mean()) / finite.sum(), groups=groups)
    what = "trials" if ids is None else "stimuli"
    words = f"standard error of a share over {dof + 1} {what}"
    return Uncertainty((what,), float(np.linalg.norm(adds)), words, dof=dof) if dof else None


def _paired(source: Any, target: Any) -> tuple[np.ndarray, np.ndarray]:
    sides: list[Any] = [
        one_choice(side, what)
        if isinstance(side, xr.DataArray) and PRESENTATION in side.dims
        else np.asarray(unmasked(side, what))
        for side, what in ((source, "source"), (target, "target"))
    ]
    one, two = sides
    if all(isinstance(side, xr.DataArray) and STIMULUS in side.coords for side in sides):
        if not np.array_equal(one[STIMULUS].values, two[STIMULUS].values):  # stimuli may repeat if both sides are equal
            one = aligned(one, two)
    one, two = np.asarray(one), np.asarray(two)
    if one.ndim != 1 or one.shape != two.shape:
        raise ValueError(
            f"source and target must hold one response per trial each, got shapes {one.shape}, {two.shape}"
        )
    return one, two
