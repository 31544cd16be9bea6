"""What the benchmarks that are no plain comparison of two recordings have in common."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pandas as pd

from bsjax.benchmarks import descriptions as wording
from bsjax.benchmarks.base import BenchmarkBase, Paradigm
from bsjax.benchmarks.experiment import TimeBins, record
from bsjax.data import NeuroidAssembly, StimulusSet
from bsjax.labelled import Score
from bsjax.models import place_on_screen

if TYPE_CHECKING:
    from bsjax.models import BrainModel


class RecordingBenchmark(BenchmarkBase):
    """A benchmark that records from one region; a subclass says in ``__call__`` what becomes of the recording.

    Args:
        identifier: unique name of the benchmark.
        region: where to record.
        time_bins: (start, end) of each, in ms after stimulus onset.
        visual_degrees: width of the stimuli; ``None`` where it is not known, so that each fills the model's field.
        number_of_trials: how often the model sees each.
        metric: what compares, or measures, the recordings.
        normalisation: name of the function that puts the score on the scale of the ceiling; ``""`` for none.
        stimuli, compared, ceiling: words for :meth:`paradigm`.
        ceiling_func, version, parent, bibtex: as of :class:`~bsjax.benchmarks.BenchmarkBase`.

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
        super().__init__(identifier, ceiling_func, version, parent, bibtex)
        self.region = region
        self.time_bins = list(time_bins)
        self.visual_degrees = visual_degrees
        self.number_of_trials = number_of_trials
        self.metric = metric
        self.normalisation = normalisation
        self._words = stimuli, compared, ceiling

    def paradigm(self) -> Paradigm:
        """What is shown, recorded, compared and normalised; nothing is loaded for it."""
        stimuli, compared, ceiling = self._words
        if self.visual_degrees is None:
            stimuli = f"{stimuli}, each over the whole field of the model, once each"
        else:
            stimuli = wording.shown(stimuli, self.visual_degrees, self.number_of_trials)
        return Paradigm(stimuli, wording.recorded(self.region, self.time_bins), compared, ceiling)

    def on_screen(self, stimuli: StimulusSet, candidate: BrainModel) -> StimulusSet:
        """The stimuli as the model is to see them."""
        if self.visual_degrees is None:
            return stimuli
        return place_on_screen(
            stimuli, target_visual_degrees=candidate.visual_degrees(), source_visual_degrees=self.visual_degrees
        )

    def recording(self, stimuli: StimulusSet, candidate: BrainModel) -> NeuroidAssembly:
        """The model's responses to stimuli that are on its screen, in the order of the stimuli.

        Raises:
            ValueError: the model cannot record from the region, or answers for other stimuli.
        """
        seen = record(candidate, self.region, self.time_bins, stimuli, self.number_of_trials)
        order = pd.Index(seen["stimulus_id"].values).get_indexer(pd.Index(stimuli["stimulus_id"]))
        if len(order) != seen.sizes["presentation"] or (order < 0).any():
            raise ValueError(
                f"model {candidate.identifier!r} was shown {len(stimuli)} stimuli of {self.identifier!r} and answered "
                f"with {seen.sizes['presentation']} presentations, of other stimuli or of some more than once"
            )
        return seen.isel(presentation=order)


def stimuli_digest(stimuli: StimulusSet) -> str:
    """Digest of stimuli: their ids and the bytes of their files.

    Returns:
        ``"sha256:"`` and the first 16 hexadecimal digits.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile() as image:
        ...     one, other = (StimulusSet({"stimulus_id": [name]}, stimulus_paths={name: image.name}) for name in "ab")
        ...     stimuli_digest(one) == stimuli_digest(other)
        False
    """
    digest = hashlib.sha256()
    for stimulus_id in stimuli["stimulus_id"]:
        digest.update(f"{stimulus_id}\0".encode())
        digest.update(hashlib.sha256(stimuli.get_stimulus(stimulus_id).read_bytes()).digest())
    return f"sha256:{digest.hexdigest()[:16]}"
