"""Comparison of a model's perceptual thresholds, fitted to its choices, with those of human subjects."""

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr

from bsjax.engine.running import run
from bsjax.labelled.aggregate import coords_on, mean_and_deviation, mean_score, spread_or_none
from bsjax.labelled.align import coordinate, matched, quantity, with_dims
from bsjax.labelled.behaviour.responses import PRESENTATION, SUBJECT, chosen, refuse_where
from bsjax.labelled.metric import WithCeiling
from bsjax.labelled.score import Score
from bsjax.labelled.settings import keep, refuse_others
from bsjax.metrics.behaviour.psychometric import (
    PsychometricFit,
    inverse_psychometric_cum_gauss,
    psychometric_cum_gauss,
    psychometric_threshold,
)
from bsjax.metrics.behaviour.thresholds import leave_one_out_similarity, relative_similarity, threshold_elevation

_INFLECTION = "inflection"
_GREATEST_ACCURACY = 0.97  # fits assume lapses of at least 3 %
BASELINE, CONDITION = "baseline_assembly", "condition_assembly"
Thresholds = xr.DataArray | np.ndarray | Sequence[float]
LeftOut = Literal["each", "drawn"]


class AgainstSubjects(WithCeiling):
    """The base class of comparisons of one number of a model with that of each subject."""

    @abstractmethod
    def _subjects(self, given: Any, what: str) -> xr.DataArray:
        """The numbers of the subjects."""

    @abstractmethod
    def _fitted(self, source: Any) -> tuple[float, dict[str, Any]]:
        """The number of a model, NaN if it has none, and details for the provenance."""

    def __call__(self, source: Any, target: Any) -> Score:
        """Scores a model's threshold, or its elevation; the score is 0 with error 0 if the model has no threshold.

        Args:
            source: choice probabilities (presentation, choice) with the coordinates ``image_label`` and the independent
                variable on presentation and ``choice`` on choice; for an elevation, a dictionary of these for both
                conditions; or a single number.
            target: thresholds of the subjects; for an elevation, their elevations, or a dictionary of their thresholds
                ``"baseline_assembly"`` and ``"condition_assembly"``, matched by ``subject``.

        Raises:
            ValueError: coordinates or a condition are missing, levels are not numbers, labels are not among the
                choices, no subject has a positive threshold, or subjects differ between conditions.
        """
        subjects, known, about = self._subjects(target, "target"), number(source), {}
        if known is None:
            known, about = self._fitted(source)
        similarity = self.run_kernel(relative_similarity, np.float64(known), subjects.values.astype(float))
        score = self._over_subjects(similarity, subjects, details={"threshold": known, **about})
        if math.isfinite(known):
            return score
        return replace(score, value=0.0, error=0.0, error_kind="none: there is no threshold to score")

    def ceiling(self, assembly: Thresholds | Mapping[str, xr.DataArray], left_out: LeftOut = "each") -> Score:
        """Nearness of each subject's threshold to those of the other subjects.

        Args:
            assembly: the subjects' thresholds, as ``target`` of a comparison.
            left_out: ``"each"`` compares every subject once; ``"drawn"`` draws as many subjects with Brain-Score's
                seeds, some more than once and others never.

        Returns:
            The mean over subjects, their population standard deviation as error, and one value per subject in ``raw``.

        Raises:
            ValueError: fewer than two subjects have a threshold, or an unknown value of ``left_out``.
        """
        subjects = self._subjects(assembly, "assembly")
        if left_out not in ("each", "drawn"):
            raise ValueError(f"left_out must be 'each' or 'drawn', got {left_out!r}")
        with_one = np.flatnonzero(subjects.values > 0)
        if len(with_one) < 2:
            raise ValueError(f"a ceiling needs two subjects with a positive threshold, there is {len(with_one)}")
        chosen = np.arange(subjects.size) if left_out == "each" else with_one[_drawn(subjects.values[with_one])]
        raw = self.run_kernel(leave_one_out_similarity, subjects.values.astype(float), chosen)
        subjects = subjects.isel({subjects.dims[0]: chosen})
        return spread_or_none(self._over_subjects(raw, subjects, ceiling={"left_out": left_out}), "subjects")

    def _over_subjects(self, raw: np.ndarray, subjects: xr.DataArray, **said: Any) -> Score:
        dim, made = str(subjects.dims[0]), self.provenance(**said)
        values = xr.DataArray(np.asarray(raw, float), coords_on(subjects, dim), [dim])
        return mean_and_deviation(values, "subjects", "max(1 - |t - s|/t, 0)", made, n_units=len(raw))


