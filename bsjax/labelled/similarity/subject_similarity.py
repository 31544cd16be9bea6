"""Mean similarities, by any metric, of a model to several subjects, and of subjects to one another."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bsjax.labelled.aggregate import mean_score, nan_mean
from bsjax.labelled.align import coordinate, drawn_from, origins_of, refuse_single
from bsjax.labelled.metric import Metric, as_metric, scored
from bsjax.labelled.resampling.draws import Drawn, Resampling, in_draws
from bsjax.labelled.resampling.permutations import Permuted
from bsjax.labelled.score import Score
from bsjax.labelled.settings import keep
from bsjax.labelled.similarity.rdms.subject_responses import SUBJECT


@dataclass(frozen=True)
class SimilarityToSubjects(Metric):
    """A similarity of a model's responses to those of each subject, averaged over subjects.

    ``raw`` has one similarity per subject, and the error is the standard error of their mean.

    Args:
        metric: ``metric(source, target) -> Score``, e.g. ``load_metric("cka")``.

    Example:
        >>> from bsjax.labelled import load_metric
        >>> values = np.random.default_rng(0).normal(size=(6, 4))
        >>> both = xr.DataArray(values, dims=["presentation", "neuroid"], coords={
        ...     "stimulus_id": ("presentation", list("abcdef")), "subject": ("neuroid", ["s1", "s1", "s2", "s2"])})
        >>> score = SimilarityToSubjects(load_metric("cka"))(both.isel(neuroid=[0, 1]).drop_vars("subject"), both)
        >>> round(float(score.raw.sel(subject="s1")), 6)
        1.0
    """

    metric: Callable[[Any, Any], Score]

    def __post_init__(self) -> None:
        held = as_metric(self.metric)
        keep(self, metric=held, identifier=held.identifier, dtype=held.dtype, normalisation=held.normalisation)

    def __call__(self, source: xr.DataArray, target: xr.DataArray) -> Score:
        """Scores how similar the model is to the subjects.

        Args:
            source: the model's responses, as the metric takes them.
            target: the measured responses, with ``subject`` on neuroid.

        Raises:
            ValueError: the coordinate ``subject`` is missing, or as raised by the metric.
        """
        plan = Resampling.active()
        alone = plan is not None and plan.factors == ("stimuli",)  # all subjects have the same draws
        with in_draws(plan if alone else None):
            scores = {subject: scored(self.metric, source, part) for subject, part in parts_by_subject(target).items()}
        return mean_score(scores, SUBJECT, n_units=target.sizes["neuroid"])

    def drawn_values(self, drawn: Drawn, source: xr.DataArray, target: xr.DataArray) -> dict[str, Any]:
        """Its values in every draw; in draws of subjects, the mean of the same similarities with other weights."""
        if drawn.plan.factors != ("subjects",):
            return super().drawn_values(drawn, source, target)
        counts = drawn.in_order("subjects", np.unique(target[SUBJECT].values))
        raw = np.asarray(self(source, target).raw, float)
        known = np.isfinite(raw)
        times = np.where(counts[:, known].any(axis=1), counts[:, known].sum(axis=1), np.nan)
        return {"values": drawn.in_passes(lambda _: counts[:, known] @ raw[known] / times)}

    def permuted_values(self, permuted: Permuted, source: xr.DataArray, target: xr.DataArray) -> dict[str, Any]:
        """Its values after permutations: the metric's, averaged over subjects."""
        metric, parts = as_metric(self.metric), parts_by_subject(target).values()
        each = [metric.permuted_values(permuted, source, part)["values"] for part in parts]
        return {"values": each[0].copy(data=nan_mean(np.stack(each, axis=-1)))}


@dataclass(frozen=True)
class InterSubjectSimilarity(Metric):
    """Mean similarity of subjects to one another, over pairs: a ceiling of ``SimilarityToSubjects``.

    ``raw`` has one similarity per pair. The error is the standard error of their mean, as published. It is too small,
    because pairs share subjects; ``cross_subject_consistency`` has the error over subjects.

    Args:
        metric: ``metric(source, target) -> Score``, symmetric in the two, e.g. ``load_metric("cka")``.

    Example:
        >>> from bsjax.labelled import load_metric
        >>> values = np.tile(np.random.default_rng(0).normal(size=(6, 2)), (1, 2))  # two subjects who respond alike
        >>> both = xr.DataArray(values, dims=["presentation", "neuroid"], coords={
        ...     "stimulus_id": ("presentation", list("abcdef")), "subject": ("neuroid", ["s1", "s1", "s2", "s2"])})
        >>> InterSubjectSimilarity(load_metric("cka"))(both)
        Score(1.0000, r)
    """

    metric: Callable[[Any, Any], Score]

    def __post_init__(self) -> None:
        held = as_metric(self.metric)
        keep(self, metric=held, dtype=held.dtype)

    def __call__(self, assembly: xr.DataArray) -> Score:
        """The mean similarity of the subjects.

        Args:
            assembly: responses to the same stimuli, averaged over repetitions, with ``subject`` on neuroid.

        Raises:
            ValueError: the coordinate ``subject`` is missing, there is a single subject, or as raised by the metric.
        """
        parts = parts_by_subject(assembly)
        refuse_single(parts)
        people = dict(zip(parts, people_of(parts, assembly, "neuroid"), strict=True))
        pairs = [(one, other) for one, other in combinations(parts, 2) if people[one] != people[other]]
        scores = {f"{one} and {other}": self.metric(parts[one], parts[other]) for one, other in pairs}
        return mean_score(scores, "pair", what="pairs of subjects", n_units=assembly.sizes["neuroid"])


def parts_by_subject(assembly: xr.DataArray) -> dict[str, xr.DataArray]:
    """The responses of each subject, sorted by name.

    Raises:
        ValueError: the coordinate ``subject`` is missing.
    """
    subjects = coordinate(assembly, SUBJECT, "neuroid", "the measured responses")
    names: Iterable[Any] = np.unique(subjects)
    return {str(name): assembly.isel(neuroid=np.flatnonzero(subjects == name)) for name in names}


def people_of(names: Iterable[Any], assembly: xr.DataArray, dim: str) -> np.ndarray:
    """An identity for each subject, the same for copies in a draw, which are not compared with one another.

    Raises:
        ValueError: all are copies of one subject.
    """
    names = list(names)
    if drawn_from(SUBJECT) not in assembly.coords:
        return np.arange(len(names))
    people = origins_of(names, assembly, SUBJECT, dim, "assembly")  # in a draw, names are text
    if len(pd.unique(people)) < 2:
        raise ValueError(f"this draw holds copies of the subject {people[0]} only: at least 2 subjects are needed")
    return people
