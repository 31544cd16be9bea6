"""The base of plugins' benchmarks, and their way to bsjax."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cached_property
from numbers import Number
from typing import Any

from bsjax.benchmarks import BenchmarkBase as OfBsjax
from bsjax.compat.benchmarks.described import described, is_said
from bsjax.compat.score import Score
from bsjax.compat.sides.held import Holding
from bsjax.compat.sides.models import model_for_bsjax, model_for_plugins
from bsjax.compat.sides.scores import ceil_score as ceil_score
from bsjax.compat.sides.scores import normalised, score_for_bsjax, score_for_plugins
from bsjax.labelled import Score as ScoreOfBsjax
from bsjax.labelled import normalise
from bsjax.labelled.score import as_score


class Benchmark:
    """What a benchmark has: ``identifier``, ``version``, ``parent``, ``bibtex``, ``ceiling``, and a call."""

    identifier: Any
    version: Any
    parent: Any
    bibtex: Any
    ceiling: Any

    def __call__(self, candidate: Any) -> Score:
        """Score a model."""
        raise NotImplementedError(f"{type(self).__name__} has no __call__(candidate)")

    def preallocate_memory(self, candidate: Any, raise_if_oom: bool = True) -> None:
        """Nothing: what an extraction takes is known before it runs, see ``activations_model.estimate``."""


class BenchmarkBase(Benchmark):
    """A benchmark without its experiment, which is a subclass's ``__call__``.

    Args:
        identifier: unique name.
        ceiling_func: gives the ceiling; it is called once.
        version: raised whenever scores change.
        parent: what the benchmark is averaged under.
        bibtex: publication of the data.
    """

    def __init__(
        self,
        identifier: str,
        ceiling_func: Callable[[], Any],
        version: Any,
        parent: str | None = None,
        bibtex: str | None = None,
    ) -> None:
        is_said(version, parent, bibtex)
        self._identifier = identifier
        self._ceiling_func = ceiling_func
        self._version = version
        self._bibtex = bibtex
        self.parent = parent

    @property
    def identifier(self) -> str:
        """The unique name."""
        return self._identifier

    @property
    def version(self) -> Any:
        """Raised whenever scores change."""
        return self._version

    @property
    def bibtex(self) -> str | None:
        """The publication of the data."""
        return self._bibtex

    @cached_property
    def ceiling(self) -> Any:
        """The ceiling, computed when it is first asked for."""
        given = self._ceiling_func()
        plain = given is None or isinstance(given, Number)
        return score_for_plugins(as_score(given, f"the ceiling of {self.identifier!r}") if plain else given)


class CoreBenchmarkBase(BenchmarkBase):
    """The same with the ceiling itself in place of what gives it, as in ``brainscore_core``."""

    def __init__(self, identifier: str, ceiling: Any, version: Any, parent: str, bibtex: str | None = None) -> None:
        super().__init__(identifier, lambda: ceiling, version, parent, bibtex)


class BenchmarkForBsjax(OfBsjax):
    """A plugin's benchmark, whose scores are bsjax's and say what they were made from.

    The plugin's is built when it is first needed: many load their data where they are built. What it says of itself is
    told before, see :mod:`bsjax.compat.benchmarks.described`.

    Args:
        identifier: that it is registered by.
        build: makes the plugin's.
    """

    def __init__(self, identifier: str, build: Callable[[], Any]) -> None:
        super().__init__(identifier, lambda: score_for_bsjax(self.plugin.ceiling))
        del self.version, self.parent, self.bibtex  # which are told when they are first asked for
        self._build = build

    @cached_property
    def plugin(self) -> Any:
        """The plugin's benchmark."""
        return self._build()

    @cached_property
    def _said(self) -> Any:
        return (None if "plugin" in vars(self) else described(self._build)) or self.plugin

    @cached_property
    def version(self) -> int:
        """Raised whenever scores change."""
        version = str(self._said.version)
        if version.isdigit() and int(version):
            return int(version)
        warnings.warn(
            f"benchmark {self.identifier!r}: expected a whole number from 1 as its version, got {version}; its "
            "scores are kept as those of version 1",
            stacklevel=2,
        )
        return 1

    @cached_property
    def parent(self) -> str:
        """What it is averaged under."""
        return getattr(self._said, "parent", None) or ""

    @cached_property
    def bibtex(self) -> str:
        """The publication of its data."""
        return getattr(self._said, "bibtex", None) or ""

    def __call__(self, candidate: Any) -> ScoreOfBsjax:
        """Score a model, as the plugin does."""
        start = datetime.now(UTC)
        score = self.plugin(model_for_plugins(candidate))
        score = score_for_bsjax(score, f"the score of benchmark {self.identifier!r}")
        return self.stamped(score, candidate, start=start)


class BenchmarkForPlugins(Holding):
    """A benchmark of bsjax's, whose scores are those that plugins know.

    Args:
        benchmark: bsjax's.
    """

    _holds = "bsjax"

    def __call__(self, candidate: Any) -> Score:
        """Score a model."""
        return score_for_plugins(self.bsjax(model_for_bsjax(candidate)))

    @property
    def ceiling(self) -> Score:
        """The ceiling."""
        return score_for_plugins(self.bsjax.ceiling)


def explained_variance(score: Any, ceiling: Any) -> Score:
    """Explained variance by its ceiling, see :func:`bsjax.labelled.normalise.explained_variance`."""
    return normalised(normalise.explained_variance, score, ceiling)


def bound_score(score: Score) -> None:
    """Bring a score into 0 to 1 where it is, as in Brain-Score; what it was before stays in its attributes."""
    score.data = score.clip(0, 1).values