@dataclass(frozen=True)
class Threshold(AgainstSubjects):
    """Nearness of a model's perceptual threshold to those of human subjects.

    A psychometric function is fitted to the model's share of correct choices per level of the independent variable
    (``bsjax.metrics.psychometric_threshold``). Its threshold ``s`` scores ``max(1 - |t - s| / t, 0)`` against each
    subject's ``t``. The score is the mean over subjects, its error their population standard deviation, and ``raw`` has
    one entry per subject.

    If no function fits (too few correct choices, performance that falls with the variable, an R² below 0.4, a threshold
    outside the measured range), the model has no threshold. Its score is then 0 with error 0, as in Brain-Score; all
    subjects count as undefined, ``raw`` is NaN, and ``score.provenance["fit"]`` says why.

    Presentations with NaN probabilities or a NaN level are left out (``provenance["presentations_left_out"]`` counts
    them). Subjects whose threshold is NaN or not positive are left out and counted (``n_undefined``).

    Args:
        independent_variable: the numeric presentation coordinate along which the threshold is fitted.
        fit_function, fit_inverse_function: the cumulative Gaussian and its inverse; no others are supported.
        threshold_accuracy: the share of correct choices at the threshold, between 0.5 and 0.97, or ``"inflection"``:
            halfway between the fitted function at the lowest and at the highest level.
        required_accuracy: the smallest share of correct choices for which a function is fitted; None for no limit.
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

    Source: Wichmann & Hill 2001; Malania, Herzog & Westheimer 2007.

    Example:
        >>> Threshold("offset")(10, [10.0, 20.0, 40.0, 20.0])
        Score(0.5625 ± 0.2724, max(1 - |t - s|/t, 0))
    """

    identifier = "threshold"
    zero_by_chance = False

    independent_variable: str
    fit_function: Any = psychometric_cum_gauss
    fit_inverse_function: Any = inverse_psychometric_cum_gauss
    threshold_accuracy: float | Literal["inflection"] = _INFLECTION
    required_accuracy: Any = 0.6
    dtype: str | None = None

    def __post_init__(self) -> None:
        fixed = {"fit_function": psychometric_cum_gauss, "fit_inverse_function": inverse_psychometric_cum_gauss}
        refuse_others({name: vars(self)[name] or known for name, known in fixed.items()}, fixed, self.identifier)
        level = number(self.threshold_accuracy)
        if self.threshold_accuracy != _INFLECTION and (level is None or not 0.5 < level < _GREATEST_ACCURACY):
            raise ValueError(
                f"threshold_accuracy must be {_INFLECTION!r} or between 0.5 (chance) and {_GREATEST_ACCURACY}, because "
                f"fits assume lapses of at least 3 %; got {self.threshold_accuracy!r}"
            )
        level = _INFLECTION if level is None else level
        keep(self, **fixed, threshold_accuracy=level, required_accuracy=float(self.required_accuracy or 0))

    @property
    def level(self) -> float | None:
        """The share of correct choices at the threshold; None for the inflection."""
        return number(self.threshold_accuracy)

    def _subjects(self, given: Thresholds, what: str) -> xr.DataArray:
        return one_per_subject(given, what)

    def _fitted(self, source: xr.DataArray) -> tuple[float, dict[str, Any]]:
        fit, left_out = self.fit(source)
        return float(fit.threshold), {"fit": self.verdict(fit), "presentations_left_out": left_out}

    def compute_threshold(self, source: xr.DataArray, independent_variable: str | None = None) -> float:
        """A model's threshold in units of the independent variable; NaN if no function fits."""
        return float(self.fit(source, variable=independent_variable)[0].threshold)

    def fit(
        self, source: Any, what: str = "source", level: float | None = None, variable: str | None = None
    ) -> tuple[PsychometricFit, int]:
        """The function fitted to a model's choices, and the number of presentations that were left out."""
        x, correct, trials, left_out = _by_level(source, variable or self.independent_variable, what)
        level = self.level if level is None else level
        arrays = (np.asarray(values, float) for values in (x, correct, trials, level) if values is not None)
        return self.run_kernel(psychometric_threshold, *arrays, required_accuracy=self.required_accuracy), left_out

    def verdict(self, fit: PsychometricFit) -> str:
        """The quality of a fit, or why it was rejected."""
        threshold, level, _, _, _, r_squared, correct, kept, greatest = map(float, fit)
        if math.isfinite(threshold):
            return f"R² = {r_squared:.3f}, threshold {threshold:.6g} at {level:.4g} correct"
        if correct < self.required_accuracy:
            return f"failed: {correct:.3g} correct, {self.required_accuracy:.3g} required"
        if math.isnan(r_squared):
            return "failed: the same share of correct choices at all levels"
        if 3 * kept < 1:
            return f"failed: performance falls beyond {greatest:.6g}, with {kept:.3g} of the levels before that"
        if r_squared < 0.4:
            return f"failed: R² = {r_squared:.3f}, 0.4 required"
        return f"failed: {level:.4g} correct is not reached up to {greatest:.6g}, the greatest level of the fit"


