"""Topography of recordings: tuning by position on the cortical surface."""

import math
from abc import ABC
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
import pandas as pd
import xarray as xr

from bsjax.labelled.align import coordinate, float_values, listed, origins, quantity, two_dimensional
from bsjax.labelled.kernel_metric import KernelMetric
from bsjax.labelled.metric import Metric
from bsjax.labelled.resampling.draws import Drawn
from bsjax.labelled.score import Score
from bsjax.metrics import pinwheel_density, tuning_smoothness, wiring_economy
from bsjax.metrics.resampling.draws import leave_out_counts
from bsjax.metrics.resampling.influence import left_out_influence
from bsjax.metrics.topography.pairs import unit_correlations

_X, _Y, _ORIENTATION = "x", "y", "orientation"
_REGULAR, _ROUNDING = 0.1, 1e-6  # relative to the spacing of a grid, and to its length


@dataclass(frozen=True)
class _OfPairs(KernelMetric, ABC):
    """A statistic of pairs of neuroids with positions."""

    statistic: ClassVar[Callable[..., Any]]

    group_coord: str | None = "subject"
    dtype: str | None = None

    def arrays(self, assembly: xr.DataArray) -> Any:
        """Responses, positions, and a mask of the pairs that count.

        Args:
            assembly: (presentation, neuroid) with ``x`` and ``y`` on neuroid.

        Raises:
            ValueError: positions or responses are missing.
        """
        assembly = two_dimensional(assembly, "assembly")
        positions = np.stack([quantity(assembly, name, "neuroid", "assembly") for name in (_X, _Y)], axis=1)
        known = np.isfinite(positions[:, 0] + positions[:, 1])
        where = known[:, None] & known[None, :]
        if self.group_coord in assembly.coords:
            groups = coordinate(assembly, str(self.group_coord), "neuroid", "assembly")
            where &= groups[:, None] == groups[None, :]
        if "neuroid_id" in assembly.coords:  # copies of a neuroid in a draw are no pairs
            ids = pd.factorize(origins(assembly, "neuroid_id", "neuroid", "assembly"))[0]
            where &= ids[:, None] != ids[None, :]
        return float_values(assembly, "assembly"), np.where(known[:, None], positions, 0.0), where

    def kernel(self, *arrays: Any) -> Any:
        """The statistic, and whether each neuroid is in a pair that counts."""
        return self.weighted_kernel(None, *arrays)

    def weighted_kernel(self, weights: Any, *arrays: Any) -> Any:
        """The same with weights of the stimuli."""
        x, positions, where = arrays
        paired = jnp.any(unit_correlations(x, weights)[1] & where, axis=1)
        return type(self).statistic(x, positions, where=where, weights=weights), paired

    def summary(self, values: Any, *assemblies: xr.DataArray) -> Score:
        """The score; neuroids in no pair that counts are undefined."""
        value, paired = values
        return Score(float(value), formula="r", n_units=len(paired), n_undefined=int(np.sum(~paired)))

    def drawn_values(self, drawn: Drawn, *assemblies: xr.DataArray, **kwargs: Any) -> dict[str, Any]:
        """Its values in every draw, with the influence of each stimulus if stimuli alone are drawn."""
        # A draw of the stimuli adds as much noise to the correlations of neuroids as the data have. Their spread over
        # pairs, by which both statistics divide, is then too large, and that of the draws too small. The standard error
        # over stimuli is therefore that of leaving each of them out.
        found = super().drawn_values(drawn, *assemblies, **kwargs)
        if drawn.plan.factors == ("stimuli",):
            without = replace(drawn, counts={"stimuli": leave_out_counts(len(drawn.ids["stimuli"]))})
            left_out = super().drawn_values(without, *assemblies, **kwargs)["values"]
            found["influence"] = left_out_influence(left_out.values)
        return found


@dataclass(frozen=True)
class TuningSmoothness(_OfPairs):
    """Correlation of the difference in tuning with the distance on the cortical surface, over pairs of neuroids.

    Positive if neighbours respond alike, and 0 on average if neuroids exchange their positions at random. The score is
    NaN if no pair counts, or differences or distances are constant.

    Args:
        group_coord: coordinate of the neuroids in which both of a pair must agree, such as their subject, array or
            hemisphere; a coordinate that the assembly lacks, or None, allows all pairs.
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

    The assembly is (presentation, neuroid) with ``x`` and ``y`` on neuroid, in mm; neuroids whose position is missing
    form no pairs.

    Source: Margalit et al. 2024, "A unifying framework for functional organization in early and higher ventral visual
    cortex" (TDANN).

    Example:
        >>> places, stimuli = np.linspace(0, 1, 9), np.linspace(0, 1, 30)[:, None]
        >>> coords = {"x": ("neuroid", places), "y": ("neuroid", 0 * places)}
        >>> tuned = xr.DataArray(np.exp(-((stimuli - places) ** 2) / 0.1), coords, ["presentation", "neuroid"])
        >>> TuningSmoothness()(tuned) > 0.8
        True
    """

    identifier = "tuning_smoothness"
    statistic = staticmethod(tuning_smoothness)


