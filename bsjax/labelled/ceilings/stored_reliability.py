"""Ceilings from the reliability of each neuroid that the publishers of the data have stored."""

from __future__ import annotations

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
    """What ceilings of stored numbers have in common."""

    coord: str

    def _values(self, assembly: xr.DataArray) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of all neuroids, and which there are."""
        values = quantity(assembly, self.coord, "neuroid", "the assembly")
        finite = np.isfinite(values)
        if not finite.any():
            raise ValueError(f"{self.coord} is missing for all {len(values)} neuroids: there is no ceiling")
        return values, finite

    def _score(self, assembly: xr.DataArray, raw: np.ndarray, value: float, formula: str, **error: Any) -> Score:
        return Score(
            value,
            **error,
            raw=xr.DataArray(raw, dims=["neuroid"], coords=neuroid_coords(assembly)),
            formula=formula,
            n_units=len(raw),
            n_undefined=int((~np.isfinite(raw)).sum()),
            provenance=Provenance(metric=self.identifier, settings=self.own_settings()),
        )


@dataclass(frozen=True)
class StoredNoiseCeiling(_Stored):
    r"""The correlation that a perfect model reaches, from the noise ceiling that is stored with each neuroid.

    :math:`\sqrt{\mathrm{nc} / 100}`, averaged over neuroids, where ``nc`` is in per cent of the variance, computed from
    the ratio of signal to noise ("ncsnr"); values below 0 and above 100 count as 0 and 100. NaN is left out.
    ``load_ceiling("noise_ceiling_snr")`` estimates it from single trials, without the square root.

    Args:
        coord: the coordinate on neuroid that holds it.
        average: over neuroids, ``"median"`` or ``"mean"``.

    Raises:
        ValueError: another average.

    Source: Allen et al. 2022, "A massive 7T fMRI dataset to bridge cognitive neuroscience and artificial intelligence".

    Example:
        >>> voxels = xr.DataArray([[0.1, 0.2]], dims=["presentation", "neuroid"], coords={
        ...     "nc_12rep": ("neuroid", [36.0, 64.0])})
        >>> StoredNoiseCeiling()(voxels)
        Score(0.7000, √(nc/100))
    """

    identifier = "stored_noise_ceiling"

    coord: str = "nc_12rep"
    average: Literal["median", "mean"] = "median"

    def __post_init__(self) -> None:
        if self.average not in _AVERAGES:
            raise ValueError(f"average must be one of {', '.join(_AVERAGES)}, got {self.average!r}")

    def __call__(self, assembly: xr.DataArray) -> Score:
        """The ceiling; ``raw`` has the square root of each neuroid.

        Args:
            assembly: any with the dimension neuroid and the coordinate.

        Raises:
            ValueError: no such coordinate, or it is NaN throughout.
        """
        per_cent, finite = self._values(assembly)
        raw = np.sqrt(np.clip(per_cent, 0, 100) / 100)
        return self._score(assembly, raw, float(_AVERAGES[self.average](raw[finite])), "√(nc/100)")


@dataclass(frozen=True)
class MedianReliability(_Stored):
    """The median over neuroids of the reliability that is stored with each.

    The error is the standard deviation of the medians of random draws of the neuroids, with replacement.

    Args:
        coord: the coordinate on neuroid: a split-half correlation, corrected to all trials.
        bootstraps: how many draws.
        seed: of the draws.

    Example:
        >>> units = xr.DataArray([[1.0, 2.0, 3.0]], dims=["presentation", "neuroid"], coords={
        ...     "reliability": ("neuroid", [0.5, 0.7, 0.6])})
        >>> MedianReliability("reliability")(units).value
        0.6
    """

    identifier = "median_reliability"

    coord: str = "reliability_window"
    bootstraps: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        whole_number(self.bootstraps, "bootstraps", 2)

    def __call__(self, assembly: xr.DataArray) -> Score:
        """The ceiling; ``raw`` has the reliability of each neuroid.

        Args:
            assembly: any with the dimension neuroid and the coordinate.

        Raises:
            ValueError: no such coordinate, or it is NaN throughout.
        """
        raw, finite = self._values(assembly)
        known = raw[finite]
        draws = np.random.RandomState(self.seed).choice(known, (self.bootstraps, len(known)))  # Brain-Score's draws
        return self._score(
            assembly,
            raw,
            float(np.median(known)),
            "median reliability",
            error=float(np.median(draws, axis=1).std()) if len(known) > 1 else None,
            error_kind=f"standard error of the median, {self.bootstraps} bootstraps over neuroids"
            if len(known) > 1
            else no_error("neuroids", len(known), len(raw)),
        )