@dataclass(frozen=True)
class MeanThreshold(WithCeiling):
    """Nearness of a model's thresholds to people's, averaged over conditions.

    The error is the mean of the conditions' errors, where defined.

    Args:
        metric: the metric of each condition.

    Example:
        >>> people = xr.DataArray([[2.0, 4.0], [4.0, float("nan")]], {"condition": ["a", "b"], "subject": ["p", "q"]})
        >>> MeanThreshold(Threshold("offset"))({"a": 4.0, "b": 4.0}, people)
        Score(0.7500 ± 0.5000 [-2.4266, 3.9266], mean over conditions of max(1 - |t - s|/t, 0))
    """

    metric: Threshold

    def __call__(self, source: Mapping[str, xr.DataArray | float], target: xr.DataArray) -> Score:
        """Compares a model with people; raises as ``threshold``.

        Args:
            source: condition -> a model's probabilities or threshold, as for ``threshold``.
            target: people's thresholds (condition, subject), NaN where a subject has not done a condition.
        """
        return self._mean(target, lambda name, people: self.metric(source[name], people))

    def ceiling(self, assembly: xr.DataArray) -> Score:
        """Nearness of people's thresholds, as in ``target``, to one another, averaged over conditions."""
        return self._mean(assembly, lambda _, people: self.metric.ceiling(people))

    def _mean(self, people: xr.DataArray, score: Callable[[str, xr.DataArray], Score]) -> Score:
        """The mean with the mean of the errors, which does not shrink because people are the same in all conditions."""
        names = [str(name) for name in people["condition"].values]
        scores = {name: score(name, measured(people.sel(condition=name, drop=True))) for name in names}
        errors = [float(each.error) for each in scores.values() if each.error is not None]
        first = next(iter(scores.values()))
        return mean_score(
            scores,
            "condition",
            error=float(np.mean(errors)) if errors else None,
            error_kind="mean over conditions of the standard deviation over subjects"
            if errors
            else "none: no condition has two subjects with a threshold",
            formula=f"mean over conditions of {first.formula}",
            n_units=len(scores),
            n_undefined=sum(bool(np.isnan(float(each))) for each in scores.values()),
            provenance=first.provenance.with_details(
                fit={name: each.provenance.details.get("fit") for name, each in scores.items()}
            ),
        )


