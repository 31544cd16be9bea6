"""Predictions of the time and memory of comparisons from the sizes of their arrays, and of what fits in memory."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bsjax.core.messages import in_words
from bsjax.engine.memory_limit import DoesNotFit
from bsjax.engine.programs.dry_runs import dry_run, hollow
from bsjax.engine.rates import Rates, machine_rates, seconds_of
from bsjax.labelled.metric import Metric, as_metric, scored
from bsjax.labelled.settings import keep
from bsjax.scoring.arrays import assemblies_of, loaded

if TYPE_CHECKING:
    from bsjax.labelled import Score

_REDUCED = (8192, 2048, 512, 128)
_FEWEST_NEUROIDS = 8


@dataclass(frozen=True)
class Estimate:
    """The predicted time and memory of a comparison.

    Attributes:
        seconds: of a call whose programs are compiled.
        memory: the largest number of bytes that the call takes in addition to the arrays.
        arrays: bytes of the arrays.

    Example:
        >>> print(Estimate(seconds=2.5, memory=3_000_000_000, arrays=500_000_000))
        2.5 s, 3 GB of memory in addition to the arrays of 500 MB
    """

    seconds: float
    memory: int
    arrays: int

    @property
    def total(self) -> int:
        """Bytes of the arrays and of what the call takes in addition."""
        return self.arrays + self.memory

    def __str__(self) -> str:
        return (
            f"{self.seconds:.2g} s, {in_words(self.memory)} of memory in addition to the arrays of "
            f"{in_words(self.arrays)}"
        )


def estimate(
    metric: str | Callable[..., Score],
    stimuli: int,
    features: int,
    neuroids: int,
    crossvalidation_kwargs: Mapping[str, Any] | None = None,
    *,
    arrays: str = "float32",
    **metric_kwargs: Any,
) -> Estimate:
    """Predict the time and memory of :func:`bsjax.score_arrays` from the sizes of its arrays.

    The programs of the metric are compiled for these sizes, but not run, and no array is made. The time is the number
    of operations and bytes divided by the rates of this machine. These are measured once, in a few seconds, and kept in
    ``$BSJAX_HOME``.

    Args:
        metric: as for :func:`bsjax.score_arrays`.
        stimuli, features, neuroids: the sizes of the arrays.
        crossvalidation_kwargs: as for :func:`bsjax.score_arrays`.
        arrays: dtype of the arrays.
        **metric_kwargs: as for :func:`bsjax.score_arrays`.

    Raises:
        KeyError: the metric is unknown.
        ValueError: the comparison does not fit in memory, and the message says what would; or the metric does not take
            such arrays or an argument.

    Example:
        >>> import bsjax
        >>> small, large = (bsjax.estimate("ridge", 200, features, 20) for features in (1000, 4000))
        >>> large.memory > 2 * small.memory, large.seconds > small.seconds > 0
        (True, True)
    """
    made = loaded(metric, crossvalidation_kwargs, metric_kwargs)
    return estimate_of(made, assemblies_of({"Y": hollow((stimuli, neuroids), arrays)}), features, arrays)


def estimate_of(
    metric: Metric | Callable[..., Score],
    measured: Sequence[xr.DataArray],
    features: int,
    dtype: str = "float32",
) -> Estimate:
    """Predict the time and memory of a metric.

    Args:
        metric: takes the model's responses, and then the measured ones.
        measured: the measured responses, of which only shapes and labels are used: those to the training and to the
            test stimuli for a metric on a fixed split, else a single assembly.
        features: number of the model's features.
        dtype: that of the model's responses.

    Raises:
        DoesNotFit: the comparison does not fit in memory; the message says what would.
        ValueError: the metric does not take such arrays.
    """
    metric = as_metric(metric)
    try:
        return _estimated(metric, measured, features, dtype, machine_rates())
    except DoesNotFit as error:
        smaller = _smaller(metric, measured, features)
        fits = next((what for what, other, part, width in smaller if _fits(other, part, width, dtype)), None)
        raise DoesNotFit(f"{error}. {f'This fits: {fits}' if fits else 'No smaller part of it fits'}") from None


def without_values(measured: Sequence[xr.DataArray]) -> list[xr.DataArray]:
    """The assemblies with zeros that take no memory instead of their values."""
    return [side.copy(data=hollow(side.shape, side.dtype)) for side in measured]


def _estimated(metric: Metric, measured: Sequence[Any], features: int, dtype: str, rates: Rates) -> Estimate:
    responses = [_responses(side, features, dtype) for side in measured]
    arrays = [*responses, *without_values(measured)]
    # Warnings would be about responses that are all zero.
    with dry_run() as would, warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
        scored(metric, *arrays)
    return Estimate(seconds_of(would.steps, rates), would.memory, sum(each.nbytes for each in arrays))


def _fits(metric: Metric, measured: Sequence[Any], features: int, dtype: str) -> bool:
    try:
        _estimated(metric, measured, features, dtype, {"memory": np.inf})
    except DoesNotFit:
        return False
    return True


def _smaller(metric: Metric, measured: Sequence[Any], features: int) -> Iterator[tuple[str, Metric, Any, int]]:
    """Comparisons that take less memory, in words and as arguments: the least change first."""
    in_float32 = copy(metric)
    keep(in_float32, dtype="float32")
    yield 'dtype="float32"', in_float32, measured, features
    for fewer in (each for each in _REDUCED if each < features):
        yield f"a reducer to {fewer:,} features", metric, measured, fewer
    neuroids = measured[0].sizes["neuroid"] // 2 if metric.fits_neuroids_alone else 0
    while neuroids >= _FEWEST_NEUROIDS:
        part = [side.isel(neuroid=slice(neuroids)) for side in measured]
        yield f"{neuroids:,} neuroids at a time", metric, part, features
        neuroids //= 2


def _responses(side: xr.DataArray, features: int, dtype: str) -> xr.DataArray:
    """A model's responses to the stimuli of a measurement, without values."""
    coords = {name: c for name, c in side.coords.items() if "neuroid" not in c.dims}
    coords["neuroid_id"] = xr.DataArray(np.arange(features), dims=["neuroid"])
    shape = [features if dim == "neuroid" else n for dim, n in side.sizes.items()]
    return xr.DataArray(hollow(shape, dtype), coords, side.dims)
