"""Whether shape or texture decides what an image is taken for, where the two are those of different objects."""

from dataclasses import replace

import numpy as np
import xarray as xr

from bsjax.labelled.aggregate import no_error
from bsjax.labelled.align import aligned, coordinate
from bsjax.labelled.behaviour.accuracy import Accuracy
from bsjax.labelled.behaviour.responses import PRESENTATION, equal, one_choice
from bsjax.labelled.score import Score


class ShapeBias:
    """Of the choices of shape or texture, the share of those of the shape: ``shape / (shape + texture)``.

    NaN where neither is ever chosen. The error is the standard error of a share of ``n`` choices,
    ``sqrt(b (1 - b) / n)``. ``raw`` has 1 (shape), 0 (texture) or NaN (neither) for every trial; ``n_units`` counts
    the trials, ``n_undefined`` those with neither.

    Args:
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

    Source: Geirhos et al. 2019; Hermann, Chen & Kornblith 2020.

    Example:
        >>> cues = xr.DataArray(["cat", "car", "dog"], dims=["presentation"], coords={
        ...     "stimulus_id": ("presentation", [1, 2, 3]), "texture": ("presentation", ["dog", "dog", "car"])})
        >>> choices = xr.DataArray(["cat", "dog", "cup"], {"stimulus_id": cues["stimulus_id"]}, ["presentation"])
        >>> ShapeBias()(choices, cues)
        Score(0.5000 ± 0.3536, shape/(shape+texture))
    """

    identifier = "shape_bias"

    def __init__(self, dtype: str | None = None) -> None:
        self.dtype = dtype

    def __call__(self, source: xr.DataArray, target: xr.DataArray) -> Score:
        """How often the shape is chosen.

        Args:
            source: choices, one a presentation, with ``stimulus_id``.
            target: the shapes of the same stimuli, with their ``texture``.

        Raises:
            ValueError: a coordinate is missing, or the two hold different stimuli.
        """
        texture = coordinate(target, "texture", PRESENTATION, "target")
        choices = aligned(one_choice(source, "source"), target)
        neither = ~equal(choices.values, target.values) & ~equal(choices.values, texture)
        # A trial without an answer does not count for accuracy; here it is one of neither.
        decided = np.where(neither, np.array(None, object), np.asarray(choices.values, object))
        score = Accuracy(self.dtype)(decided, np.asarray(target.values, object))
        decisions = int((~neither).sum())
        several = decisions > 1
        return replace(
            score,
            error=float(np.sqrt(score.value * (1 - score.value) / decisions)) if several else None,
            error_kind="standard error of a share" if several else no_error("trials", decisions, len(neither)),
            formula="shape/(shape+texture)",
            provenance=replace(score.provenance, metric=self.identifier),
        )