@dataclass(frozen=True)
class ThresholdElevation(AgainstSubjects):
    """Nearness of a model's threshold elevation, test over baseline, to those of human subjects.

    The elevation is the ratio of the thresholds in two conditions, scored as in ``Threshold``. If
    ``threshold_accuracy`` is ``"inflection"``, the test condition's threshold is taken at the share of correct choices
    at the baseline's inflection. The score is 0 with error 0 if either condition has no threshold.

    Args:
        independent_variable: the presentation coordinate along which thresholds are fitted.
        baseline_condition, test_condition: keys of the two assemblies of a model's choices.
        threshold_accuracy: as in ``Threshold``.
        required_baseline_accuracy, required_test_accuracy: ``required_accuracy`` of ``Threshold``, per condition.
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

    Source: Malania, Herzog & Westheimer 2007.

    Example:
        >>> ThresholdElevation("offset", "vernier", "crowded")(3, [3.0, 2.0, 1.5, 5.0])
        Score(0.5250 ± 0.3562, max(1 - |t - s|/t, 0))
    """

    identifier = "threshold_elevation"
    zero_by_chance = False

    independent_variable: str
    baseline_condition: str
    test_condition: str
    threshold_accuracy: float | Literal["inflection"] = _INFLECTION
    required_baseline_accuracy: float | None = 0.6
    required_test_accuracy: float | None = 0.6
    dtype: str | None = None

    baseline: Threshold = field(init=False, repr=False, compare=False)
    test: Threshold = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        shared: Any = {"threshold_accuracy": self.threshold_accuracy, "dtype": self.dtype}
        required = self.required_baseline_accuracy, self.required_test_accuracy
        baseline, test = (Threshold(self.independent_variable, required_accuracy=each, **shared) for each in required)
        keep(self, baseline=baseline, test=test, threshold_accuracy=baseline.threshold_accuracy)
        keep(self, required_baseline_accuracy=baseline.required_accuracy, required_test_accuracy=test.required_accuracy)

    def _subjects(self, given: Thresholds | Mapping[str, xr.DataArray], what: str) -> xr.DataArray:
        return elevations(given, what, self.dtype)

    def _fitted(self, source: Mapping[str, xr.DataArray]) -> tuple[float, dict[str, Any]]:
        baseline, test = both(source, (self.baseline_condition, self.test_condition), "source").values()
        first, first_left_out = self.baseline.fit(baseline, f"source[{self.baseline_condition!r}]")
        verdict = f"{self.baseline_condition}: {self.baseline.verdict(first)}"
        if not math.isfinite(first.threshold):
            return math.nan, {"fit": verdict, "presentations_left_out": first_left_out}
        second, left_out = self.test.fit(test, f"source[{self.test_condition!r}]", level=float(first.level))
        elevation = self.run_kernel(threshold_elevation, second.threshold, first.threshold)
        verdict += f"; {self.test_condition}: {self.test.verdict(second)}"
        return float(elevation), {"fit": verdict, "presentations_left_out": first_left_out + left_out}


def one_per_subject(thresholds: Thresholds, what: str) -> xr.DataArray:
    """Thresholds as a one-dimensional array of numbers.

    Raises:
        ValueError: another shape, values that are not numbers, or no positive threshold.
    """
    if isinstance(thresholds, list | tuple | np.ndarray) and np.ndim(thresholds) == 1:
        thresholds = xr.DataArray(thresholds, dims=[SUBJECT])
    if not isinstance(thresholds, xr.DataArray) or thresholds.ndim != 1:
        got = f"{type(thresholds).__name__} with {np.ndim(thresholds)} dimensions"
        raise ValueError(f"{what} must be a list or an assembly with one threshold per subject, got {got}")
    if thresholds.dtype.kind not in "fiu":
        raise ValueError(f"{what} must hold numbers, it holds {thresholds.dtype}")
    if not (thresholds.values > 0).any():
        raise ValueError(f"{what} holds no positive threshold among {thresholds.size}")
    return thresholds


