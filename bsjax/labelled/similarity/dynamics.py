"""Similarity of the dynamics of two systems, from responses in time bins."""

import math
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import xarray as xr

from bsjax.labelled.align import TIME_BIN, aligned, at_positions, finite_values, quantity, three_dimensional
from bsjax.labelled.kernel_metric import KernelMetric
from bsjax.labelled.score import Score
from bsjax.labelled.settings import keep, whole_number
from bsjax.metrics import dynamical_similarity

# Relative difference below which two distances between time bins are equal.
_SAME = 1e-6


@dataclass(frozen=True)
class DynamicalSimilarity(KernelMetric):
    """Dynamical similarity analysis (DSA): whether responses of two systems change by the same rules over time.

    Each side is described by the linear rule that best predicts the next time bin from the last ones. Rules are
    compared after the best rotation, so that it does not matter which neuroids carry the states, and two systems may be
    alike in their geometry and not in their dynamics. See :func:`bsjax.metrics.dynamical_similarity`.

    Args:
        delays: number of successive time bins from which the next one is predicted.
        rank: number of dimensions of the states.
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

    Source: Ostrow et al. 2023.

    Example:
        >>> angles = np.arange(20) * 0.5 + np.array([[0.0], [1.0], [2.5]])
        >>> bins = {"time_bin_start": ("time_bin", np.arange(20.0)), "stimulus_id": ("presentation", list("abc"))}
        >>> dims = ["presentation", "neuroid", "time_bin"]
        >>> x, y = (xr.DataArray(np.stack([np.cos(a), np.sin(a)], 1), bins, dims) for a in (angles, 2 * angles))
        >>> dsa = DynamicalSimilarity(delays=1, rank=2)
        >>> print(f"{float(dsa(x, 3 * x)):.3f} {float(dsa(x, y)):.3f}")
        1.000 0.878
    """

    identifier = "dsa"
    zero_by_chance = False
    symmetric = True
    normalisation = "r_over_sqrt_ceiling"

    delays: int = 5
    rank: int = 10
    dtype: str | None = None

    def __post_init__(self) -> None:
        keep(self, delays=whole_number(self.delays, "delays", 1), rank=whole_number(self.rank, "rank", 1))

    def arrays(self, source: xr.DataArray, target: xr.DataArray) -> tuple[np.ndarray | jax.Array, ...]:
        """Responses of both sides ``(stimuli, units, time bins)``, in the order of time.

        Args:
            source, target: (presentation, neuroid, time_bin) of the same stimuli, with ``stimulus_id`` and
                ``time_bin_start``. Bins are equally spaced, alike on both sides, which may have different numbers of
                them.

        Raises:
            ValueError: a coordinate is missing, stimuli differ or repeat, bins are not equally spaced, or values are
                NaN.
        """
        source, target = three_dimensional(source, "source"), three_dimensional(target, "target")
        (source, ours), (target, theirs) = _in_time(aligned(source, target), "source"), _in_time(target, "target")
        if abs(ours - theirs) > _SAME * theirs:
            raise ValueError(
                f"time bins must be equally far apart on both sides: those of source are by {ours:g}, those of target "
                f"by {theirs:g}; average neighbouring bins of one of them"
            )
        return finite_values(source, "source"), finite_values(target, "target")

    def kernel(self, x: Any, y: Any) -> Any:
        """The similarity of the dynamics; see :func:`bsjax.metrics.dynamical_similarity`."""
        return dynamical_similarity(x, y, delays=self.delays, rank=self.rank)

    def summary(self, value: Any, source: xr.DataArray, target: xr.DataArray) -> Score:
        """The score of the value."""
        return Score(float(value), formula="r", n_undefined=int(math.isnan(value)))


def _in_time(assembly: xr.DataArray, what: str) -> tuple[xr.DataArray, float]:
    """The assembly with its time bins in order, and the distance between their starts."""
    starts = quantity(assembly, "time_bin_start", TIME_BIN, what)
    order = np.argsort(starts)
    apart = np.diff(starts[order])
    if not len(apart) or not apart[0] > 0 or np.ptp(apart) > _SAME * apart[0]:
        raise ValueError(f"{what} must have two or more equally spaced time bins, they start at {starts.tolist()}")
    return at_positions(assembly, {TIME_BIN: order}), float(apart[0])
