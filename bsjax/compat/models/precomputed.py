"""A model with stored answers, for the tests of plugins."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from bsjax.benchmarks.lazy_loading import content_of
from bsjax.core.registry import UnknownIdentifier
from bsjax.models import PrecomputedFeatures as OfBsjax


class PrecomputedFeatures:
    """Returns stored answers by ``stimulus_id``, the first if a stimulus has several, whatever the task or recording.

    Args:
        features: an assembly, or a mapping from identifiers of stimulus sets to assemblies.
        visual_degrees: width of the field of view.
    """

    identifier = "precomputed"
    looks_at_images = False

    def __init__(self, features: Any, visual_degrees: float) -> None:
        self.features = features
        self._visual_degrees = visual_degrees

    def visual_degrees(self) -> float:
        """Width of the field of view."""
        return self._visual_degrees

    def start_task(self, task: Any, fitting_stimuli: Any = None, **settings: Any) -> None:
        """Do nothing, because the answers are stored."""

    def start_recording(self, region: Any, *args: Any, **kwargs: Any) -> None:
        """Do nothing, because the answers are stored."""

    def look_at(self, stimuli: Any, number_of_trials: int = 1, require_variance: bool = False) -> Any:
        """The stored answers, one row for each stimulus.

        Raises:
            KeyError: there are no answers for this stimulus set.
            ValueError: answers to some stimuli are missing.
        """
        several = isinstance(self.features, Mapping)
        if several and stimuli.identifier not in self.features:
            known = ", ".join(map(str, self.features))
            raise UnknownIdentifier(f"no stored answers to the stimulus set {stimuli.identifier!r}, only to {known}")
        features = content_of(self.features[stimuli.identifier] if several else self.features)
        _, first = np.unique(features["stimulus_id"].values, return_index=True)
        return OfBsjax(features.isel(presentation=first), self._visual_degrees).look_at(stimuli)
