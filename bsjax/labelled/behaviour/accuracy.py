"""Accuracy: how often two observers give the same response, and how near two numbers are."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import xarray as xr

from bsjax.core.masked_arrays import unmasked
from bsjax.engine.precision import precision
from bsjax.labelled.aggregate import over
from bsjax.labelled.align import STIMULUS, aligned
from bsjax.labelled.behaviour.responses import PRESENTATION, answered, equal, one_choice
from bsjax.labelled.provenance import metric_provenance
from bsjax.labelled.score import Score
from bsjax.metrics import compiled
from bsjax.metrics.behaviour.agreement import accuracy, value_delta


class Accuracy:
    """Share of the trials on which source and target are the same, e.g. a model's choices and the truth.

    A trial without a response (NaN or None on either side) is left out and counted in ``n_undefined``, ``n_units``
    being all trials; the score is NaN where none is left. ``raw`` has 1, 0 or NaN for every trial.

    Args:
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

    Example:
        >>> Accuracy()([5, 3, 6, 7, 1, 8], [5, 2, 1, 7, 1, 9])
        Score(0.5000 ± 0.5000, share of trials)
    """

    identifier = "accuracy"

    def __init__(self, dtype: str | None = None) -> None:
        self.dtype = dtype

    def __call__(self, source: Any, target: Any) -> Score:
        """How often the two are the same.

        Args:
            source, target: responses, one a presentation. Two assemblies with ``stimulus_id`` are matched by it; what
                has none (an array, a column of a stimulus set) goes with the other side in order.

        Returns:
            The share, and as its error the population standard deviation over trials (as in Brain-Score).

        Raises:
            ValueError: different stimuli, or different numbers of trials.
        """
        responses, truth = _paired(source, target)
        right, present = equal(responses, truth), answered(responses) & answered(truth)
        with precision(self.dtype) as dtype:
            value = float(compiled(accuracy)(jnp.asarray(right, dtype), jnp.asarray(present)))
        raw = np.where(present, right, np.nan)
        return over(
            xr.DataArray(raw, dims=[PRESENTATION]),
            PRESENTATION,
            what="trials",
            kind="standard deviation",
            ddof=0,
            value=value,
            formula="share of trials",
            n_units=len(present),
            provenance=metric_provenance(self.identifier, dtype),
        )


class ValueDelta:
    r"""Nearness of two numbers, :math:`e^{-s |a - b|}`: 1 where they are equal, falling to 0.

    Args:
        scale: how steeply it falls, per unit of the numbers.
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

    Raises:
        ValueError: a negative scale.

    Example:
        >>> ValueDelta()(1.5, 1.0)
        Score(0.6065, exp(-s|a-b|))
    """

    identifier = "value_delta"

    def __init__(self, scale: float = 1.0, dtype: str | None = None) -> None:
        if not 0 <= scale < float("inf"):
            raise ValueError(f"scale must be a finite number that is not negative, got {scale}")
        self.scale = float(scale)
        self.dtype = dtype

    def __call__(self, source_value: float, target_value: float) -> Score:
        """How near the two numbers are; NaN where one is NaN. Two single numbers give no error."""
        raw = xr.DataArray(
            np.array([float(source_value), float(target_value)]), dims=["side"], coords={"side": ["source", "target"]}
        )
        with precision(self.dtype) as dtype:
            values = jnp.asarray(raw.values, dtype)
            value = float(compiled(value_delta, scale=self.scale)(values[0], values[1]))
        made = metric_provenance(self.identifier, dtype, scale=self.scale)
        return Score(value, raw=raw, formula="exp(-s|a-b|)", n_undefined=int(np.isnan(value)), provenance=made)


def _paired(source: Any, target: Any) -> tuple[np.ndarray, np.ndarray]:
    sides = []
    for side, what in ((source, "source"), (target, "target")):
        labelled = isinstance(side, xr.DataArray) and side.ndim > 0 and PRESENTATION in side.dims
        sides.append(one_choice(side, what) if labelled else np.asarray(unmasked(side, what)))
    one, two = sides
    if all(isinstance(side, xr.DataArray) and STIMULUS in side.coords for side in sides):
        if not np.array_equal(one[STIMULUS].values, two[STIMULUS].values):
            one = aligned(one, two)
    one, two = np.asarray(one), np.asarray(two)
    if one.ndim != 1 or one.shape != two.shape:
        raise ValueError(f"source and target must hold one response a trial each, got shapes {one.shape}, {two.shape}")
    return one, two
