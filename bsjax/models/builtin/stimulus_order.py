"""The order of the stimuli as a model, as a baseline for slow changes over the course of the stimulus set."""

from collections.abc import Sequence

import numpy as np

from bsjax.activations.checks import checked_layers, checked_stimuli, unknown_layers
from bsjax.activations.neuroids import Units, label, neuroid_coords
from bsjax.data import NeuroidAssembly, StimulusSet
from bsjax.models.brain_model import RecordingTarget
from bsjax.models.builtin.any_region import AnyRegion

# More than the 25 components of the PLS regression in benchmarks.
_WAVES = 32
_LAYER = "order"


def stimulus_order() -> AnyRegion:
    r"""32 slow waves over the rows of the stimulus set, as the units of every region. The model sees no image.

    The layer ``order`` has :math:`\cos(\pi k (i + 1/2) / n)` for stimulus i of n and k = 1 to 32. Anything that
    changes slowly over the rows, such as drift of a recording or blocks of an experiment, is a weighted sum of these
    waves. The model scores above zero if neighbouring stimuli have similar responses and are divided between training
    and test sets. :func:`bsjax.check_leakage` detects this from the data alone.

    Example:
        >>> model = stimulus_order()
        >>> model.start_recording("IT", [(0, 100)])
        >>> model.look_at(StimulusSet({"stimulus_id": ["a", "b", "c"]})).values[:, 0].round(2).tolist()
        [0.8700000047683716, 0.0, -0.8700000047683716]
    """
    return AnyRegion(
        "stimulus-order", _Order(), layers=[_LAYER], region_layer_map=dict.fromkeys(RecordingTarget, _LAYER)
    )


class _Order:
    """An activations model of the row numbers."""

    identifier = "stimulus-order"
    looks_at_images = False

    def layers(self) -> dict[str, tuple[int, ...]]:
        """The one layer."""
        return {_LAYER: (_WAVES,)}

    def __call__(self, stimuli: StimulusSet, layers: str | Sequence[str]) -> NeuroidAssembly:
        """The waves of every row."""
        layers = checked_layers(layers)
        checked_stimuli(stimuli)
        if layers != [_LAYER]:
            raise unknown_layers(self.identifier, [name for name in layers if name != _LAYER], self.layers())
        place = (np.arange(len(stimuli)) + 0.5) / max(len(stimuli), 1)
        waves = np.cos(np.pi * place[:, None] * np.arange(1, _WAVES + 1))
        return label(waves.astype(np.float32), neuroid_coords(self.identifier, [Units(_LAYER, (_WAVES,))]), stimuli)
