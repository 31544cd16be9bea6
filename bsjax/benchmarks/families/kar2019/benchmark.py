"""Object solution times of macaque IT: Kar, Kubilius, Schmidt, Issa & DiCarlo (2019).

1318 images of ten objects, and for each the time at which a decoder of IT says which object it shows as well as the
monkey does. A model is asked whether its recordings solve the images in the same order.

A model whose responses do not change over time solves all images at once or never, so that there is no order. One
image is looked at first: where its responses are the same in all time bins, the score is NaN, its provenance says why,
and no other image is shown.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bsjax.benchmarks.ceilings import constant_ceiling, content_digest
from bsjax.benchmarks.kinds.recording import RecordingBenchmark, stimuli_digest
from bsjax.data import DataAssembly, StimulusSet, load_dataset
from bsjax.labelled import Score, load_metric
from bsjax.labelled.normalise import ceil_score

if TYPE_CHECKING:
    from bsjax.models import BrainModel

BIBTEX = """@article{kar2019evidence,
  title = {Evidence that recurrent circuits are critical to the ventral stream's execution of core object recognition
    behavior},
  author = {Kar, Kohitij and Kubilius, Jonas and Schmidt, Kailyn and Issa, Elias B. and DiCarlo, James J.},
  journal = {Nature Neuroscience},
  volume = {22},
  number = {6},
  pages = {974--983},
  year = {2019},
  doi = {10.1038/s41593-019-0392-5},
  url = {https://doi.org/10.1038/s41593-019-0392-5}
}"""

TIME_BINS = [(start, start + 10) for start in range(70, 250, 10)]


class ObjectSolutionTimes(RecordingBenchmark):
    """The order in which a model's recordings solve images, against that of IT.

    Example:
        >>> print(ObjectSolutionTimes().describe().splitlines()[2])
        shown       the images of Kar2019, 8 degrees wide, 44 trials each (a model that answers alike sees
    """

    def __init__(self) -> None:
        super().__init__(
            "Kar2019-ost",
            region="IT",
            time_bins=TIME_BINS,
            visual_degrees=8,
            number_of_trials=44,
            metric=load_metric("ost"),
            normalisation="ceil_score",
            stimuli="the images of Kar2019",
            compared=(
                "object solution times of macaque IT, read by a support vector machine: the Spearman correlation over "
                "images, ten splits (ost). A model that answers the same in all time bins scores NaN after one image"
            ),
            ceiling="the score over the ceiling; ceiling: 0.79, computed by the authors",
            ceiling_func=constant_ceiling(0.79, "computed offline by Kohitij Kar, as Brain-Score states it"),
            version=2,
            parent="IT",
            bibtex=BIBTEX,
        )

    @cached_property
    def target(self) -> DataAssembly:
        """The solution times (presentation) of IT in ms, with ``i1``, the d' that counts as solved."""
        return solution_times()

    @cached_property
    def _digest(self) -> str:
        return f"sha256:{content_digest(self.target)[:16]}"

    def __call__(self, candidate: BrainModel) -> Score:
        """Score ``candidate``.

        Returns:
            The score over the ceiling. NaN for a model that does not vary over time, with ``provenance["reason"]``.

        Raises:
            ValueError: the model cannot record from IT in these time bins.
        """
        start = datetime.now(UTC)
        stimuli = self.on_screen(self.target.attrs["stimulus_set"], candidate)
        more: dict[str, Any] = {
            "region": self.region,
            "data": self._digest,
            "stimuli": stimuli_digest(self.target.attrs["stimulus_set"]),
        }
        if not temporally_varying(self.recording(StimulusSet(stimuli[:1]), candidate)):
            reason = (
                f"model {candidate.identifier!r} answers the same in all {len(self.time_bins)} time bins, so that it "
                "has no order of solution times"
            )
            score = ceil_score(Score(math.nan, formula="ρ"), self.ceiling)
            return self.labelled(score, candidate, start=start, n_stimuli=1, reason=reason, **more)
        score = ceil_score(self.metric(self.recording(stimuli, candidate), self.target), self.ceiling)
        return self.labelled(score, candidate, start=start, n_stimuli=len(stimuli), **more)


def solution_times() -> DataAssembly:
    """The solution times of IT that a support vector machine reads out, each image once.

    Two images were shown twice under the same id: the first row of each stays, and rows are sorted by id, on whose
    order the splits depend.

    Returns:
        (presentation,) in ms, NaN where IT does not solve an image.

    Raises:
        FileNotFoundError, PermissionError, ConnectionError: the data cannot be had.
    """
    assembly = load_dataset("Kar2019")
    first = np.unique(assembly["stimulus_id"].values, return_index=True)[1]
    assembly = assembly.isel(presentation=first).sel(decoder="svm", drop=True)
    stimuli = assembly.attrs["stimulus_set"]
    return assembly.assign_attrs(stimulus_set=stimuli[~stimuli["stimulus_id"].duplicated()])


def temporally_varying(recordings: xr.DataArray) -> bool:
    """Whether any response differs between time bins.

    Args:
        recordings: with or without a dimension ``time_bin``.

    Example:
        >>> moving = xr.DataArray([[1.0, 2.0], [1.0, 1.0]], dims=["neuroid", "time_bin"])
        >>> temporally_varying(moving), temporally_varying(moving.isel(neuroid=[1]))
        (True, False)
    """
    if "time_bin" not in recordings.dims:
        return False
    values = recordings.transpose(..., "time_bin").values
    return not np.array_equal(values, np.broadcast_to(values[..., :1], values.shape), equal_nan=True)


kar2019_ost = ObjectSolutionTimes
