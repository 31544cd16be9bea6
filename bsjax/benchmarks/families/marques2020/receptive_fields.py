"""Receptive fields of a model's units, and selection of those where the gratings are shown."""

import jax.numpy as jnp
import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bsjax.benchmarks.families.marques2020.stimuli import POSITIONS
from bsjax.engine.precision import precision
from bsjax.engine.programs.compilation import compiled
from bsjax.metrics.tuning.receptive_fields import receptive_field_centres, receptive_field_maps

NEAR = 0.15
"""Largest distance of a receptive field from the centre of the gratings, in degrees."""


_AT_ONCE = 512  # units per block, because a layer may be larger than memory


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
