"""Tuning properties of V1 neurons, vectorised over units: orientation, spatial frequency, size and texture."""

from typing import TYPE_CHECKING

from bsjax.core.public_names import on_first_use

if TYPE_CHECKING:
    from bsjax.metrics.tuning.experiments import Measured as Measured
    from bsjax.metrics.tuning.experiments import cavanaugh2002 as cavanaugh2002
    from bsjax.metrics.tuning.experiments import devalois1982a as devalois1982a
    from bsjax.metrics.tuning.experiments import devalois1982b as devalois1982b
    from bsjax.metrics.tuning.experiments import freemanziemba2013 as freemanziemba2013
    from bsjax.metrics.tuning.experiments import ringach2002 as ringach2002
    from bsjax.metrics.tuning.experiments import schiller1976 as schiller1976
    from bsjax.metrics.tuning.orientation import circular_variance as circular_variance
    from bsjax.metrics.tuning.orientation import half_bandwidth as half_bandwidth
    from bsjax.metrics.tuning.orientation import orthogonal_preferred_ratio as orthogonal_preferred_ratio
    from bsjax.metrics.tuning.orientation import preferred_orientation as preferred_orientation
    from bsjax.metrics.tuning.size import grating_summation_field as grating_summation_field
    from bsjax.metrics.tuning.size import surround_diameter as surround_diameter
    from bsjax.metrics.tuning.size import surround_suppression_index as surround_suppression_index
    from bsjax.metrics.tuning.spatial_frequency import peak_spatial_frequency as peak_spatial_frequency
    from bsjax.metrics.tuning.spatial_frequency import spatial_frequency_bandwidth as spatial_frequency_bandwidth
    from bsjax.metrics.tuning.texture import sparseness as sparseness
    from bsjax.metrics.tuning.texture import texture_modulation_index as texture_modulation_index
    from bsjax.metrics.tuning.texture import variance_ratio as variance_ratio

__getattr__, __dir__, __all__ = on_first_use(globals())
