"""Model units treated as V1 neurons: selection by receptive field, and responses in spikes per second."""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bsjax.benchmarks.families.marques2020 import stimuli as sets
from bsjax.benchmarks.families.marques2020.stimuli import POSITIONS
from bsjax.data import NeuroidAssembly
from bsjax.engine.precision import precision
from bsjax.engine.programs.compilation import compiled
from bsjax.metrics.tuning.receptive_fields import receptive_field_centres, receptive_field_maps

Show = Callable[[str], NeuroidAssembly]
"""Shows a model the named stimulus set at its size and returns its responses (presentation, neuroid)."""

SPONTANEOUS = 0.82
"""Median spontaneous firing rate of macaque V1 neurons, in spikes per second."""
MAXIMAL = 33.8
"""Median of the maximal firing rates of macaque V1 neurons, in spikes per second."""
_GREATEST, _THRESHOLD = 243.1, 5.0  # greatest rate of a single neuron; smallest rate that counts as a response
_PHASES = 8


NEAR = 0.15
"""Largest distance of a receptive field from the centre of the gratings, in degrees."""


_AT_ONCE = 512  # units per block, because a layer may be larger than memory


class NothingToMeasure(ValueError):
    """A model has no unit to measure; the message gives the reason."""


class Population(NamedTuple):
    """Model units whose receptive fields lie where the gratings are shown.

    Attributes:
        units: indices of the units in the model.
        n_units: number of units in the model.
        blank: unscaled responses of the units to a blank image.
        slope, offset: linear map from response to firing rate, the same for all units.
    """

    units: NDArray[np.intp]
    n_units: int
    blank: NDArray[np.float64]
    slope: float
    offset: float

    @property
    def baseline(self) -> NDArray[np.float64]:
        """Spontaneous firing rates, in spikes per second."""
        return self._rates(self.blank)

    def rates(self, recorded: NeuroidAssembly) -> NeuroidAssembly:
        """Firing rates of these units in spikes per second, never negative, from recordings of all units."""
        own = recorded.isel(neuroid=self.units).transpose("presentation", "neuroid")
        return own.copy(data=self._rates(own.values.astype(np.float64)))

    def _rates(self, responses: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.maximum(self.slope * np.maximum(responses, 0) + self.offset, 0)


def population(show: Show, position: tuple[float, float], model: str) -> Population:
    """Select a model's units by receptive field, and fit the conversion of their responses to firing rates.

    Units whose receptive field lies at the gratings are selected, as an electrophysiologist places the stimulus on the
    receptive field of a neuron. One linear map then converts all responses to spikes per second. It makes two medians
    over responsive units equal to those of macaque V1: spontaneous activity, and the response to the best of the
    ``ORIENTATION`` gratings (mean over phases).

    Args:
        show: function that shows a stimulus set and returns the responses.
        position: centre of the gratings (y, x), in degrees.
        model: the model's identifier, for messages.

    Raises:
        NothingToMeasure: no unit has its receptive field there, or none responds to the gratings.

    Source: Marques, Schrimpf & DiCarlo 2021.

    Example:
        >>> def show(name):  # a unit that responds to whatever is near (0.5, 0.5), and nothing to a blank image
        ...     places = np.full((1, 2), 99.0) if name == sets.BLANK else sets.grid(name)[:, :2]
        ...     near = np.exp(-np.sum((places - 0.5) ** 2, axis=1, keepdims=True))
        ...     return NeuroidAssembly(near, dims=["presentation", "neuroid"])
        >>> found = population(show, (0.5, 0.5), "one unit")
        >>> found.units, found.baseline, round(found.slope + found.offset, 2)
        (array([0]), array([0.82]), 33.8)
    """
    blank = np.asarray(show(sets.BLANK).values, np.float64).ravel()
    places = centres(show(sets.RECEPTIVE_FIELD), blank)
    units = near(places, position)
    where = f"within {NEAR:g} degrees of ({position[0]:g}, {position[1]:g})"
    if not len(units):
        seen = np.isfinite(places[:, 0])
        raise NothingToMeasure(
            f"model {model!r} has no unit with its receptive field {where}, where the gratings are shown: of "
            f"{len(places)} units, {int(seen.sum())} respond to gratings anywhere in the central 5 degrees"
        )
    peaks = _peaks(show(sets.ORIENTATION).isel(neuroid=units))
    slope, offset = affine(peaks, np.maximum(blank[units], 0))
    if not np.isfinite(slope):
        raise NothingToMeasure(
            f"none of the {len(units)} units of model {model!r} with a receptive field {where} responds "
            "more to gratings there than to a blank image, so that they have no firing rates"
        )
    return Population(units, len(places), blank[units], slope, offset)


def affine(peaks: NDArray[np.float64], blank: NDArray[np.float64]) -> tuple[float, float]:
    """Slope and offset of the linear map that gives a population the median firing rates of macaque V1.

    Medians are over the responsive units. A unit is responsive if its response above the blank exceeds 5/243.1 of the
    largest such response; this corresponds to 5 spikes per second relative to the greatest recorded response.

    Args:
        peaks: each unit's greatest response to gratings.
        blank: each unit's response to a blank image, at least 0.

    Returns:
        Slope and offset, in spikes per second; NaN if no unit responds.

    Example:
        >>> slope, offset = affine(np.array([1.0, 2.0, 3.0]), np.zeros(3))
        >>> round(slope, 6), round(offset, 6)
        (16.49, 0.82)
    """
    driven = peaks - blank
    responds = driven > max(driven.max(), 0) * _THRESHOLD / _GREATEST
    if not responds.any():
        return np.nan, np.nan
    spontaneous, greatest = np.median(blank[responds]), np.median(peaks[responds])
    slope = float((MAXIMAL - SPONTANEOUS) / (greatest - spontaneous))
    return slope, float(SPONTANEOUS - slope * spontaneous)


def _peaks(recorded: xr.DataArray) -> NDArray[np.float64]:
    responses = np.maximum(recorded.transpose("presentation", "neuroid").values.astype(np.float64), 0)
    return responses.reshape(-1, _PHASES, responses.shape[1]).mean(axis=1).max(axis=0)


def centres(flashed: xr.DataArray, blank: NDArray[np.floating]) -> NDArray[np.float64]:
    """Centres of receptive fields in degrees, downwards and to the right of the middle of the visual field.

    Args:
        flashed: responses (presentation, neuroid) to the gratings of ``RECEPTIVE_FIELD``, in their order.
        blank: responses to a blank image, ``(neuroid,)``.

    Returns:
        Shape ``(neuroid, 2)``: y and x; NaN for a unit that responds to no grating more than to the blank.

    Example:
        >>> from bsjax.benchmarks.families.marques2020.stimuli import RECEPTIVE_FIELD, grid
        >>> y, x = grid(RECEPTIVE_FIELD)[:, :2].T
        >>> unit = np.exp(-((y - 0.5) ** 2 + (x + 1.0) ** 2) / 0.1)[:, None]
        >>> centres(xr.DataArray(unit, dims=["presentation", "neuroid"]), np.zeros(1)).round(6).tolist()
        [[0.5, -1.0]]
    """
    side, n = len(POSITIONS), flashed.sizes["neuroid"]
    found = np.empty((n, 2))
    with precision() as dtype:
        axis = jnp.asarray(POSITIONS, dtype)
        for start in range(0, n, _AT_ONCE):
            units = slice(start, min(start + _AT_ONCE, n))
            missing = ((0, 0), (0, _AT_ONCE - (units.stop - start)))  # pad to one shape, to compile only once
            values = np.pad(flashed.isel(neuroid=units).transpose("presentation", "neuroid").values, missing)
            maps = compiled(receptive_field_maps)(
                jnp.asarray(values).reshape(side, side, -1, _AT_ONCE),
                jnp.asarray(np.pad(blank[units], missing[1]), values.dtype),
            )
            places = compiled(receptive_field_centres)(maps.astype(dtype), axis, axis)
            found[units] = np.asarray(places)[: units.stop - start]
    return found


def near(places: NDArray[np.float64], position: tuple[float, float]) -> NDArray[np.intp]:
    """Indices of the units whose receptive field is centred within ``NEAR`` of a position (y, x).

    Example:
        >>> near(np.array([[0.5, 0.6], [0.5, 0.7], [np.nan, np.nan]]), (0.5, 0.5))
        array([0])
    """
    return np.flatnonzero(np.linalg.norm(places - np.asarray(position), axis=1) <= NEAR)
