"""The base of metrics and ceilings, and scores in draws and after permutations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from inspect import Parameter, signature
from types import MethodType
from typing import Any

import numpy as np
import xarray as xr

from bsjax.core.watching import stage
from bsjax.engine.precision import default_dtype
from bsjax.engine.running import run
from bsjax.engine.streaming import DependsOn
from bsjax.labelled.provenance import Provenance, metric_provenance
from bsjax.labelled.resampling.calibration import also_permuted, one_by_one
from bsjax.labelled.resampling.draws import (
    Drawn,
    Resampling,
    active_plan,
    drawn_assemblies,
    drawn_of,
    in_draws,
    rerun,
    with_draws,
)
from bsjax.labelled.resampling.permutations import Permutation, active_permutations, in_permutations
from bsjax.labelled.score import Score
from bsjax.labelled.settings import keep, plain_setting, settings_of
from bsjax.labelled.splits import CrossValidation, Splits, WithTarget


class Metric(ABC):
    """What compares assemblies, or estimates a ceiling of one, and says what can be done with it.

    What it is called with, ``__call__``, is all that a metric must define. Whatever else is asked of it has an answer
    here that is right for any metric: draws and permutations call it again on the rows that they hold, and many sources
    one after the other. A metric that can do better overrides these methods.

    Attributes:
        identifier: its name in the provenance of a score.
        dtype: in which it computes, None for the default of the device.
        symmetric: whether source and target may trade places.
        normalisation: the name of what its scores take by a ceiling where a benchmark names nothing.
        needs: the coordinates that presentations of the measurements must have, as far as they are its own.
        needs_of_source: likewise those of the model's answers.

    Example:
        >>> class Slope(Metric):
        ...     identifier = "slope"
        ...
        ...     def __call__(self, source, target):
        ...         return Score(float((source.values * target.values).sum() / (source.values**2).sum()))
        >>> x = xr.DataArray(np.eye(3), {"stimulus_id": ("presentation", list("abc"))}, ["presentation", "neuroid"])
        >>> with in_draws("stimuli"):
        ...     scored(Slope(), x, 2 * x).uncertainty.draws.sizes["draw"]
        1000
    """

    identifier: str = ""
    dtype: str | None = None
    symmetric: bool = False
    normalisation: str = "explained_variance"
    needs: Sequence[str] = ()
    needs_of_source: Sequence[str] = ()

    @abstractmethod
    def __call__(self, *args: Any, **kwargs: Any) -> Score:
        """The score of assemblies; the last one has the measurements."""

    @property
    def sides(self) -> int:
        """How many assemblies it takes: one of a ceiling, four of a regression on a fixed split."""
        return len(required_parameters(self)) or 2

    @property
    def depends_on(self) -> DependsOn:
        """What it depends on of the source."""
        return "features"

    @property
    def fits_neuroids_alone(self) -> bool:
        """Whether each neuroid is scored as it would be without the others."""
        return False

    @property
    def of_subjects(self) -> Callable[..., Any] | None:
        """A kernel that compares the subjects of an array with one another, see ``cka_between_subjects``; or None."""
        return None

    def folds_of(self, target: xr.DataArray) -> Splits | None:
        """The splits of a target that it fits and tests on; None if it makes none."""
        return None

    @property
    def split_coords(self) -> Sequence[str]:
        """The coordinates of a target's presentations that it splits by, if it makes splits."""
        return ()

    @property
    def takes_many(self) -> bool:
        """Whether many sources are scored in one program."""
        return type(self).of_many is not Metric.of_many

    def with_interval(self) -> Metric:
        """This metric with an error of its scores, if it gives none and one costs no more than the score."""
        return self

    def check_width(self, source: xr.DataArray, target: xr.DataArray) -> None:  # noqa: B027, as most take any
        """Refuses a source with too few features, before it is padded.

        Raises:
            ValueError: it takes more.
        """

    def of_many(self, sources: Sequence[xr.DataArray], target: xr.DataArray) -> list[Score]:
        """The score of every source with one target."""
        return [self(source, target) for source in sources]

    def with_target(self, target: xr.DataArray, folds: bool) -> WithTarget:
        """This metric for many sources, and on folds if they are asked for and it has some; see ``SharedTarget``."""
        return WithTarget(self, target, None)

    def drawn_score(self, plan: Resampling, *assemblies: Any) -> Score:
        """Its score with its values in the draws of a plan, unless it has drawn by the plan itself."""
        score = self.recorded(self(*assemblies))
        known = score.uncertainty
        if known is not None and known.plan and known.draws is not None:
            return score
        with in_draws(None), stage(f"{self.identifier or 'the metric'} in {plan.draws:,} draws"):
            drawn = drawn_of(plan, assemblies)
            return with_draws(score, drawn, **self.drawn_values(drawn, *assemblies))

    def drawn_values(self, drawn: Drawn, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Its values in every draw, as ``values``, and what else ``with_draws`` takes."""
        return redrawn(partial(self, **kwargs), drawn, args)

    def nulls(self, permutations: Sequence[Permutation], sources: Sequence[Any], rest: Sequence[Any]) -> np.ndarray:
        """Its values ``(draws, ...)`` after permutations of a model's assemblies, of which each has its own."""
        return one_by_one(self, permutations, sources, rest)

    def run(self, kernel: Callable[..., Any], *arrays: Any, **known: Any) -> Any:
        """What a kernel gives of arrays in this metric's dtype, see :func:`bsjax.engine.running.run`."""
        return run(kernel, *arrays, dtype=self.dtype, **known)

    def provenance(self, **known: Any) -> Provenance:
        """The record of a number that it computes here and now; see ``metric_provenance`` for what else is known."""
        return metric_provenance(self, np.dtype(self.dtype or default_dtype()), **known)

    def own_settings(self) -> dict[str, Any]:
        """All its settings, such that ``load_metric(metric.identifier, **metric.own_settings())`` makes it again.

        Raises:
            ValueError: it keeps no attribute of the name of a setting, so that nobody can say where its scores come
                from.

        Example:
            >>> from bsjax import load_metric
            >>> load_metric("ridge_split", alpha=10.0).own_settings()
            {'alpha': 10.0}
            >>> load_metric("cka_cv").own_settings()["crossvalidation_kwargs"]["splits"]
            10
        """
        return settings_of(self)

    def recorded(self, score: Score) -> Score:
        """A score with this metric and its settings in its provenance, where that names none."""
        if score.provenance.metric or not self.identifier:
            return score
        return replace(
            score,
            provenance=replace(
                score.provenance, metric=self.identifier, settings=self.own_settings() | dict(score.provenance.settings)
            ),
        )


@plain_setting.register
def _(metric: Metric) -> dict[str, Any]:
    return {"identifier": metric.identifier, **metric.own_settings()}


@dataclass(frozen=True)
class InPrecision(Metric):
    """A metric without settings but the precision that it computes in.

    Args:
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.
    """

    dtype: str | None = None


class WithCeiling(Metric):
    """A metric whose method ``ceiling`` estimates how well the measurements agree among themselves by it."""

    @abstractmethod
    def ceiling(self, *args: Any, **kwargs: Any) -> Score:
        """The ceiling of an assembly of measurements."""

    def drawn_ceilings(self, drawn: Drawn, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The values of the ceiling in every draw, see ``drawn_values``."""
        return redrawn(partial(self.ceiling, **kwargs), drawn, args)


class CrossValidated(Metric):
    """A metric that trains on some of the stimuli and tests on others, a frozen dataclass.

    Attributes:
        crossvalidation_kwargs: a field of it: arguments of ``CrossValidation``.
        crossvalidation: the splits that these make.
    """

    crossvalidation_kwargs: Mapping[str, Any] | None
    crossvalidation: CrossValidation

    def __post_init__(self) -> None:
        keep(self, crossvalidation=CrossValidation.from_kwargs(self.crossvalidation_kwargs))

    @property
    def split_coords(self) -> Sequence[str]:
        """Those of its splits."""
        return self.crossvalidation.coords

    def folds_of(self, target: xr.DataArray) -> Splits:
        """The splits of a target."""
        return self.crossvalidation.of(target)

    def own_settings(self) -> dict[str, Any]:
        """Those of the splits as they are made, with their seed beside them."""
        splits = plain_setting(self.crossvalidation.kwargs())
        seed = splits.pop("random_state")
        return super().own_settings() | {"crossvalidation_kwargs": splits, "random_state": seed}


class CallableMetric(Metric):
    """Any callable as a metric, of which nothing is known but its scores.

    Args:
        function: of assemblies.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *assemblies: Any) -> Score:
        """What the callable gives."""
        return self.function(*assemblies)

    @property
    def sides(self) -> int:
        """How many assemblies the callable takes, as far as it says so."""
        try:
            return len(required_parameters(self.function)) or 2
        except (TypeError, ValueError):
            return 2


class CalledWith(Metric):
    """A metric that is called with some arguments beside the assemblies.

    Args:
        metric: the metric.
        settings: those arguments.
    """

    def __init__(self, metric: Metric, settings: Mapping[str, Any]) -> None:
        self.metric, self.settings = metric, settings
        self.identifier, self.dtype = metric.identifier, metric.dtype

    def __call__(self, *assemblies: Any) -> Score:
        """The score of the metric."""
        return self.metric(*assemblies, **self.settings)

    def drawn_values(self, drawn: Drawn, *assemblies: Any) -> dict[str, Any]:
        """Those of the metric."""
        return self.metric.drawn_values(drawn, *assemblies, **self.settings)


class CeilingOf(Metric):
    """The method ``ceiling`` of a metric as a metric of one side.

    Args:
        metric: the metric.
        settings: arguments of its ceiling beside the assembly.
    """

    def __init__(self, metric: WithCeiling, settings: Mapping[str, Any]) -> None:
        self.metric, self.settings = metric, settings
        self.identifier, self.dtype = metric.identifier, metric.dtype

    def __call__(self, *assemblies: Any) -> Score:
        """The ceiling."""
        return self.metric.ceiling(*assemblies, **self.settings)

    def drawn_values(self, drawn: Drawn, *assemblies: Any) -> dict[str, Any]:
        """Those of the ceiling."""
        return self.metric.drawn_ceilings(drawn, *assemblies, **self.settings)


def required_parameters(function: Callable[..., Any]) -> list[str]:
    """The positional parameters that have no default."""
    of_place = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    taken = signature(function).parameters.values()
    return [each.name for each in taken if each.kind in of_place and each.default is each.empty]


def as_metric(given: Callable[..., Any]) -> Metric:
    """A metric as it is, the ceiling of one as a metric of one side, and any other callable as ``CallableMetric``.

    Example:
        >>> from bsjax import load_metric
        >>> type(as_metric(load_metric("cka"))).__name__, type(as_metric(load_metric("i1").ceiling)).__name__
        ('RepresentationalSimilarity', 'CeilingOf')
    """
    if isinstance(given, Metric):
        return given
    function, settings = (given.func, given.keywords) if isinstance(given, partial) and not given.args else (given, {})
    if isinstance(function, Metric):
        return CalledWith(function, settings)
    if (
        isinstance(function, MethodType)
        and isinstance(function.__self__, WithCeiling)
        and function.__name__ == "ceiling"
    ):
        return CeilingOf(function.__self__, settings)
    return CallableMetric(given)


def scored(metric: Callable[..., Score], *assemblies: Any) -> Score:
    """``metric(*assemblies)``, with its values in the draws of the plan of the block, if there is one.

    In a block with permutations (:func:`bsjax.labelled.resampling.permutations.in_permutations`) the score says what it
    is by chance as well. See :meth:`Metric.drawn_values` and :meth:`Metric.nulls`.

    Args:
        metric: of any number of assemblies; the last one has the measurements.
        *assemblies: with the coordinates of what is drawn.

    Raises:
        ValueError: what the metric raises; what is to be drawn has no identifiers.
    """
    made = as_metric(metric)
    plan = active_plan()

    def of_all() -> Score:
        return made.recorded(made(*assemblies)) if plan is None else made.drawn_score(plan, *assemblies)

    if active_permutations() is None:
        return of_all()
    with in_permutations(None):
        score = of_all()
    half = len(assemblies) // 2  # of a single assembly, as for a ceiling, none is a model's
    return also_permuted(score, made.nulls, assemblies[:half], assemblies[half:])


def redrawn(metric: Callable[..., Score], drawn: Drawn, assemblies: Sequence[Any]) -> dict[str, Any]:
    """Values in every draw by as many calls, on the rows (and columns) that it holds.

    Copies of a stimulus have identifiers of their own there, and a coordinate ``drawn_from``, by which splits keep them
    together. A draw that holds too little for the metric is NaN.

    Raises:
        ValueError: no draw has a score.
    """
    passes: dict[str, np.ndarray] = {}
    dims: tuple[str, ...] = ()
    for name, together in drawn.plan.passes.items():
        each = (
            drawn_assemblies(assemblies, drawn, {factor: drawn.counts[factor][draw] for factor in together})
            for draw in range(drawn.plan.draws)
        )
        passes[name], dims = rerun(metric, each, f"draw of {' and '.join(together)}", drawn.plan.draws)
    return {"values": drawn.labelled(passes, dims)}
