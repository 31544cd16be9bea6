"""Similarity of responses and of their trial-to-trial noise, from single trials."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from bsjax.labelled.align import STIMULUS, finite_values, refuse_different, two_dimensional, unique_ids
from bsjax.labelled.kernel_metric import KernelMetric
from bsjax.labelled.score import Score
from bsjax.labelled.settings import finite_number, keep
from bsjax.labelled.similarity.trials import whole_trials
from bsjax.metrics import stochastic_shape_similarity


@dataclass(frozen=True)
class StochasticShape(KernelMetric):
    """Similarity of two noisy representations after the best rotation: of their means and of the noise around them.

    Both sides are single trials, which need not be equally many; a source without repetitions, such as a network
    without noise, has a covariance of zero. It then scores below ``procrustes`` of the averages by the share of the
    target's noise. See :func:`bsjax.metrics.stochastic_shape_similarity`.

    Args:
        noise_weight: weight of the covariances; 0 compares the averages alone.
        split_coord: the coordinate of the repetitions.
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

    Source: Duong et al. 2023.

    Example:
        >>> values = np.array([[0.0, 3.0, 5.0, 8.0], [2.0, 5.0, 3.0, 6.0]]).reshape(8, 1)
        >>> trials = xr.DataArray(values, dims=["presentation", "neuroid"], coords={
        ...     "stimulus_id": ("presentation", list("abcdabcd")), "repetition": ("presentation", [0] * 4 + [1] * 4)})
        >>> print(f"{float(StochasticShape()(trials, 2 * trials)):.3f}")
        1.000
    """

    identifier = "stochastic_shape"
    zero_by_chance = False
    symmetric = True
    normalisation = "r_over_sqrt_ceiling"

    noise_weight: float = 1.0
    split_coord: str = "repetition"
    dtype: str | None = None

    def __post_init__(self) -> None:
        keep(self, noise_weight=finite_number(self.noise_weight, "noise_weight"))

    def arrays(self, source: xr.DataArray, target: xr.DataArray) -> tuple[np.ndarray, ...]:
        """Single trials of both sides ``(repetitions, stimuli, units)``, and where they exist.

        Args:
            source, target: (presentation, neuroid), one row per trial, with ``stimulus_id`` and ``repetition``, which
                a source without repetitions need not have.

        Raises:
            ValueError: a coordinate is missing, the stimuli differ, a trial is repeated, a value is NaN, or nothing is
                repeated in the target.
        """
        source, target = two_dimensional(source, "source"), two_dimensional(target, "target")
        repeats = self.split_coord in source.coords and len(set(source[STIMULUS].values.tolist())) < len(source)
        x, of_x, ours = self._trials(source, "source") if repeats else _once(source)
        y, of_y, theirs = self._trials(target, "target")
        refuse_different(ours, theirs, ("source", "target"), STIMULUS, "stimuli")
        return x, y, of_x, of_y

    def kernel(self, x: Any, y: Any, of_x: Any, of_y: Any) -> Any:
        """The similarity of the trials; see :func:`bsjax.metrics.stochastic_shape_similarity`."""
        return stochastic_shape_similarity(x, y, noise_weight=self.noise_weight, of_x=of_x, of_y=of_y)

    def summary(self, value: Any, source: xr.DataArray, target: xr.DataArray) -> Score:
        """The score of the value."""
        return Score(float(value), formula="r", n_undefined=int(math.isnan(value)))

    def _trials(self, side: xr.DataArray, what: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        trials = whole_trials(side, self.split_coord, what)
        return np.where(trials.mask[:, :, None], trials.values, 0.0), trials.mask, trials.stimuli


def _once(side: xr.DataArray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Responses without repetitions as one trial of each stimulus, in the order of their identifiers."""
    ids = unique_ids(side, "source")
    order = np.argsort(ids, kind="stable")
    values = np.asarray(finite_values(side, "source"))[order]
    return values[None], np.ones((1, len(ids)), bool), ids[order]
