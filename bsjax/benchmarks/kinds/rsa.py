"""Comparison of a model's dissimilarity matrix with those of several subjects."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from bsjax.benchmarks.ceilings import Ceiling
from bsjax.benchmarks.kinds.neural import NeuralBenchmark
from bsjax.labelled import Score, load_ceiling
from bsjax.labelled.similarity.rdms.subject_responses import SubjectRDMSimilarity

if TYPE_CHECKING:
    from bsjax.benchmarks.experiment import TimeBins
    from bsjax.benchmarks.lazy_loading import LazyLoad
    from bsjax.data import NeuroidAssembly


class RSABenchmark(NeuralBenchmark):
    """Similarity of a model's representational geometry to that of each subject, normalised by the subjects' ceiling.

    The model's dissimilarity matrix (1 - Pearson correlation over all its units) is compared with the matrix of each
    subject's neuroids (Spearman correlation above the diagonal). The similarities are averaged over subjects and
    divided by the ceiling, without a square. The default ceiling is the mean similarity of each subject's matrix with
    the mean of all subjects' matrices; ``ceiling.raw`` has its lower bound, with the mean of the other subjects.

    Args:
        identifier: unique name of the benchmark.
        assembly: responses with ``stimulus_id``, and with ``subject`` and ``region`` on the neuroids; an assembly, a
            function without arguments that loads it, or a ``LazyLoad``. Repetitions are averaged.
        ceiling_func: function without arguments that returns another ceiling.
        similarity_metric: another comparison, ``metric(source, target) -> Score``.
        visual_degrees, number_of_trials, version, parent, bibtex, region, time_bins, about: as for
            :class:`~bsjax.benchmarks.NeuralBenchmark`.

    Source: Kriegeskorte, Mur & Bandettini 2008; Nili et al. 2014 (ceiling).

    Example:
        >>> from bsjax import load_model
        >>> from bsjax.benchmarks.families.simulated.benchmark import assembly
        >>> recording = assembly()
        >>> recording["subject"] = "neuroid", ["one", "two"] * (recording.sizes["neuroid"] // 2)
        >>> score = RSABenchmark("Simulated.V1-rsa", recording, parent="V1")(load_model("pixels"))
        >>> score.formula, score.unceiled.raw.dims
        ('r/c', ('subject',))
    """

    def __init__(
        self,
        identifier: str,
        assembly: NeuroidAssembly | Callable[[], NeuroidAssembly] | LazyLoad,
        visual_degrees: float | None = None,
        number_of_trials: int = 1,
        ceiling_func: Callable[[], Score] | None = None,
        version: int = 1,
        parent: str = "",
        bibtex: str = "",
        *,
        similarity_metric: Callable[[NeuroidAssembly, NeuroidAssembly], Score] | None = None,
        region: str | None = None,
        time_bins: TimeBins | None = None,
        about: str = "",
    ) -> None:
        super().__init__(
            identifier,
            assembly,
            similarity_metric or SubjectRDMSimilarity(),
            visual_degrees,
            number_of_trials,
            ceiling_func or Ceiling(load_ceiling("rsa_ceiling"), lambda: self.target),
            version,
            parent,
            bibtex,
            normalisation="ceil_score",
            region=region,
            time_bins=time_bins,
            about=about,
        )