def measured(thresholds: xr.DataArray) -> xr.DataArray:
    """The thresholds of subjects with a finite one."""
    return thresholds.isel(subject=np.isfinite(thresholds.values))


def elevations(assemblies: Thresholds | Mapping[str, xr.DataArray], what: str, dtype: str | None) -> xr.DataArray:
    """Threshold elevations of subjects, as given or from thresholds in two conditions, matched by ``subject``.

    Raises:
        ValueError: a condition is missing, or subjects differ between the two or repeat (they are listed).
    """
    if not isinstance(assemblies, Mapping):
        return one_per_subject(assemblies, what)
    parts = both(assemblies, (BASELINE, CONDITION), what)
    baseline, test = (one_per_subject(part, f"{what}[{name!r}]") for name, part in parts.items())
    subjects, tested = (
        coordinate(part, SUBJECT, str(part.dims[0]), f"{what}[{name!r}]")
        for name, part in ((BASELINE, baseline), (CONDITION, test))
    )
    order = np.argsort(matched(subjects, tested, (BASELINE, CONDITION), SUBJECT, "subjects"))
    values = test.values[order].astype(float), baseline.values.astype(float)
    ratio = baseline.copy(data=run(threshold_elevation, *values, dtype=dtype))
    return one_per_subject(ratio, f"{what}, {CONDITION} over {BASELINE},")


def both(assemblies: Any, names: tuple[str, str], what: str) -> dict[str, xr.DataArray]:
    """The two named entries of a dictionary.

    Raises:
        ValueError: it is not a dictionary, or lacks one of them.
    """
    has = ", ".join(map(str, assemblies)) if isinstance(assemblies, Mapping) else type(assemblies).__name__
    if not isinstance(assemblies, Mapping) or any(name not in assemblies for name in names):
        raise ValueError(f"{what} must be a dictionary with {names[0]!r} and {names[1]!r}; got {has or 'nothing'}")
    return {name: assemblies[name] for name in names}


def number(source: Any) -> float | None:
    """A single number, or None for anything else."""
    values = np.asarray(source)
    return float(values) if values.ndim == 0 and values.dtype.kind in "fiu" else None


def _by_level(source: Any, variable: str, what: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Levels of the variable, numbers of correct and of all presentations per level, and number left out."""
    if not isinstance(source, xr.DataArray):
        got = type(source).__name__
        raise ValueError(f"{what} must hold probabilities (presentation, choice), or be a threshold; got {got}")
    source = with_dims(source, what, PRESENTATION, "choice")
    labels = coordinate(source, "image_label", PRESENTATION, what)
    unknown = ~pd.Index(labels).isin(pd.Index(coordinate(source, "choice", "choice", what)))
    refuse_where(unknown, labels, "image_label", f"{what} has", " that are not among its choices")
    try:
        x = quantity(source, variable, PRESENTATION, what)
    except ValueError as error:
        if variable not in source.coords:
            raise
        raise ValueError(f"{variable!r} of {what} must hold numbers to find a threshold along it") from error
    usable = np.isfinite(x) & ~np.isnan(source.values).any(axis=1)
    if not usable.any():
        raise ValueError(f"{what} has no presentation with probabilities and a value of {variable!r}")
    right = chosen(source.isel(presentation=usable), what) == labels[usable]
    levels, level = np.unique(x[usable], return_inverse=True)
    return levels, np.bincount(level, right, len(levels)), np.bincount(level), int((~usable).sum())


def _drawn(thresholds: np.ndarray) -> np.ndarray:
    """The subjects that Brain-Score leaves out: each drawn one moves to the end of the line and may be drawn again."""
    line, drawn = list(range(len(thresholds))), []
    for seed in range(len(thresholds)):
        value = thresholds[line[np.random.RandomState(seed).permutation(len(line))[0]]]
        # Among equal thresholds, the first in the line moves, whichever was drawn.
        drawn.append(next(subject for subject in line if thresholds[subject] == value))
        line.remove(drawn[-1])
        line.append(drawn[-1])
    return np.array(drawn)
