"""Properties of V1 neurons from labelled firing rates, as reported in six studies.

Each function takes responses and a baseline, and computes the properties that one study reported:

- ``responses``: firing rates (presentation, neuroid) in spikes per second, each stimulus of a full grid once, rows in
  any order. The stimuli are described by the presentation coordinates ``radius``, ``spatial_frequency``,
  ``orientation`` and ``phase`` for gratings (degrees, cycles per degree, degrees, degrees), and ``type``, ``family``
  and ``sample`` for textures. ``position_y``, ``position_x`` and ``contrast`` must be constant if present.
- ``baseline``: the spontaneous rate of each neuron (neuroid), or the responses to one blank stimulus. Neurons are
  matched by ``neuroid_id`` if both have it, otherwise by position.
- ``dtype``: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

The result is a ``PropertyAssembly`` (neuroid, neuroid_property) with the coordinates of the neurons, and the properties
in alphabetical order. It omits neurons whose maximum response exceeds the baseline by 5 spikes per second or less. NaN
marks a neuron without a property. A ``ValueError`` names missing or repeated stimuli, or neurons that differ.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from bsjax.data.types.assemblies import PropertyAssembly
from bsjax.engine.running import run
from bsjax.labelled.align import listed, matched, two_dimensional
from bsjax.labelled.tuning.full_grid import Grid, on_grid
from bsjax.metrics import tuning

_NEUROID, _ID = "neuroid", "neuroid_id"
_GRATINGS = ("radius", "spatial_frequency", "orientation", "phase")
_IN_CYCLES = "radius", "spatial_frequency"  # the radii are fixed numbers of cycles, so they vary with the frequency
_TEXTURES = ("type", "family", "sample")
_FIXED = ("position_y", "position_x", "contrast")


def ringach2002_properties(
    responses: xr.DataArray, baseline: xr.DataArray | np.ndarray, *, dtype: str | None = None
) -> PropertyAssembly:
    """Orientation selectivity and response strength at each neuron's preferred grating.

    Args:
        responses: to gratings; the radii at each spatial frequency are the same numbers of cycles.
        baseline, dtype: as for all functions of this module.

    Returns:
        ``max_dc`` (spikes per second), ``modulation_ratio``, ``circular_variance``, ``bandwidth`` (half, in degrees),
        ``orthogonal_preferred_ratio``, ``orientation_selective`` (0 or 1), ``circular_variance_bandwidth_ratio``,
        ``orthogonal_preferred_ratio_circular_variance_difference``.

    Source: Ringach, Shapley & Hawken 2002; Marques, Schrimpf & DiCarlo 2021.

    Example:
        >>> phase, theta = np.meshgrid([0., 90., 180., 270.], np.arange(0., 180., 15.))
        >>> row = {"orientation": theta, "phase": phase, "radius": theta * 0 + 1, "spatial_frequency": theta * 0 + 2}
        >>> rates = 10 + 10 * np.cos(2 * np.deg2rad(theta - 30))
        >>> responses = xr.DataArray(rates.reshape(-1, 1), dims=["presentation", "neuroid"],
        ...                          coords={k: ("presentation", v.ravel()) for k, v in row.items()})
        >>> properties = ringach2002_properties(responses, np.array([0.5]))
        >>> print(properties.sel(neuroid_property="circular_variance").values.round(3))
        [0.5]
    """
    return _of_gratings(tuning.ringach2002, responses, baseline, dtype, _IN_CYCLES, orientations="orientation")


def devalois1982a_properties(
    responses: xr.DataArray, baseline: xr.DataArray | np.ndarray, *, dtype: str | None = None
) -> PropertyAssembly:
    """Preferred orientation of each neuron: ``preferred_orientation``, in degrees from -22 to 157.

    Args:
        responses: to the gratings of ``ringach2002_properties``.
        baseline, dtype: as for all functions of this module.

    Source: De Valois, Yund & Hepler 1982; Marques, Schrimpf & DiCarlo 2021.
    """
    return _of_gratings(tuning.devalois1982a, responses, baseline, dtype, _IN_CYCLES, orientations="orientation")


def devalois1982b_properties(
    responses: xr.DataArray, baseline: xr.DataArray | np.ndarray, *, dtype: str | None = None
) -> PropertyAssembly:
    """Preferred spatial frequency of each neuron: ``peak_spatial_frequency``, in cycles per degree.

    Args:
        responses: to gratings of all radii, spatial frequencies, orientations and phases.
        baseline, dtype: as for all functions of this module.

    Source: De Valois, Albrecht & Thorell 1982; Marques, Schrimpf & DiCarlo 2021.
    """
    return _of_gratings(tuning.devalois1982b, responses, baseline, dtype, frequencies="spatial_frequency")


def schiller1976_properties(
    responses: xr.DataArray, baseline: xr.DataArray | np.ndarray, *, dtype: str | None = None
) -> PropertyAssembly:
    """Spatial-frequency selectivity and bandwidth of each neuron.

    Args:
        responses: to gratings of all radii, spatial frequencies, orientations and phases.
        baseline, dtype: as for all functions of this module.

    Returns:
        ``spatial_frequency_selective`` (0 or 1) and ``spatial_frequency_bandwidth`` (the lower frequency in percent of
        the upper one).

    Source: Schiller, Finlay & Volman 1976; Marques, Schrimpf & DiCarlo 2021.
    """
    return _of_gratings(tuning.schiller1976, responses, baseline, dtype, frequencies="spatial_frequency")


def cavanaugh2002_properties(
    responses: xr.DataArray, baseline: xr.DataArray | np.ndarray, *, dtype: str | None = None
) -> PropertyAssembly:
    """Receptive field size and surround suppression.

    Args:
        responses: to gratings of all radii, spatial frequencies, orientations and phases.
        baseline, dtype: as for all functions of this module.

    Returns:
        ``surround_suppression_index``, and ``grating_summation_field`` and ``surround_diameter`` (both in degrees).

    Source: Cavanaugh, Bair & Movshon 2002; Marques, Schrimpf & DiCarlo 2021.
    """
    grid = on_grid(responses, _GRATINGS, fixed=_FIXED)
    return _properties(tuning.cavanaugh2002, responses, grid, baseline, dtype, grid.levels["radius"])


def freemanziemba2013_properties(
    responses: xr.DataArray, baseline: xr.DataArray | np.ndarray, *, dtype: str | None = None
) -> PropertyAssembly:
    """Responses to naturalistic textures, compared with spectrally matched noise.

    Args:
        responses: to all samples of all families, of two types: in sorted order, the first is noise, the second
            texture.
        baseline, dtype: as for all functions of this module.

    Returns:
        ``texture_modulation_index``, ``absolute_texture_modulation_index``, ``texture_selectivity``,
        ``texture_sparseness``, ``variance_ratio``, and ``max_texture`` and ``max_noise`` (spikes per second above the
        baseline).

    Source: Freeman, Ziemba et al. 2013; Marques, Schrimpf & DiCarlo 2021.
    """
    grid = on_grid(responses, _TEXTURES, fixed=_FIXED)
    types = grid.levels["type"]
    if len(types) != 2:
        raise ValueError(f"responses must be to two types of images, noise and texture, got {listed(types, 'type')}")
    return _properties(tuning.freemanziemba2013, responses, grid, baseline, dtype)


def _of_gratings(
    kernel: Callable[..., Any],
    responses: xr.DataArray,
    baseline: xr.DataArray | np.ndarray,
    dtype: str | None,
    ranked: tuple[str, str] | None = None,
    **settings: str,
) -> PropertyAssembly:
    """The properties from a kernel on responses to gratings; ``settings`` map its arguments to parameters' levels."""
    grid = on_grid(responses, _GRATINGS, ranked=ranked, fixed=_FIXED)
    levels = {name: tuple(grid.levels[parameter].tolist()) for name, parameter in settings.items()}
    return _properties(kernel, responses, grid, baseline, dtype, **levels)


