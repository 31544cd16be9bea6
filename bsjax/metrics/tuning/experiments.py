"""Tuning properties measured in six recordings of V1, for all units at once.

Each kernel takes firing rates in spikes per second and the spontaneous rate of each unit. It returns the properties by
name, ``(units,)`` each and NaN where undefined, and a mask of responsive units, whose greatest response is more than 5
spikes per second above the spontaneous rate. The recordings contain responsive neurons only; properties of other units
are computed too, but are hardly meaningful.

Source: Marques, Schrimpf & DiCarlo 2021, and the paper that each kernel is named after.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from bsjax.metrics.numerics import divide_or_nan
from bsjax.metrics.tuning.curves import Levels, PerUnit, selective
from bsjax.metrics.tuning.gratings import Preferred, phase_components, preferred
from bsjax.metrics.tuning.orientation import (
    circular_variance,
    half_bandwidth,
    orthogonal_preferred_ratio,
    preferred_orientation,
)
from bsjax.metrics.tuning.size import grating_summation_field, surround_diameter, surround_suppression_index
from bsjax.metrics.tuning.spatial_frequency import peak_spatial_frequency, spatial_frequency_bandwidth
from bsjax.metrics.tuning.texture import sparseness, texture_modulation_index, variance_ratio

Gratings = Float[Array, "units radii frequencies orientations phases"]
"""Firing rates in response to gratings, over a grid of radius (or number of cycles) and the other parameters."""

_THRESHOLD = 5.0  # spikes per second


class Measured(NamedTuple):
    """Properties measured in an experiment, by name, and the mask of responsive units; all are ``(units,)``."""

    properties: dict[str, PerUnit]
    responsive: Bool[Array, " units"]


def ringach2002(rates: Gratings, baseline: PerUnit, *, orientations: Levels) -> Measured:
    """Orientation selectivity, response strength and phase modulation at the preferred grating of each unit.

    Source: Ringach, Shapley & Hawken 2002.

    Example:
        >>> import jax.numpy as jnp
        >>> rates = 20.0 * jnp.array([0.1, 1.0, 0.1, 0.1]).reshape(1, 1, 1, 4, 1) * jnp.ones((1, 1, 1, 1, 8))
        >>> measured = ringach2002(rates, jnp.array([1.0]), orientations=(0.0, 45.0, 90.0, 135.0))
        >>> print(measured.properties["orthogonal_preferred_ratio"].round(3), measured.responsive)
        [0.1] [ True]
    """
    dc, ac = phase_components(rates)
    best = preferred(dc, axis=2)
    modulation = jnp.take_along_axis(ac.reshape(ac.shape[0], -1), best.place[:, None], axis=1)[:, 0]
    variance = circular_variance(best.curve, orientations=orientations)
    width = half_bandwidth(best.curve, orientations=orientations)
    ratio = orthogonal_preferred_ratio(best.curve)
    properties = {
        "max_dc": best.height,
        "modulation_ratio": divide_or_nan(modulation, best.height, best.height == 0),
        "circular_variance": variance,
        "bandwidth": width,
        "orthogonal_preferred_ratio": ratio,
        "orientation_selective": selective(width, best.curve),
        "circular_variance_bandwidth_ratio": variance / width,
        "orthogonal_preferred_ratio_circular_variance_difference": ratio - variance,
    }
    return Measured(properties, best.height > baseline + _THRESHOLD)


def devalois1982a(rates: Gratings, baseline: PerUnit, *, orientations: Levels) -> Measured:
    """Preferred orientation of each unit.

    Source: De Valois, Yund & Hepler 1982.
    """
    best = preferred(phase_components(rates)[0], axis=2)
    properties = {"preferred_orientation": preferred_orientation(best.curve, orientations=orientations)}
    return Measured(properties, best.height > baseline + _THRESHOLD)


def devalois1982b(rates: Gratings, baseline: PerUnit, *, frequencies: Levels) -> Measured:
    """Preferred spatial frequency of each unit, by the mean response or its modulation, whichever is greater.

    Source: De Valois, Albrecht & Thorell 1982.
    """
    best = _best_component(rates, baseline, axis=1)
    properties = {"peak_spatial_frequency": peak_spatial_frequency(best.curve, frequencies=frequencies)}
    return Measured(properties, best.height > _THRESHOLD)


def schiller1976(rates: Gratings, baseline: PerUnit, *, frequencies: Levels) -> Measured:
    """Spatial frequency selectivity and bandwidth, by the mean response including the spontaneous rate.

    Source: Schiller, Finlay & Volman 1976.
    """
    best = preferred(phase_components(rates)[0], axis=1)
    width = spatial_frequency_bandwidth(best.curve, frequencies=frequencies)
    properties = {"spatial_frequency_selective": selective(width, best.curve), "spatial_frequency_bandwidth": width}
    return Measured(properties, best.height > baseline + _THRESHOLD)


def cavanaugh2002(rates: Gratings, baseline: PerUnit, radii: Float[Array, " radii"]) -> Measured:
    """Receptive field size and surround suppression, by the mean response or its modulation, whichever is greater.

    Source: Cavanaugh, Bair & Movshon 2002.
    """
    best = _best_component(rates, baseline, axis=0)
    properties = {
        "surround_suppression_index": surround_suppression_index(best.curve),
        "grating_summation_field": grating_summation_field(best.curve, radii),
        "surround_diameter": surround_diameter(best.curve, radii),
    }
    return Measured(properties, best.height > _THRESHOLD)


def freemanziemba2013(rates: Float[Array, "units 2 families samples"], baseline: PerUnit) -> Measured:
    """Texture modulation, selectivity, variance ratio and maxima, from responses to noise (first) and texture (second).

    Source: Freeman, Ziemba et al. 2013.
    """
    units = rates.shape[0]
    above = rates - baseline[:, None, None, None]
    noise, texture = above[:, 0], above[:, 1]
    noise_families, texture_families = jnp.mean(noise, axis=2), jnp.mean(texture, axis=2)
    modulation = texture_modulation_index(texture_families, noise_families)
    greatest_texture, greatest_noise = jnp.max(texture, axis=(1, 2)), jnp.max(noise, axis=(1, 2))
    properties = {
        "texture_modulation_index": modulation,
        "absolute_texture_modulation_index": jnp.abs(modulation),
        "texture_selectivity": sparseness(texture_families),
        "texture_sparseness": sparseness(texture.reshape(units, -1)),
        "variance_ratio": variance_ratio(rates[:, 1]),
        "max_texture": greatest_texture,
        "max_noise": greatest_noise,
    }
    return Measured(properties, jnp.maximum(greatest_texture, greatest_noise) > _THRESHOLD)


def _best_component(rates: Gratings, baseline: PerUnit, axis: int) -> Preferred:
    """The preferred grating by the mean response above the spontaneous rate or its modulation, the greater of both."""
    dc, ac = phase_components(rates)
    return preferred(jnp.stack([dc - baseline[:, None, None, None], ac], axis=-1), axis)
