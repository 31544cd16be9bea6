"""Ceilings from a reliability that is stored with each neuroid in published data."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import xarray as xr

from bsjax.labelled.aggregate import neuroid_coords, no_error
from bsjax.labelled.align import quantity
from bsjax.labelled.metric import Metric
from bsjax.labelled.provenance import Provenance
from bsjax.labelled.score import Score
from bsjax.labelled.settings import whole_number

_AVERAGES = {"median": np.median, "mean": np.mean}


class _Stored(Metric):
    """The base class of ceilings from numbers that are stored in the neuroid coordinate ``coord``."""

    coord: str
    formula: str

    @abstractmethod
    def _each(self, stored: np.ndarray) -> np.ndarray:
        """The number of each neuroid from its stored value."""

    @abstractmethod
    def _fields(self, known: np.ndarray, total: int) -> dict[str, Any]:
        """The value and the error of the score, from the ``known`` numbers of ``total`` neuroids."""

    def __call__(self, assembly: xr.DataArray) -> Score:
        """The ceiling; ``raw`` has the number of each neuroid.

        Args:
            assembly: any assembly with the dimension neuroid and the coordinate.

        Raises:
            ValueError: the coordinate is missing, or all its values are NaN.
        """
        raw = self._each(quantity(assembly, self.coord, "neuroid", "the assembly"))
        finite = np.isfinite(raw)
        if not finite.any():
            raise ValueError(f"{self.coord} is missing for all {len(raw)} neuroids: there is no ceiling")
        return Score(
            **self._fields(raw[finite], len(raw)),
            raw=xr.DataArray(raw, dims=["neuroid"], coords=neuroid_coords(assembly)),
            formula=self.formula,
            n_units=len(raw),
            n_undefined=int((~finite).sum()),
            provenance=Provenance(metric=self.identifier, settings=self.own_settings()),
        )


@dataclass(frozen=True)
class StoredNoiseCeiling(_Stored):
    r"""The correlation that a perfect model reaches, from the noise ceiling that is stored with each neuroid.

    This is :math:`\sqrt{\mathrm{nc} / 100}`, averaged over neuroids. Here ``nc`` is in per cent of the variance,
    computed from the signal-to-noise ratio ("ncsnr"), and clipped to 0 to 100. NaN is left out.
    ``load_ceiling("noise_ceiling_snr")`` estimates the same from single trials, without the square root.

    Args:
        coord: the coordinate on neuroid that holds ``nc``.
        average: average over neuroids, ``"median"`` or ``"mean"``.

    Raises:
        ValueError: an unknown average.

    Source: Allen et al. 2022, "A massive 7T fMRI dataset to bridge cognitive neuroscience and artificial intelligence".

    Example:
        >>> voxels = xr.DataArray([[0.1, 0.2]], dims=["presentation", "neuroid"], coords={
        ...     "nc_12rep": ("neuroid", [36.0, 64.0])})
        >>> StoredNoiseCeiling()(voxels)
        Score(0.7000, √(nc/100))
    """

    identifier = "stored_noise_ceiling"
    formula = "√(nc/100)"

    coord: str = "nc_12rep"
    average: Literal["median", "mean"] = "median"

    def __post_init__(self) -> None:
        if self.average not in _AVERAGES:
            raise ValueError(f"average must be one of {', '.join(_AVERAGES)}, got {self.average!r}")

    def _each(self, stored: np.ndarray) -> np.ndarray:
        return np.sqrt(np.clip(stored, 0, 100) / 100)

    def _fields(self, known: np.ndarray, total: int) -> dict[str, Any]:
        return {"value": float(_AVERAGES[self.average](known))}


@dataclass(frozen=True)
class MedianReliability(_Stored):
    """The median over neuroids of the reliability that is stored with each.

    The error is the standard deviation of the median over bootstrap draws of the neuroids.

    Args:
        coord: the coordinate on neuroid: a split-half correlation, corrected to all trials.
        bootstraps: number of draws.
        seed: seed of the draws.

    Example:
        >>> units = xr.DataArray([[1.0, 2.0, 3.0]], dims=["presentation", "neuroid"], coords={
        ...     "reliability": ("neuroid", [0.5, 0.7, 0.6])})
        >>> MedianReliability("reliability")(units).value
        0.6
    """

    identifier = "median_reliability"
    formula = "median reliability"

    coord: str = "reliability_window"
    bootstraps: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        whole_number(self.bootstraps, "bootstraps", 2)

    def _each(self, stored: np.ndarray) -> np.ndarray:
        return stored

    def _fields(self, known: np.ndarray, total: int) -> dict[str, Any]:
        value, several = float(np.median(known)), len(known) > 1
        draws = np.random.RandomState(self.seed).choice(known, (self.bootstraps, len(known)))  # as in Brain-Score
        error = float(np.median(draws, axis=1).std()) if several else None
        words = f"standard error of the median, {self.bootstraps} bootstraps over neuroids"
        return {"value": value, "error": error, "error_kind": words if several else no_error("neuroids", 1, total)}
