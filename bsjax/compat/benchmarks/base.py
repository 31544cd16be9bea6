"""Base classes of plugins' benchmarks, and conversions between them and bsjax's benchmarks."""

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
    """The interface of a benchmark: ``identifier``, ``version``, ``parent``, ``bibtex``, ``ceiling``, and a call."""

    def __call__(self, candidate: Any) -> Score:
        """Score a model."""
        raise NotImplementedError(f"{type(self).__name__} has no __call__(candidate)")

    def preallocate_memory(self, candidate: Any, raise_if_oom: bool = True) -> None:
        """Do nothing; the memory of an extraction is known before it runs, see ``activations_model.estimate``."""


class BenchmarkBase(Benchmark):
    """Base class of benchmarks; a subclass defines the experiment in ``__call__``.

    Args:
        identifier: unique name.
        ceiling_func: function that returns the ceiling; called once.
        version: number that rises whenever scores change.
        parent: the node under which the benchmark is averaged.
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
        """Number that rises whenever scores change."""
        return self._version

    @property
    def bibtex(self) -> str | None:
        """The publication of the data."""
        return self._bibtex

    @cached_property
    def ceiling(self) -> Any:
        """The ceiling, computed on first access."""
        given = self._ceiling_func()
        plain = given is None or isinstance(given, Number)
        return score_for_plugins(as_score(given, f"the ceiling of {self.identifier!r}") if plain else given)


class CoreBenchmarkBase(BenchmarkBase):
    """As :class:`BenchmarkBase`, but with the ceiling itself as an argument, as in ``brainscore_core``."""

    def __init__(self, identifier: str, ceiling: Any, version: Any, parent: str, bibtex: str | None = None) -> None:
        super().__init__(identifier, lambda: ceiling, version, parent, bibtex)


class BenchmarkForBsjax(OfBsjax):
    """A plugin's benchmark with bsjax's interface, whose scores are bsjax's and have provenance.

    The plugin's benchmark is built when first needed, because many load their data when built. Its version, parent and
    publication are found before, see :mod:`bsjax.compat.benchmarks.described`.

    Args:
        identifier: the identifier it is registered under.
        build: function that builds the plugin's benchmark.
    """

    def __init__(self, identifier: str, build: Callable[[], Any]) -> None:
        super().__init__(identifier, lambda: score_for_bsjax(self.plugin.ceiling))
        del self.version, self.parent, self.bibtex  # determined on first access
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
        """Number that rises whenever scores change."""
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
        """The node under which it is averaged."""
        return getattr(self._said, "parent", None) or ""

    @cached_property
    def bibtex(self) -> str:
        """The publication of its data."""
        return getattr(self._said, "bibtex", None) or ""

    def __call__(self, candidate: Any) -> ScoreOfBsjax:
        """Score a model with the plugin's benchmark."""
        start = datetime.now(UTC)
        score = self.plugin(model_for_plugins(candidate))
        score = score_for_bsjax(score, f"the score of benchmark {self.identifier!r}")
        return self.stamped(score, candidate, start=start)


class BenchmarkForPlugins(Holding):
    """A bsjax benchmark whose scores are of the class known to plugins.

    Args:
        benchmark: the bsjax benchmark.
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
    """Explained variance, normalised by the ceiling, see :func:`bsjax.labelled.normalise.explained_variance`."""
    return normalised(normalise.explained_variance, score, ceiling)


def bound_score(score: Score) -> None:
    """Clip a score to the range 0 to 1 in place, as in Brain-Score; its attributes are unchanged."""
    score.data = score.clip(0, 1).values
