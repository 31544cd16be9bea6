"""Thresholds of human subjects: a model's threshold against theirs, and theirs against one another."""

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import jax.numpy as jnp
import numpy as np
import pandas as pd
import xarray as xr

from bsjax.engine.compilation import compiled
from bsjax.engine.precision import precision
from bsjax.labelled.aggregate import coords_on, mean_score, spread_or_none
from bsjax.labelled.align import coordinate, more_than_once, only_in
from bsjax.labelled.metric import Metric
from bsjax.labelled.provenance import metric_provenance
from bsjax.labelled.score import Score
from bsjax.metrics.behaviour.thresholds import leave_one_out_similarity, relative_similarity, threshold_elevation

SUBJECT = "subject"
BASELINE, CONDITION = "baseline_assembly", "condition_assembly"
Thresholds = xr.DataArray | np.ndarray | Sequence[float]
LeftOut = Literal["each", "drawn"]


def one_per_subject(thresholds: Thresholds, what: str) -> xr.DataArray:
    """Thresholds as one dimension of numbers.

    Raises:
        ValueError: another shape, no numbers, none that is positive.
    """
    if not isinstance(thresholds, xr.DataArray):
        if not isinstance(thresholds, list | tuple | np.ndarray) or np.ndim(thresholds) != 1:
            raise ValueError(
                f"{what} must be a list or an assembly of one threshold per subject, got {type(thresholds).__name__}"
            )
        thresholds = xr.DataArray(thresholds, dims=[SUBJECT])
    if thresholds.ndim != 1:
        raise ValueError(
            f"{what} must have one dimension, one threshold per subject; it has: {', '.join(map(str, thresholds.dims))}"
        )
    if thresholds.dtype.kind not in "fiu":
        raise ValueError(f"{what} must hold numbers, it holds {thresholds.dtype}")
    if not (thresholds.values > 0).any():
        raise ValueError(f"{what} holds no positive threshold among {thresholds.size}")
    return thresholds


def measured(thresholds: xr.DataArray) -> xr.DataArray:
    """Those of the subjects' thresholds that are numbers."""
    return thresholds.isel(subject=np.isfinite(thresholds.values))


def elevations(assemblies: Thresholds | Mapping[str, xr.DataArray], what: str, dtype: str | None) -> xr.DataArray:
    """Threshold elevations of subjects, as they are or from their thresholds in two conditions, matched by ``subject``.

    Raises:
        ValueError: a condition is missing; subjects differ between the two, or repeat (shown).
    """
    if not isinstance(assemblies, Mapping):
        return one_per_subject(assemblies, what)
    parts = both(assemblies, (BASELINE, CONDITION), what)
    baseline, test = (one_per_subject(part, f"{what}[{name!r}]") for name, part in parts.items())
    subjects, tested = (
        pd.Index(coordinate(part, SUBJECT, str(part.dims[0]), f"{what}[{name!r}]"))
        for name, part in ((BASELINE, baseline), (CONDITION, test))
    )
    sides = subjects, tested, (BASELINE, CONDITION), SUBJECT
    if problems := only_in(*sides) + more_than_once(*sides):
        raise ValueError(f"{what} must hold the same subjects twice: {'; '.join(problems)}")
    order = tested.get_indexer(subjects)
    ratio = baseline.copy(data=computed(threshold_elevation, dtype, test.values[order], baseline.values))
    return one_per_subject(ratio, f"{what}, {CONDITION} over {BASELINE},")


def both(assemblies: Any, names: tuple[str, str], what: str) -> dict[str, xr.DataArray]:
    """The two named entries of a dictionary.

    Raises:
        ValueError: it is no dictionary, or lacks one of them.
    """
    has = ", ".join(map(str, assemblies)) if isinstance(assemblies, Mapping) else type(assemblies).__name__
    if not isinstance(assemblies, Mapping) or any(name not in assemblies for name in names):
        raise ValueError(f"{what} must be a dictionary with {names[0]!r} and {names[1]!r}; got {has or 'nothing'}")
    return {name: assemblies[name] for name in names}


def computed(kernel: Callable[..., Any], dtype: str | None, *values: Any) -> np.ndarray:
    """A kernel's result on plain numbers, in ``dtype``."""
    with precision(dtype) as numbers:
        return np.asarray(compiled(kernel)(*(jnp.asarray(v, numbers) for v in values)))