def _properties(
    kernel: Callable[..., Any],
    responses: xr.DataArray,
    grid: Grid,
    baseline: xr.DataArray | np.ndarray,
    dtype: str | None,
    *levels: np.ndarray,
    **settings: Any,
) -> PropertyAssembly:
    """The properties from a kernel on a grid of responses, for the responsive neurons."""
    spontaneous = _spontaneous(baseline, responses)
    properties, responsive = run(kernel, grid.values, spontaneous, *levels, dtype=dtype, **settings)
    return PropertyAssembly(
        np.stack(list(properties.values()), axis=1)[responsive],
        coords={
            **{name: (_NEUROID, c.values[responsive]) for name, c in responses.coords.items() if c.dims == (_NEUROID,)},
            "neuroid_property": ("neuroid_property", list(properties)),
        },
        dims=[_NEUROID, "neuroid_property"],
    )


def _spontaneous(baseline: xr.DataArray | np.ndarray, responses: xr.DataArray) -> np.ndarray:
    """The baseline of each neuron, in the order of the responses."""
    if isinstance(baseline, xr.DataArray):
        if baseline.dims != (_NEUROID,):
            baseline = two_dimensional(baseline, "baseline")
            if len(baseline) != 1:
                raise ValueError(
                    f"baseline must be one rate per neuron, or responses to one blank stimulus, it has {len(baseline)} "
                    "presentations: average over them"
                )
            baseline = baseline.isel(presentation=0, drop=True)
        if _ID in baseline.coords and _ID in responses.coords:
            ids = responses[_ID].values, baseline[_ID].values
            order = np.argsort(matched(*ids, ("responses", "baseline"), _ID, "neurons"))
            baseline = baseline.isel({_NEUROID: order})
        baseline = baseline.values
    values = np.asarray(baseline, float)
    if values.shape != (responses.sizes[_NEUROID],):
        raise ValueError(
            f"baseline must hold one rate for each of the {responses.sizes[_NEUROID]} neuroids of responses, "
            f"its shape is {values.shape}"
        )
    lacking = ~np.isfinite(values)
    if lacking.any():
        ids = responses[_ID].values[lacking] if _ID in responses.coords else np.flatnonzero(lacking)
        raise ValueError(f"baseline is NaN or infinite for {listed(ids, _ID)}: drop those neuroids")
    return values
