"""``cross_temporal``: all steps of a model compared with all times of a brain, and the lag between the two."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bsjax.labelled.align import STIMULUS, TIME_BIN
from bsjax.scoring.arrays import loaded
from bsjax.scoring.display.bars import shown

if TYPE_CHECKING:
    from bsjax.labelled import Score

_DRAWS = 4000
_SIDES = ("source", "target")


def cross_temporal(
    source: Any,
    target: Any,
    metric: str | Callable[..., Score] = "rdm",
    crossvalidation_kwargs: Mapping[str, Any] | None = None,
    *,
    level: float = 0.95,
    progress: bool | None = None,
    **metric_kwargs: Any,
) -> xr.Dataset:
    r"""Compare all times of a source, e.g. steps of a recurrent model, with all times of a target.

    The RDM or the centred Gram matrix of each time is computed once, and all are compared with all. A regression that
    fits each neuroid alone is factorised once for each time of the source and predicts all times of the target.

    A lag :math:`\ell` compares time :math:`i` of the source with time :math:`i + \ell` of the target. Its score is the
    mean over these pairs, if there are at least half as many as times of the shorter side. The covariance of all scores
    over the choice of stimuli is estimated by a jackknife over groups of stimuli, or from the splits of a regression.
    From it follow the intervals, and how often each lag would be the best one with other stimuli.

    Args:
        source: an assembly (presentation, neuroid, time_bin) with ``stimulus_id``, or an array ``(stimuli, units,
            times)``. Without times, it counts as a single time.
        target: the same of the recordings; units and times may differ in number.
        metric: a name of :func:`bsjax.list_metrics` that compares two assemblies, e.g. ``"rdm"``, ``"cka"`` or
            ``"ridge"``, or a metric object.
        crossvalidation_kwargs: arguments of the splits of a regression, e.g. ``{"splits": 5}``.
        level: coverage of the intervals.
        progress: True shows progress, False hides it. By default it is shown on a terminal and in notebooks.
        **metric_kwargs: further arguments of the metric.

    Returns:
        ``score`` (source_time, target_time) with ``standard_error``, ``low`` and ``high``; ``lag_score`` (lag) and
        ``lag_probability`` (lag), the probability that it has the highest score; and ``best_lag``, with ``lag_low`` and
        ``lag_high``. Times are the starts of time bins, or numbers; lags are numbers of bins. Other metrics than
        similarities and regressions have no intervals and no probabilities.

    Raises:
        KeyError: the metric is unknown.
        ValueError: stimuli differ, an array has no units, the metric refuses the data, or all scores are undefined.

    Source: King & Dehaene 2014; Cichy, Pantazis & Oliva 2014; the covariance over splits: Nadeau & Bengio 2003.

    Example:
        >>> import bsjax
        >>> rng = np.random.default_rng(0)
        >>> brain = rng.normal(size=(60, 20, 6))
        >>> model = brain[:, :, 2:] + 0.5 * rng.normal(size=(60, 20, 4))  # two bins earlier than the brain
        >>> found = bsjax.cross_temporal(model, brain, metric="cka")
        >>> int(found["best_lag"]), float(found["lag_probability"].sel(lag=2)) > 0.95
        (2, True)
    """
    made = loaded(metric, crossvalidation_kwargs, metric_kwargs, interval=False)
    sides = [_over_time(side, name) for side, name in zip((source, target), _SIDES, strict=True)]
    with shown(progress=progress):
        values, deviations = made.of_times(*sides)
    if not np.isfinite(values).any():
        raise ValueError("no time of the source has a score with any time of the target: are responses constant?")
    dims, coords = ("source_time", "target_time"), {}
    for side, name in zip(sides, dims, strict=True):
        known = "time_bin_start" in side.coords and side["time_bin_start"].dims == (TIME_BIN,)
        coords[name] = side["time_bin_start"].values if known else np.arange(side.sizes[TIME_BIN])
    lags, of_lags = _lags(values)
    filled = np.where(np.isfinite(values), values, 0.0).ravel()
    by_lag = of_lags @ filled
    best = int(lags[np.argmax(by_lag)])
    found = {"score": (dims, values), "lag_score": ("lag", by_lag), "best_lag": best}
    if deviations is not None:
        from scipy.stats import t

        error = np.linalg.norm(deviations, axis=-1)
        reach = error * t.ppf((1 + level) / 2, deviations.shape[-1] - 1)
        found |= {"standard_error": (dims, error), "low": (dims, values - reach), "high": (dims, values + reach)}
        spread = of_lags @ np.nan_to_num(deviations).reshape(values.size, -1)
        drawn = by_lag + np.random.default_rng(1).normal(size=(_DRAWS, spread.shape[1])) @ spread.T
        bests = lags[np.argmax(drawn, axis=1)]
        low, high = np.quantile(bests, [(1 - level) / 2, (1 + level) / 2], method="inverted_cdf")
        found |= {"lag_probability": ("lag", np.mean(bests[:, None] == lags, axis=0)), "lag_low": low, "lag_high": high}
    return xr.Dataset(found, {**coords, "lag": lags}, {"metric": made.identifier})


def _lags(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The lags with enough pairs of times, and the weights ``(lags, pairs)`` of the mean over these pairs."""
    of_source, of_target = (np.arange(times) for times in values.shape)
    lag = (of_target[None, :] - of_source[:, None]).ravel()
    lags = np.arange(1 - values.shape[0], values.shape[1])
    pairs = (lag == lags[:, None]) & np.isfinite(values).ravel()
    counts = pairs.sum(axis=1)
    enough = counts >= min(max(1, min(values.shape) // 2), counts.max())
    return lags[enough], pairs[enough] / counts[enough, None]


def _over_time(values: Any, name: str) -> xr.DataArray:
    """Responses as an assembly (presentation, neuroid, time_bin)."""
    if not isinstance(values, xr.DataArray):
        array = np.asarray(values)
        if array.ndim not in (2, 3):
            raise ValueError(f"{name} must have the shape (stimuli, units, times), it has {array.shape}")
        values = xr.DataArray(
            array,
            {STIMULUS: ("presentation", np.arange(len(array)))},
            ("presentation", "neuroid", TIME_BIN)[: array.ndim],
        )
    values = values if values.dtype.kind == "f" else values.astype(float)
    return values if TIME_BIN in values.dims else values.expand_dims(TIME_BIN, axis=-1)
