"""Object solution times of macaque IT: Kar, Kubilius, Schmidt, Issa & DiCarlo (2019).

The data are 1318 images of ten objects, with the time at which a decoder of IT identifies the object as well as the
monkey does. The benchmark measures whether a model's recordings solve the images in the same order.

A model whose responses do not change over time solves all images at once or never, so it has no order. The model
therefore sees one image first. If its responses are the same in all time bins, the score is NaN, its provenance gives
the reason, and no other image is shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from bsjax.benchmarks.base import Undefined
from bsjax.benchmarks.ceilings import constant_ceiling
from bsjax.benchmarks.kinds.recording import RecordingBenchmark
from bsjax.benchmarks.rows.row import BenchmarkRow
from bsjax.data import DataAssembly, NeuroidAssembly, StimulusSet, load_dataset
from bsjax.labelled import load_metric

if TYPE_CHECKING:
    from bsjax.models import BrainModel


class ObjectSolutionTimes(RecordingBenchmark):
    """Rank correlation between the times at which a model's recordings and IT solve images.

    Example:
        >>> from bsjax import load_benchmark
        >>> print(load_benchmark("Kar2019-ost").describe().splitlines()[2])
        shown       the images of Kar2019, 8 degrees wide, 44 trials each (a
    """

    def __init__(self, row: BenchmarkRow) -> None:
        super().__init__(
            row,
            load_metric(row.metric),
            constant_ceiling(0.79, "computed offline by Kohitij Kar, as Brain-Score states it"),
            stimuli=lambda: self.target.attrs["stimulus_set"],
            target=solution_times,
        )

    def observe(self, candidate: BrainModel, stimuli: StimulusSet) -> NeuroidAssembly:
        """The model's responses in all time bins.

        Raises:
            Undefined: the responses do not vary over time.
            ValueError: the model cannot record from IT in these time bins.
        """
        if not temporally_varying(super().observe(candidate, StimulusSet(stimuli[:1]))):
            raise Undefined(
                f"model {candidate.identifier!r} answers the same in all {len(self.time_bins)} time bins, so that it "
                "has no order of solution times",
                formula="ρ",
                n_stimuli=1,
            )
        return super().observe(candidate, stimuli)


def solution_times() -> DataAssembly:
    """Solution times of IT read out by a support vector machine, one row per image.

    Two images were shown twice under the same id; only their first row is kept. Rows are sorted by id, because the
    splits depend on their order.

    Returns:
        Times (presentation,) in ms, NaN for images that IT does not solve.

    Raises:
        FileNotFoundError, PermissionError, ConnectionError: the data are not available.
    """
    assembly = load_dataset("Kar2019")
    first = np.unique(assembly["stimulus_id"].values, return_index=True)[1]
    assembly = assembly.isel(presentation=first).sel(decoder="svm", drop=True)
    stimuli = assembly.attrs["stimulus_set"]
    return assembly.assign_attrs(stimulus_set=stimuli[~stimuli["stimulus_id"].duplicated()])


def temporally_varying(recordings: xr.DataArray) -> bool:
    """Whether any response differs between time bins.

    Args:
        recordings: responses with or without a dimension ``time_bin``.

    Example:
        >>> moving = xr.DataArray([[1.0, 2.0], [1.0, 1.0]], dims=["neuroid", "time_bin"])
        >>> temporally_varying(moving), temporally_varying(moving.isel(neuroid=[1]))
        (True, False)
    """
    if "time_bin" not in recordings.dims:
        return False
    values = recordings.transpose(..., "time_bin").values
    return not np.array_equal(values, np.broadcast_to(values[..., :1], values.shape), equal_nan=True)