@dataclass(frozen=True)
class WiringEconomy(_OfPairs):
    """How much shorter the wiring between neuroids that respond alike is than that between any neuroids.

    Neuroids are connected by their correlation where it is positive; see ``bsjax.metrics.wiring_economy``. It is 0 on
    average if neuroids exchange their positions at random, and NaN if no neuroids that count are correlated.

    Args:
        group_coord, dtype: as for ``TuningSmoothness``, which also says what the assembly must have.

    Source: Margalit et al. 2024 (TDANN); Koulakov & Chklovskii 2001.

    Example:
        >>> places, stimuli = np.linspace(0, 1, 9), np.linspace(0, 1, 30)[:, None]
        >>> coords = {"x": ("neuroid", places), "y": ("neuroid", 0 * places)}
        >>> tuned = xr.DataArray(np.exp(-((stimuli - places) ** 2) / 0.1), coords, ["presentation", "neuroid"])
        >>> WiringEconomy()(tuned) > 0.2
        True
    """

    identifier = "wiring_economy"
    statistic = staticmethod(wiring_economy)


@dataclass(frozen=True)
class PinwheelDensity(Metric):
    r"""Number of pinwheels per hypercolumn in a map of preferred orientation.

    The vector sum of the responses over orientations gives each neuroid's place in the map; see
    ``bsjax.metrics.pinwheel_density``. Random maps of one wavelength, and visual cortex, have :math:`\pi`. The score is
    NaN if no square of four neighbouring places is complete.

    Args:
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

    The assembly is (presentation, neuroid) of a single subject, with ``orientation`` on presentation, in degrees, and
    ``x`` and ``y`` on neuroid, in mm: places of a regular grid, of which some may be empty.

    Source: Kaschube et al. 2010, "Universality in the evolution of orientation columns in the visual cortex".

    Example:
        >>> theta, places = np.arange(0.0, 180.0, 22.5), np.arange(32.0)
        >>> x, y = (side.ravel() for side in np.meshgrid(places, places))
        >>> coords = {"orientation": ("presentation", theta), "x": ("neuroid", x), "y": ("neuroid", y)}
        >>> stripes = np.cos(np.deg2rad(2 * theta[:, None] - 360 * x / 8))
        >>> float(PinwheelDensity()(xr.DataArray(stripes, coords, ["presentation", "neuroid"])))
        0.0
    """

    identifier = "pinwheel_density"
    needs = (_ORIENTATION,)

    dtype: str | None = None

    def __call__(self, assembly: xr.DataArray) -> Score:
        """Counts the pinwheels.

        Args:
            assembly: (presentation, neuroid) with ``orientation`` on presentation, and ``x`` and ``y`` on neuroid.

        Raises:
            ValueError: a coordinate or a response is missing, positions are on no regular grid, or neuroids share one.
        """
        assembly = two_dimensional(assembly, "assembly")
        places = [_on_grid(quantity(assembly, name, "neuroid", "assembly"), name) for name in (_Y, _X)]
        (row, height), (column, width) = places
        flat = row * width + column
        if len(np.unique(flat)) < len(flat):
            twice = np.unique(flat[pd.Index(flat).duplicated(keep=False)])
            at = [f"row {place // width}, column {place % width}" for place in twice]
            raise ValueError(
                f"neuroids share {listed(at, 'places')} of the grid: select one subject; neuroids cannot be drawn"
            )
        x = np.asarray(float_values(assembly, "assembly"))
        grid = np.full((len(x), height * width), np.nan, x.dtype)
        grid[:, flat] = x
        angles = coordinate(assembly, _ORIENTATION, "presentation", "assembly").astype(float)
        value = float(self.run_kernel(_density, grid.reshape(len(x), height, width), angles))
        units = assembly.sizes["neuroid"]
        undefined = units if math.isnan(value) else 0
        return Score(value, formula="n", n_units=units, n_undefined=undefined, provenance=self.provenance())


def _density(x: Any, orientations: Any) -> Any:
    doubled = 2.0 * jnp.deg2rad(orientations)
    around = x - jnp.mean(x, axis=0, keepdims=True)
    return pinwheel_density(jnp.stack([jnp.tensordot(wave(doubled), around, 1) for wave in (jnp.cos, jnp.sin)], 2))


def _on_grid(values: np.ndarray, name: str) -> tuple[np.ndarray, int]:
    """The number of each position along one direction of a regular grid, and the number of positions."""
    least, most = values.min(), values.max()
    apart = np.diff(np.unique(values))
    apart = apart[apart > _ROUNDING * (most - least)]
    spaces = round((most - least) / apart.min()) if len(apart) else 0
    numbers = (values - least) / (most - least) * spaces if spaces else np.zeros(len(values))
    if not (spaces < len(values) and (np.abs(numbers - np.round(numbers)) < _REGULAR).all()):
        raise ValueError(f"positions in {name!r} are on no regular grid, which a map needs: interpolate the map first")
    return np.round(numbers).astype(int), spaces + 1
