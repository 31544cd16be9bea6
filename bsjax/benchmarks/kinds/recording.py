"""Benchmarks that record from one region and do more than compare two recordings; each is built from its row."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from bsjax.benchmarks import descriptions as wording
from bsjax.benchmarks.base import BenchmarkBase
from bsjax.benchmarks.data_digest import data_digest
from bsjax.benchmarks.descriptions import Paradigm
from bsjax.benchmarks.experiment import record
from bsjax.benchmarks.lazy_loading import loader
from bsjax.benchmarks.rows.row import BenchmarkRow
from bsjax.data import NeuroidAssembly, StimulusSet, load_stimulus_set
from bsjax.labelled import Score

if TYPE_CHECKING:
    from bsjax.models import BrainModel


class RecordingBenchmark(BenchmarkBase):
    """A benchmark that records from one region, built from its row.

    The metric compares the recordings with the target. If there is no target, a subclass overrides
    ``compare(observed)``. The row's settings ``shown``, ``compared`` and ``normalised`` are its description in words.

    Args:
        row: the row of the benchmark.
        metric: the metric that compares, or measures, the recordings.
        ceiling_func: function without arguments that returns the ceiling.
        stimuli: function that loads the stimuli; by default those of the row's data set.
        target: function that loads what recordings are compared with; called once, when first needed.

    Example:
        >>> from bsjax import load_benchmark
        >>> benchmark = load_benchmark("Kar2019-ost")
        >>> benchmark.region, benchmark.visual_degrees
        ('IT', 8)
    """

    def __init__(
        self,
        row: BenchmarkRow,
        metric: Any,
        ceiling_func: Callable[[], Score],
        *,
        stimuli: Callable[[], StimulusSet] | None = None,
        target: Callable[[], Any] | None = None,
    ) -> None:
        super().__init__(
            row.identifier, ceiling_func, row.version or 1, row.parent, row.bibtex, normalisation=row.normalisation
        )
        self.region = row.region
        self.time_bins = list(row.time_bins)
        self.visual_degrees = row.visual_degrees
        self.number_of_trials = row.number_of_trials
        self.metric = metric
        self._words = row.settings
        self._load_stimuli = stimuli or partial(load_stimulus_set, row.data[0])
        self._load_target = loader(target)

    @cached_property
    def stimuli(self) -> StimulusSet:
        """The stimuli of the experiment."""
        return self._load_stimuli()

    @cached_property
    def target(self) -> Any:
        """The data that recordings are compared with; None if there are none."""
        return self._load_target()

    @cached_property
    def made_from(self) -> dict[str, Any]:
        """The region, the digests of stimuli and data, if any, and the number of stimuli."""
        data = {} if self.target is None else {"data": data_digest(self.target)}
        stimuli = {"stimuli": data_digest(self.stimuli), "n_stimuli": len(self.stimuli)}
        return {"region": self.region, **data, **stimuli}

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

    def paradigm(self) -> Paradigm:
        """The stimuli, recording, comparison and normalisation in words; loads no data."""
        return Paradigm(
            wording.shown(self._words["shown"], self.visual_degrees, self.number_of_trials),
            wording.recorded(self.region, self.time_bins),
            self._words["compared"],
            self._words["normalised"],
        )
