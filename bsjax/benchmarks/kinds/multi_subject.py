"""Benchmarks that average others of the same kind, one for each subject or for each fold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from bsjax.benchmarks.base import BenchmarkBase
from bsjax.benchmarks.descriptions import Paradigm
from bsjax.labelled import Score
from bsjax.labelled.aggregate import mean_score

if TYPE_CHECKING:
    from bsjax.benchmarks.base import Benchmark
    from bsjax.models import BrainModel


class MultiSubjectNeuralBenchmark(BenchmarkBase):
    """The mean score of several benchmarks, one for each subject.

    Each subject's benchmark is built, scored and released before the next, so only one subject's data are in memory at
    a time. The error is that of the mean under resampling of the subjects (200 bootstraps, seed 0); a single subject
    has none.

    Args:
        identifier: unique name of the benchmark.
        children: subject -> function without arguments that builds that subject's benchmark.
        version: number that rises by one whenever the benchmark's scores change.
        parent: the node under which the benchmark is averaged.
        bibtex: publication of the data.

    Raises:
        ValueError: there are no children.

    Example:
        >>> from bsjax import load_benchmark, load_model
        >>> children = {name: lambda m=name: load_benchmark(f"Simulated.V1-{m}") for name in ("cka", "rdm")}
        >>> both = MultiSubjectNeuralBenchmark("Simulated.V1-both", children)
        >>> score = both(load_model("pixels"))
        >>> score.unceiled.raw.sizes["subject"], both.over
        (2, 'subject')
    """

    over = "subject"

    def __init__(
        self,
        identifier: str,
        children: Mapping[str, Callable[[], Benchmark]],
        version: int = 1,
        parent: str = "",
        bibtex: str = "",
    ) -> None:
        if not children:
            raise ValueError(f"benchmark {identifier!r} averages the benchmarks of each {self.over}: give at least one")
        super().__init__(identifier, self._mean_ceiling, version, parent, bibtex)
        self.children = dict(children)

    def _mean_ceiling(self) -> Score:
        ceilings = {name: _without_raw(build().ceiling) for name, build in self.children.items()}
        return mean_score(ceilings, self.over, kind="bootstrap")

    def observe(self, candidate: BrainModel, stimuli: None) -> dict[str, Score]:
        """The score of each child."""
        return {name: _without_raw(build()(candidate)) for name, build in self.children.items()}

    def compare(self, observed: Mapping[str, Score]) -> Score:
        """The mean of the scores, each already on the scale of its ceiling.

        ``raw`` has one score per child, ``unceiled.raw`` one raw score and ``ceiling.raw`` one ceiling per child.
        """
        first = next(iter(observed.values()))
        score = mean_score(observed, self.over, kind="bootstrap", formula=f"mean over {self.over}s of {first.formula}")
        digests = {
            what: {name: each.provenance.get(what) for name, each in observed.items()} for what in ("data", "stimuli")
        }
        return replace(score, provenance=score.provenance.with_entries(**digests))

    def paradigm(self) -> Paradigm:
        """The description of the first child, and the number of children averaged over; loads no data."""
        first = next(iter(self.children.values()))()
        own = getattr(first, "paradigm", super().paradigm)()
        names = ", ".join(self.children)
        return own._replace(normalised=f"{own.normalised}; the mean over {len(self.children)} {self.over}s ({names})")


class KFoldNeuralBenchmark(MultiSubjectNeuralBenchmark):
    """The mean score of several benchmarks, one for each fold; works like :class:`MultiSubjectNeuralBenchmark`.

    Example:
        >>> KFoldNeuralBenchmark("Mine-folds", {})
        Traceback (most recent call last):
        ...
        ValueError: benchmark 'Mine-folds' averages the benchmarks of each fold: give at least one
    """

    over = "fold"


def _without_raw(score: Score) -> Score:
    """The score without raw values, because values per neuroid would keep every subject's data in memory."""
    slim = {
        name: None if part is None else replace(part, raw=None)
        for name, part in (("unceiled", score.unceiled), ("ceiling", score.ceiling))
    }
    return replace(score, raw=None, **slim)
