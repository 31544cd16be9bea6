"""The base classes of metrics and ceilings, and scoring with bootstrap draws and permutations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from inspect import Parameter, isfunction, isroutine, signature, unwrap
from types import MappingProxyType, MethodType
from typing import Any, NamedTuple

import jax
import numpy as np
import xarray as xr

from bsjax.core.watching import stage
from bsjax.engine.precision import default_dtype, without_large_means
from bsjax.engine.running import run
from bsjax.engine.streaming import DependsOn
from bsjax.labelled.align import bins_of, finite_values
from bsjax.labelled.provenance import SEEDS, Provenance, versions_in_use
from bsjax.labelled.registry import load_metric
from bsjax.labelled.resampling.calibration import also_permuted
from bsjax.labelled.resampling.draws import Drawn, Resampling, in_draws, with_draws
from bsjax.labelled.resampling.permutations import Permutations, Permuted
from bsjax.labelled.score import Score, as_score
from bsjax.labelled.settings import keep, plain_setting, settings_of
from bsjax.labelled.splits import CrossValidation, Splits, WithTarget
from bsjax.metrics.bounds.products import FAILURE

# A larger bound of the error of a score says nothing.
_USEFUL = 0.5


class OfHalves(NamedTuple):
    """The comparison of two halves of the trials ``(stimuli, neuroids)``, by which a ceiling is computed.

    Attributes:
        kernel: takes the halves, and by the keyword ``where`` the stimuli that both have.
        bootstraps: the kernel in bootstrap draws of the stimuli; None if there is none.
        may_pad: whether neuroids of zeros change nothing.
    """

    kernel: Callable[..., Any]
    bootstraps: Callable[..., Any] | None = None
    may_pad: bool = False


class OfPairs(NamedTuple):
    """The comparison of many pairs of plain arrays of one size in one program, see ``bsjax.score_many``.

    Attributes:
        kernel: function of both sides and the ``rest``, without labels, with ``settings``.
        score: from the kernel's values of several pairs, along a first axis, to their scores with the dimension
            ``pair``, as of single calls; NaN for pairs that must be scored alone.
        settings: settings of the kernel, which are compiled into its program.
        rest: further arguments, the same for all pairs.
        may_pad: whether columns of zeros may be added to either side.
        together: whether a CPU computes several small pairs faster at once than one by one.
        warn: gives the warnings of a call for the number of features.
    """

    kernel: Callable[..., Any]
    score: Callable[[Any], Score]
    settings: Mapping[str, Any] = MappingProxyType({})
    rest: tuple[Any, ...] = ()
    may_pad: tuple[bool, bool] = (False, False)
    together: bool = False
    warn: Callable[[int], None] = lambda features: None


class OfTimes(NamedTuple):
    """The scores of all times of a source with all times of a target.

    Attributes:
        values: ``(source times, target times)``.
        deviations: ``(source times, target times, k)``, whose products, summed over k, are the covariances of the
            scores over the choice of stimuli, with k - 1 degrees of freedom; None if these are unknown.
    """

    values: np.ndarray
    deviations: np.ndarray | None = None


class Metric(ABC):
    """A comparison of assemblies, or an estimate of the ceiling of one.

    A metric must only define ``__call__``. All other methods have defaults that are correct for any metric: draws and
    permutations call the metric again on the rows they hold, and many sources are scored one after the other. A metric
    overrides a method where it has a faster or more exact way.

    Attributes:
        identifier: its name in the provenance of a score.
        dtype: the precision it computes in; None for the default of the device.
        symmetric: whether source and target can be exchanged.
        zero_by_chance: whether unrelated responses score 0 on average. Otherwise the score of chance depends on the
            numbers of stimuli, units or choices.
        normalisation: name of the ceiling normalisation for benchmarks that name none, of the metric or else of the
            ceiling; "" for the usual one of the
            kind of benchmark: "explained_variance" of recordings, "ceil_score" of behaviour.
        needs: coordinates that presentations of the measurements must have for this metric.
        other_names: other names that these coordinates may have.
        needs_of_source: coordinates that presentations of the model's responses must have.
        depends_on: the property of the source that it depends on, e.g. its features or their inner products.
        ignores_means: whether a constant added to a feature or a neuroid changes nothing.
        fits_neuroids_alone: whether each neuroid's score is independent of the other neuroids.
        mapping: the mapping that a regression fits; None for other metrics.
        of_subjects: a kernel that compares the subjects of an array with one another, see ``cka_between_subjects``.

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
    zero_by_chance: bool = True
    normalisation: str = ""
    needs: Sequence[str] = ()
    other_names: Mapping[str, str] = MappingProxyType({})
    needs_of_source: Sequence[str] = ()
    depends_on: DependsOn = "features"
    ignores_means: bool = False
    fits_neuroids_alone: bool = False
    mapping: Any = None
    of_subjects: Callable[..., Any] | None = None

    @abstractmethod
    def __call__(self, *args: Any, **kwargs: Any) -> Score:
        """The score of assemblies; the last one holds the measurements."""

    @property
    def sides(self) -> int:
        """Number of assemblies it takes: one for a ceiling, four for a regression on a fixed split."""
        return len(required_parameters(self)) or 2

    def folds_of(self, target: xr.DataArray) -> Splits | None:
        """The splits of a target that it fits and tests on; None if it does not split."""
        return None

    @property
    def split_coords(self) -> Sequence[str]:
        """The presentation coordinates of a target that its splits depend on; empty if it does not split."""
        return ()

    @property
    def takes_many(self) -> bool:
        """Whether it scores many sources in one program."""
        return type(self).of_many is not Metric.of_many

    @property
    def of_halves(self) -> OfHalves | None:
        """How it compares two halves of the trials as whole representations; None if it does not."""
        return None

    def with_interval(self) -> Metric:
        """This metric with an error estimate, if it has none by default and one costs no more than the score."""
        return self

    def check_width(self, source: xr.DataArray, target: xr.DataArray) -> None:  # noqa: B027, as most take any
        """Refuses a source with too few features; called before the source is padded.

        Raises:
            ValueError: the metric needs more features.
        """

    def of_many(self, sources: Sequence[xr.DataArray], target: xr.DataArray) -> list[Score]:
        """The score of every source with one target."""
        return [self(source, target) for source in sources]

    def of_targets(self, source: xr.DataArray, targets: Sequence[xr.DataArray]) -> list[Score]:
        """The score of one source with every target."""
        return [self(source, target) for target in targets]

    def of_pairs(self, stimuli: int, features: int) -> OfPairs | None:
        """How it compares many pairs of plain arrays of one size in one program; None if it takes them one by one.

        Raises:
            ValueError: there are too few stimuli or features.
        """
        return None

    def all_pairs(self, sides: Sequence[xr.DataArray]) -> np.ndarray:
        """The scores of all pairs of sides, ``(sources, targets)``."""
        values = np.full((len(sides), len(sides)), np.nan)
        for column, target in enumerate(sides):
            sources = sides[: column + 1] if self.symmetric else sides
            values[: len(sources), column] = [float(score) for score in self.of_many(sources, target)]
            if self.symmetric:
                values[column, : len(sources)] = values[: len(sources), column]
        return values

    def of_times(self, source: xr.DataArray, target: xr.DataArray) -> OfTimes:
        """The scores of all times of a source with all times of a target, each (presentation, neuroid, time_bin)."""
        sources, targets = bins_of(source, "source"), bins_of(target, "target")
        scores = [[float(score) for score in self.of_many(sources, each)] for each in targets]
        return OfTimes(np.array(scores).T)

    def at(self, splits: Splits) -> Metric:
        """This metric with given splits, rows for training and rows for testing, instead of new ones.

        Raises:
            ValueError: the metric does not split.
        """
        raise ValueError(
            f"{self.identifier!r} does not train and test: take a cross-validated regression, e.g. 'ridge'"
        )

    def explained_variance(self, source: xr.DataArray, target: xr.DataArray) -> np.ndarray:
        """The share of the variance of each neuroid that its held-out predictions explain, ``(neuroids,)``.

        Raises:
            ValueError: the metric predicts no responses.
        """
        raise ValueError(
            f"{self.identifier!r} predicts no responses: take a cross-validated regression, e.g. 'ridgecv'"
        )

    @property
    def has_error_bound(self) -> bool:
        """Whether ``exact_within`` finds an interval, if the data allow one."""
        return False

    def exact_within(self, *args: Any, **kwargs: Any) -> tuple[float, float]:
        """An interval that holds the score in exact arithmetic and without early stopping.

        It holds with a probability of at least ``1 - bsjax.metrics.bounds.products.FAILURE``, or for certain; see the
        kernels of ``bsjax.metrics.bounds``. The distance of a score to the further end bounds its error.

        Raises:
            ValueError: there is no useful interval for this metric or its settings.
        """
        raise ValueError(
            f"no bound of the error of {self.identifier!r} with these settings is known. Metrics that have one, such "
            "as cka, rdm, ridge and elastic_net, say so by has_error_bound; for others, compare the scores of "
            "dtype='float32' and 'float64'"
        )

    def with_target(self, target: xr.DataArray, folds: bool) -> WithTarget:
        """This metric prepared for many sources of one target, with folds on request; see ``SharedTarget``."""
        return WithTarget(self, target, None)

    def drawn_score(self, plan: Resampling, *assemblies: Any) -> Score:
        """Its score with its values in the draws of a plan, unless the metric has already drawn by that plan."""
        score, drawn = self.recorded(self(*assemblies)), plan.sample(assemblies)
        known = score.uncertainty
        if known is not None and known.draws is not None and known.plan == drawn.plan.key(drawn.ids):
            return score
        with in_draws(None), stage(f"{self.identifier or 'the metric'} in {plan.draws:,} draws"):
            return with_draws(score, drawn, **self.drawn_values(drawn, *assemblies))

    def drawn_values(self, drawn: Drawn, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Its values in every draw as ``values``, with further arguments of ``with_draws``."""
        return drawn.one_by_one(partial(self, **kwargs), args)

    def permuted_values(self, permuted: Permuted, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Its values after every permutation as ``values``; each assembly of the model has its own permutation."""
        return permuted.one_by_one(partial(self, **kwargs), args)

    def values_of_side(self, **parts: xr.DataArray) -> Sequence[Any]:
        """The finite values of parts of one side, by their names in messages, see ``values_held``."""
        return self.values_held(*map(finite_values, parts.values(), parts))

    def values_held(self, *parts: Any) -> Sequence[Any]:
        """Values of parts of one side without what the metric ignores and its precision cannot hold: large means."""
        dtype = np.dtype(self.dtype or default_dtype())
        shorter = dtype.itemsize < parts[0].dtype.itemsize or parts[0].dtype.kind in "iu"
        return self.values_shortened(dtype, *parts) if shorter else parts

    def values_shortened(self, dtype: np.dtype, *parts: Any) -> Sequence[Any]:
        """The parts, ready for a cast to a shorter dtype."""
        return without_large_means(dtype, *parts) if self.ignores_means else parts

    def run_kernel(self, kernel: Callable[..., Any], *arrays: Any, **known: Any) -> Any:
        """The result of a kernel in this metric's dtype, see :func:`bsjax.engine.running.run`."""
        return run(kernel, *arrays, dtype=self.dtype, **known)

    def provenance(
        self,
        *,
        ceiling: Mapping[str, Any] | None = None,
        reason: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> Provenance:
        """The record of a number that it computes now, with all its settings.

        For a registered metric, ``load_metric(made.metric, **made.settings, **made.seeds)`` makes it again.

        Args:
            ceiling: further arguments of its method ``ceiling``, if the number is from that.
            reason: why the number is undefined, if known.
            details: further entries.

        Example:
            >>> from bsjax import load_metric
            >>> made = load_metric("spantime_pls").provenance()
            >>> made.metric, made.dtype, dict(made.seeds), made["n_components"]
            ('spantime_pls', 'float64', {'random_state': 1}, 25)
        """
        device = jax.devices()[0]
        settings = self.own_settings() | dict(ceiling or {})
        return Provenance(
            metric=self.identifier if ceiling is None else f"{self.identifier}.ceiling",
            seeds={name: settings.pop(name) for name in SEEDS if name in settings},
            settings=settings,
            dtype=np.dtype(self.dtype or default_dtype()).name,
            device=getattr(device, "device_kind", device.platform),
            versions=versions_in_use(),
            reason=reason,
            details=details or {},
        )

    def own_settings(self) -> dict[str, Any]:
        """All settings: ``load_metric(metric.identifier, **metric.own_settings())`` makes the same metric.

        Raises:
            ValueError: the metric keeps no attribute with the name of a setting, so its scores could not be traced
                back to their settings.

        Example:
            >>> from bsjax import load_metric
            >>> load_metric("ridge_split", alpha=10.0).own_settings()
            {'alpha': 10.0}
            >>> load_metric("cka_cv").own_settings()["crossvalidation_kwargs"]["splits"]
            10
        """
        return settings_of(self)

    def recorded(self, score: Score) -> Score:
        """The score with this metric and its settings in its provenance, unless the provenance names a metric."""
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
    """A metric whose only setting is the precision it computes in.

    Args:
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.
    """

    dtype: str | None = None


class WithCeiling(Metric):
    """A metric with a method ``ceiling``, which estimates how well the measurements agree among themselves."""

    @abstractmethod
    def ceiling(self, *args: Any, **kwargs: Any) -> Score:
        """The ceiling of an assembly of measurements."""

    def drawn_ceilings(self, drawn: Drawn, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The values of the ceiling in every draw, see ``drawn_values``."""
        return drawn.one_by_one(partial(self.ceiling, **kwargs), args)


class CrossValidated(Metric):
    """A metric that trains on some of the stimuli and tests on others, as a frozen dataclass.

    Attributes:
        crossvalidation_kwargs: a field: the arguments of ``CrossValidation``.
        crossvalidation: the ``CrossValidation`` made from them.
    """

    crossvalidation_kwargs: Mapping[str, Any] | None
    crossvalidation: CrossValidation

    def __post_init__(self) -> None:
        keep(self, crossvalidation=CrossValidation.from_kwargs(self.crossvalidation_kwargs))

    @property
    def split_coords(self) -> Sequence[str]:
        """The presentation coordinates that its splits depend on."""
        return self.crossvalidation.coords

    def folds_of(self, target: xr.DataArray) -> Splits:
        """The splits of a target."""
        return self.crossvalidation.of(target)

    def at(self, splits: Splits) -> CrossValidated:
        """This metric with given splits."""
        metric = copy(self)
        keep(metric, crossvalidation=self.crossvalidation.at(splits))
        return metric

    def own_settings(self) -> dict[str, Any]:
        """All settings, with those of the splits complete and their seed as ``random_state``."""
        splits = plain_setting(self.crossvalidation.kwargs())
        seed = splits.pop("random_state")
        return super().own_settings() | {"crossvalidation_kwargs": splits, "random_state": seed}


class CallableMetric(Metric):
    """Any callable as a metric. Only its scores are known.

    Args:
        function: a function of assemblies.

    Raises:
        ValueError: it is not callable.
    """

    zero_by_chance = False

    def __init__(self, function: Callable[..., Any]) -> None:
        if not callable(function):
            raise ValueError(f"expected a metric, its identifier or a function of assemblies, got {function!r:.80}")
        self.function = function

    def __call__(self, *assemblies: Any) -> Score:
        """The result of the callable; a plain number becomes a score."""
        name = getattr(self.function, "__name__", type(self.function).__name__)
        try:
            made = self.function(*assemblies)
        except Exception as error:
            if isfunction(self.function):
                error.add_note(
                    f"{name} was given labelled assemblies; a function of arrays becomes a bsjax.KernelMetric"
                )
            raise
        return as_score(made, f"the result of the metric {name!r}")

    @property
    def sides(self) -> int:
        """Number of assemblies the callable takes, from its signature; 2 where it has none."""
        try:
            return len(required_parameters(self.function)) or 2
        except (TypeError, ValueError):
            return 2


class CalledWith(Metric):
    """A metric that is called with further arguments besides the assemblies.

    Args:
        metric: the metric.
        settings: the further arguments.
    """

    metric: Any

    def __init__(self, metric: Metric, settings: Mapping[str, Any]) -> None:
        self.metric, self.settings = metric, settings
        self.identifier, self.dtype = metric.identifier, metric.dtype

    def __call__(self, *assemblies: Any) -> Score:
        """The score of the metric."""
        return self.metric(*assemblies, **self.settings)

    def drawn_values(self, drawn: Drawn, *assemblies: Any) -> dict[str, Any]:
        """The metric's values in every draw."""
        return self.metric.drawn_values(drawn, *assemblies, **self.settings)


class CeilingOf(CalledWith):
    """The method ``ceiling`` of a metric, as a metric of one assembly.

    Args:
        metric: the metric.
        settings: further arguments of its ceiling.
    """

    metric: WithCeiling

    def __call__(self, *assemblies: Any) -> Score:
        """The ceiling."""
        return self.metric.ceiling(*assemblies, **self.settings)

    def drawn_values(self, drawn: Drawn, *assemblies: Any) -> dict[str, Any]:
        """The ceiling's values in every draw."""
        return self.metric.drawn_ceilings(drawn, *assemblies, **self.settings)


def required_parameters(function: Callable[..., Any]) -> list[str]:
    """The names of the positional parameters without a default."""
    of_place = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    taken = signature(function).parameters.values()
    return [each.name for each in taken if each.kind in of_place and each.default is each.empty]


def as_metric(given: str | Callable[..., Any], **settings: Any) -> Metric:
    """A metric by its identifier and settings, or as it is.

    A metric's method ``ceiling`` becomes a ``CeilingOf``, and any other callable a ``CallableMetric``.

    Raises:
        ValueError: settings for a metric that is not given by its identifier, or neither a metric nor a callable.

    Example:
        >>> type(as_metric("cka")).__name__, type(as_metric(load_metric("i1").ceiling)).__name__
        ('RepresentationalSimilarity', 'CeilingOf')
    """
    if isinstance(given, str):
        return as_metric(load_metric(given, **settings))
    if settings:
        raise ValueError(f"a metric that is made already takes no settings, got {', '.join(settings)}")
    if isinstance(given, Metric):
        return given
    if isinstance(given, type):
        raise ValueError(f"a metric must be an object, got the class {given.__name__}: make one, {given.__name__}(...)")
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


def name_of(metric: Callable[..., Any]) -> str:
    """The identifier of a metric, or the name of its function or class if it has none."""
    plain = unwrap(metric)
    return as_metric(metric).identifier or (plain if isroutine(plain) else type(plain)).__name__


def with_error_bound(score: Score, metric: Metric, *assemblies: Any) -> Score:
    """A score of assemblies with a bound of its numerical error in its provenance, see ``Metric.exact_within``.

    Args:
        score: a score of the assemblies by the metric, a single number.
        metric: the metric.
        *assemblies: as for the metric.

    Returns:
        The score with ``error_bound``, the largest distance to the exact score, and ``error_bound_probability``, with
        which it holds at least. NaN if the score is.

    Raises:
        ValueError: no bound is known for this metric or its settings, or it would be larger than 0.5.
    """
    low, high = metric.exact_within(*assemblies)
    value = float(score)
    off = max(high - value, value - low)
    if off > _USEFUL:
        raise ValueError(
            f"no useful bound of the error of {metric.identifier!r}: the exact score may be anywhere from {low:.3f} to "
            f"{high:.3f}. Weights that are not unique (as many features as training stimuli, and no penalty on squared "
            "weights), many equal dissimilarities, and nearly singular data cause this: take dtype='float64', fewer "
            "features or a larger penalty, or leave error_bound out"
        )
    made = score.provenance.with_details(error_bound=off, error_bound_probability=1.0 - FAILURE)
    return replace(score, provenance=made)


def scored(metric: Callable[..., Score], *assemblies: Any) -> Score:
    """``metric(*assemblies)``, with its values in the draws of the active plan, if there is one.

    In a block with a plan of permutations, the score also reports its level by chance. See
    :meth:`Metric.drawn_values` and :meth:`Metric.permuted_values`.

    Args:
        metric: takes any number of assemblies; the last one holds the measurements.
        *assemblies: with the coordinates of the drawn factors.

    Raises:
        ValueError: as raised by the metric, or a drawn factor has no identifiers.
    """
    made, plan = as_metric(metric), Resampling.active()
    with Permutations.within(None):
        score = made.recorded(made(*assemblies)) if plan is None else made.drawn_score(plan, *assemblies)
    half = len(assemblies) // 2  # a single assembly, as for a ceiling, is not a model's
    return also_permuted(score, made.permuted_values, assemblies[:half], assemblies[half:])
