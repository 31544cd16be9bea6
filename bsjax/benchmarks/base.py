"""The protocol of benchmarks, and their common base: names, ceiling, and a description in words."""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from bsjax.labelled import Score

if TYPE_CHECKING:
    from bsjax.models import BrainModel

_WIDTH = 100


class Benchmark(Protocol):
    """Anything that scores a brain model.

    Any object with these members is a benchmark; there is nothing to inherit from and nothing to register.

    Attributes:
        identifier: unique name, e.g. ``"Cowley2026.V4-ridge"``.
        version: raised by one whenever a change of the benchmark changes its scores.
        parent: the benchmark or region under which this one is averaged, e.g. ``"V4"``.
        bibtex: the publication of the data, ``""`` if there is none.

    Example:
        >>> from bsjax import load_benchmark
        >>> benchmark = load_benchmark("Simulated.V1-ridge")
        >>> benchmark.identifier, benchmark.version, benchmark.parent
        ('Simulated.V1-ridge', 2, 'V1')
    """

    identifier: str
    version: int
    parent: str
    bibtex: str

    @property
    def ceiling(self) -> Score:
        """The best score that the noise in the data allows, computed when first asked for."""
        ...

    def __call__(self, candidate: BrainModel) -> Score:
        """Score ``candidate``; the result holds the raw score and the ceiling it was divided by."""
        ...


class Paradigm(NamedTuple):
    """What a benchmark does, in words, each a sentence without its heading.

    Attributes:
        shown: what the model sees: stimuli, their size, how often.
        recorded: what is asked of it: a region and time bins, or a task.
        compared: what its answers are compared with, and how.
        normalised: what the ceiling is, and how the score is put on its scale.
    """

    shown: str
    recorded: str
    compared: str
    normalised: str


class BenchmarkBase:
    """A benchmark without its experiment: a subclass adds ``__call__(candidate) -> Score``, and ``paradigm()``.

    The arguments are those of Brain-Score's class of this name.

    Args:
        identifier: unique name, e.g. ``"MajajHong2015.IT-pls"``.
        ceiling_func: function without arguments that gives the ceiling: a :class:`~bsjax.benchmarks.Ceiling`, whose
            result is kept on disk, or any other. It is called once, when the ceiling is first needed.
        version: raised by one whenever the benchmark's scores change.
        parent: what the benchmark is averaged under: a region, ``"behavior"``, or another benchmark.
        bibtex: publication of the data.

    Raises:
        ValueError: there is no ``ceiling_func``, or the version is no whole number from 1.

    Example:
        >>> class Constant(BenchmarkBase):
        ...     def __call__(self, candidate):
        ...         return Score(0.5)
        >>> benchmark = Constant("Mine2026-constant", ceiling_func=lambda: Score(1.0), version=1, parent="V1")
        >>> benchmark.ceiling, benchmark.bibtex
        (Score(1.0000), '')
    """

    def __init__(
        self,
        identifier: str,
        ceiling_func: Callable[[], Score] | None = None,
        version: int = 1,
        parent: str | None = "",
        bibtex: str | None = "",
    ) -> None:
        if not callable(ceiling_func):
            raise ValueError(
                f"benchmark {identifier!r} has no ceiling_func; give a function without arguments, "
                "e.g. bsjax.benchmarks.Ceiling(load_ceiling('internal_consistency'), load_single_trials)"
            )
        if isinstance(version, bool) or not isinstance(version, int) or version < 1:
            raise ValueError(f"benchmark {identifier!r}: version must be a whole number from 1, got {version!r}")
        self.identifier = identifier
        # The second name is Brain-Score's, which subclasses that come from there may call.
        self.ceiling_func = self._ceiling_func = ceiling_func
        self.version = version
        self.parent = parent or ""
        self.bibtex = bibtex or ""

    @cached_property
    def ceiling(self) -> Score:
        """The ceiling: what a perfect model would score, given the noise in the data."""
        return self.ceiling_func()

    def __call__(self, candidate: BrainModel) -> Score:
        """Score ``candidate``."""
        raise NotImplementedError(f"{type(self).__name__} has no __call__(candidate) of its own")

    def paradigm(self) -> Paradigm:
        """What is shown, recorded, compared and normalised; nothing is loaded for it."""
        about = (type(self).__doc__ or "").strip().partition("\n")[0]
        unknown = "its author does not say"
        return Paradigm(unknown, unknown, about or unknown, unknown)

    def describe(self) -> str:
        """The benchmark in words: what is shown, recorded and compared, and how the score is normalised.

        Nothing is read or fetched for it.

        Example:
            >>> from bsjax import load_benchmark
            >>> print(load_benchmark("Simulated.V1-ridge").describe())
            Simulated.V1-ridge, version 2, averaged under V1
            <BLANKLINE>
            shown       the stimuli of the recordings, at the size that they state, ...
            recorded    V1, in the time bins of the data
            compared    with simulated spike counts of 96 V1 neuroids, by ridge regression, ...
            normalised  r²/c: the square of the correlation, with its sign, over the ceiling; ...
        """
        under = f", averaged under {self.parent}" if self.parent else ""
        lines = [f"{self.identifier}, version {self.version}{under}", ""]
        for heading, words in self.paradigm()._asdict().items():
            lines += textwrap.wrap(f"{heading:<12}{words}", _WIDTH, subsequent_indent=" " * 12, break_on_hyphens=False)
        return "\n".join(lines)

    def labelled(
        self,
        score: Score,
        candidate: BrainModel,
        *,
        start: datetime | None = None,
        layers: Mapping[str, list[str]] | None = None,
        region: str | None = None,
        data: str | Mapping[str, Any] | None = None,
        reason: str | None = None,
        **details: Any,
    ) -> Score:
        """``score`` with what it was made from in its provenance.

        Args:
            score: whose provenance says by which metric.
            candidate: the model that was scored.
            start: when scoring it began.
            layers: region -> the layers that were recorded, where they are not those that the model now reads.
            region: that was recorded from.
            data: digest of what it was compared with.
            reason: why the score is undefined.
            **details: what else is known.
        """
        made = score.provenance.with_details(**details)
        return dataclasses.replace(
            score,
            provenance=dataclasses.replace(
                made,
                model=candidate.identifier,
                model_digest=getattr(candidate, "digest", None),
                layers=getattr(candidate, "layers_in_use", None) if layers is None else layers,
                benchmark=self.identifier,
                benchmark_version=self.version,
                parent=self.parent or None,
                region=region or made.region,
                data=data or made.data,
                start=None if start is None else start.isoformat(timespec="seconds"),
                seconds=None if start is None else round((datetime.now(UTC) - start).total_seconds(), 3),
                reason=reason or made.reason,
            ),
        )
