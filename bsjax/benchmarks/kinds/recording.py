"""Base class of recording benchmarks that do more than compare two recordings."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pandas as pd

from bsjax.benchmarks import descriptions as wording
from bsjax.benchmarks.base import BenchmarkBase
from bsjax.benchmarks.data_digest import data_digest
from bsjax.benchmarks.descriptions import Paradigm
from bsjax.benchmarks.experiment import TimeBins, record
from bsjax.data import NeuroidAssembly, StimulusSet
from bsjax.labelled import Score

if TYPE_CHECKING:
    from bsjax.models import BrainModel


class RecordingBenchmark(BenchmarkBase):
    """A benchmark that records from one region. A subclass provides the stimuli and the comparison.

    It sets the attributes ``stimuli``, the stimulus set, and ``target``, which ``metric`` compares recordings with. If
    there is no target, it overrides ``compare(observed)``.

    Args:
        identifier: unique name of the benchmark.
        region: the region to record.
        time_bins: (start, end) of each bin, in ms after stimulus onset.
        visual_degrees: width of the stimuli; ``None`` if unknown, so that each fills the model's field of view.
        number_of_trials: number of presentations of each stimulus.
        metric: the metric that compares, or measures, the recordings.
        normalisation: name of the function that puts the score on the scale of the ceiling; ``""`` for none.
        stimuli, compared, ceiling: texts for :meth:`paradigm`.
        ceiling_func, version, parent, bibtex: as for :class:`~bsjax.benchmarks.BenchmarkBase`.

    Example:
        >>> from bsjax import load_benchmark
        >>> benchmark = load_benchmark("Kar2019-ost")
        >>> benchmark.region, benchmark.visual_degrees
        ('IT', 8)
    """

    def __init__(
        self,
        identifier: str,
        *,
        region: str,
        time_bins: TimeBins,
        visual_degrees: float | None,
        metric: Any,
        stimuli: str,
        compared: str,
        ceiling: str,
        ceiling_func: Callable[[], Score],
        normalisation: str = "",
        number_of_trials: int = 1,
        version: int = 1,
        parent: str = "",
        bibtex: str = "",
    ) -> None:
        super().__init__(identifier, ceiling_func, version, parent, bibtex, normalisation=normalisation)
        self.region = region
        self.time_bins = list(time_bins)
        self.visual_degrees = visual_degrees
        self.number_of_trials = number_of_trials
        self.metric = metric
        self._words = stimuli, compared, ceiling

    def paradigm(self) -> Paradigm:
        """The stimuli, recording, comparison and normalisation in words; loads no data."""
        stimuli, compared, ceiling = self._words
        if self.visual_degrees is None:
            stimuli = f"{stimuli}, filling the model's field of view, once each"
        else:
            stimuli = wording.shown(stimuli, self.visual_degrees, self.number_of_trials)
        return Paradigm(stimuli, wording.recorded(self.region, self.time_bins), compared, ceiling)

    @cached_property
    def made_from(self) -> dict[str, Any]:
        """The region, the digests of stimuli and data, if any, and the number of stimuli."""
        data = {} if self.target is None else {"data": data_digest(self.target)}
        stimuli = {"stimuli": data_digest(self.stimuli), "n_stimuli": len(self.stimuli)}
        return {"region": self.region, **data, **stimuli}

    def stimuli_for(self, candidate: BrainModel) -> StimulusSet:
        """The stimuli as the model sees them."""
        return self.stimuli if self.visual_degrees is None else super().stimuli_for(candidate)

    def observe(self, candidate: BrainModel, stimuli: StimulusSet) -> NeuroidAssembly:
        """The model's responses to stimuli that are already on its screen, in the order of the stimuli.

        Raises:
            ValueError: the model cannot record from the region, or its responses are to other stimuli.
        """
        seen = record(candidate, self.region, self.time_bins, stimuli, self.number_of_trials)
        order = pd.Index(seen["stimulus_id"].values).get_indexer(pd.Index(stimuli["stimulus_id"]))
        if len(order) != seen.sizes["presentation"] or (order < 0).any():
            raise ValueError(
                f"model {candidate.identifier!r} was shown {len(stimuli)} stimuli of {self.identifier!r} and answered "
                f"with {seen.sizes['presentation']} presentations, of other stimuli or of some more than once"
            )
        return seen.isel(presentation=order)
