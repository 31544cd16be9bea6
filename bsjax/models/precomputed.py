"""A brain model with precomputed responses, for testing benchmarks."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bsjax.core.labels import remedy
from bsjax.data import BehavioralAssembly, NeuroidAssembly, StimulusSet, read_assembly
from bsjax.models.brain_model import RecordingTarget, Task
from bsjax.models.stimulus_presentation import as_stimulus_set


class PrecomputedFeatures:
    """A brain model that returns stored responses by ``stimulus_id`` for every request, as in Brain-Score.

    A benchmark's test can store the responses of a model and check that the score does not change. It then needs
    neither the model nor the images.

    Args:
        features: recordings (presentation, neuroid[, time_bin]) or behaviour (presentation[, choice]) with
            ``stimulus_id``, or the path of a netCDF file with these.
        visual_degrees: width of the model's visual field in degrees of visual angle.
        identifier: its name; by default that of the file, or "precomputed".

    Raises:
        FileNotFoundError: the file does not exist.
        ValueError: ``stimulus_id`` is missing on presentation, or repeats.

    Example:
        >>> features = NeuroidAssembly([[1.0, 2.0]], dims=["presentation", "neuroid"],
        ...     coords={"stimulus_id": ("presentation", ["a"]), "neuroid_id": ("neuroid", [0, 1])})
        >>> model = PrecomputedFeatures(features, visual_degrees=8)
        >>> model.start_recording("IT", [(70, 170)])
        >>> model.look_at(StimulusSet([{"stimulus_id": "a"}])).values.tolist()
        [[1.0, 2.0]]
    """

    looks_at_images = False

    def __init__(
        self,
        features: NeuroidAssembly | BehavioralAssembly | str | PathLike[str],
        visual_degrees: float,
        identifier: str | None = None,
    ) -> None:
        if isinstance(features, (str, PathLike)):
            identifier = identifier or Path(features).stem
            read = read_assembly(Path(features))
            answers = NeuroidAssembly(read) if "neuroid" in read.dims else BehavioralAssembly(read)
        else:
            answers = features
        ids = answers.coords.get("stimulus_id")
        if ids is None or ids.dims != ("presentation",):
            raise ValueError(
                f"features need stimulus_id on presentation; they have {', '.join(map(str, answers.coords))}"
            )
        self._rows = pd.Index(ids.values)
        if self._rows.has_duplicates:
            repeated = self._rows[self._rows.duplicated()].unique()[:5]
            raise ValueError(f"features have several answers to the same stimulus: {', '.join(map(str, repeated))}")
        self._answers = answers
        self._visual_degrees = visual_degrees
        self.identifier = identifier or "precomputed"

    def visual_degrees(self) -> float:
        """Width of the model's visual field in degrees of visual angle."""
        return self._visual_degrees

    def start_task(self, task: Task | str, fitting_stimuli: Any = None, **settings: Any) -> None:
        """Has no effect, because the responses are stored."""

    def start_recording(
        self, recording_target: RecordingTarget | str, time_bins: Sequence[tuple[float, float]]
    ) -> None:
        """Has no effect, because the responses are stored."""

    def look_at(
        self,
        stimuli: StimulusSet | Sequence[str | PathLike[str]],
        number_of_trials: int = 1,
        require_variance: bool = False,
    ) -> NeuroidAssembly | BehavioralAssembly:
        """The stored responses, one row per stimulus in the order of ``stimuli``.

        Raises:
            ValueError: stimuli have no stored response; the message has their ids.
        """
        wanted = as_stimulus_set(stimuli)["stimulus_id"].to_numpy()
        rows = self._rows.get_indexer(pd.Index(wanted))
        if (rows < 0).any():
            missing = np.asarray(wanted)[rows < 0]
            shown = ", ".join(map(str, missing[:5]))
            raise ValueError(
                f"no stored answer to {len(missing)} of {len(wanted)} stimuli: {shown}. "
                + remedy(wanted, self._rows, ("stimuli", "features"))
            )
        return self._answers.isel(presentation=rows)