def number(source: Any) -> float | None:
    """A single number, or None of anything else."""
    if isinstance(source, bool | str | Mapping) or np.ndim(source) != 0:
        return None
    try:
        return float(source)
    except (TypeError, ValueError):
        return None


class AgainstSubjects(Metric):
    """What compares one number of a model with that of each subject."""

    @abstractmethod
    def _subjects(self, given: Any, what: str) -> xr.DataArray:
        """The numbers of the subjects."""

    @abstractmethod
    def _fitted(self, source: Any) -> tuple[float, dict[str, Any]]:
        """The number of a model, NaN where it has none, and what is known of it."""

    def __call__(self, source: Any, target: Any) -> Score:
        """Scores a model's threshold, or its elevation; 0 with the error 0 where it has none.

        Args:
            source: choice probabilities (presentation, choice) with the coordinates ``image_label`` and the independent
                variable on presentation and ``choice`` on choice, for an elevation in a dictionary with both
                conditions; or a single number.
            target: thresholds of the subjects. For an elevation, theirs, or a dictionary of their thresholds,
                ``"baseline_assembly"`` and ``"condition_assembly"``, matched by ``subject``.

        Raises:
            ValueError: coordinates or a condition are missing, levels are no numbers, labels are no choices, no subject
                has a positive threshold, or subjects differ between conditions.
        """
        subjects, known, about = self._subjects(target, "target"), number(source), {}
        if known is None:
            known, about = self._fitted(source)
        similarity = computed(relative_similarity, self.dtype, known, subjects.values)
        score = self._over_subjects(similarity, subjects, details={"threshold": known, **about})
        if math.isfinite(known):
            return score
        return replace(score, value=0.0, error=0.0, error_kind="none: there is no threshold to score")

    def ceiling(self, assembly: Thresholds | Mapping[str, xr.DataArray], left_out: LeftOut = "each") -> Score:
        """How close a subject is to the other subjects.

        Args:
            assembly: of the subjects, as ``target`` of a comparison.
            left_out: ``"each"`` subject stands in for the model once; ``"drawn"`` draws as many as there are by
                Brain-Score's seeds, some more than once and others never.

        Returns:
            The mean over subjects, their population standard deviation as error, and one value per subject in ``raw``.

        Raises:
            ValueError: fewer than two subjects have a threshold, or an unknown way to leave them out.
        """
        subjects = self._subjects(assembly, "assembly")
        if left_out not in ("each", "drawn"):
            raise ValueError(f"left_out must be 'each' or 'drawn', got {left_out!r}")
        with_one = np.flatnonzero(subjects.values > 0)
        if len(with_one) < 2:
            raise ValueError(f"a ceiling needs two subjects with a positive threshold, there is {len(with_one)}")
        chosen = np.arange(subjects.size) if left_out == "each" else with_one[_drawn(subjects.values[with_one])]
        with precision(self.dtype) as numbers:
            kernel = compiled(leave_one_out_similarity)
            raw = np.asarray(kernel(jnp.asarray(subjects.values, numbers), jnp.asarray(chosen)))
        subjects = subjects.isel({subjects.dims[0]: chosen})
        return spread_or_none(self._over_subjects(raw, subjects, ceiling={"left_out": left_out}), "subjects")

    def _over_subjects(self, raw: np.ndarray, subjects: xr.DataArray, **said: Any) -> Score:
        dim = str(subjects.dims[0])
        with precision(self.dtype) as numbers:
            made = metric_provenance(self, numbers, **said)
        return mean_score(
            xr.DataArray(np.asarray(raw, float), dims=[dim], coords=coords_on(subjects, dim)),
            dim,
            what="subjects",
            kind="standard deviation",
            formula="max(1 - |t - s|/t, 0)",
            n_units=len(raw),
            provenance=made,
        )


def _drawn(thresholds: np.ndarray) -> np.ndarray:
    """Which subjects Brain-Score leaves out: each one drawn goes to the end of the line and may be drawn again."""
    line, drawn = list(range(len(thresholds))), []
    for seed in range(len(thresholds)):
        value = thresholds[line[np.random.RandomState(seed).permutation(len(line))[0]]]
        # The first in the line with that threshold leaves it, whoever of them was drawn.
        drawn.append(next(subject for subject in line if thresholds[subject] == value))
        line.remove(drawn[-1])
        line.append(drawn[-1])
    return np.array(drawn)
