"""Mean similarities, by any metric, of a model to several subjects, and of subjects to one another."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import xarray as xr

from bsjax.labelled.aggregate import mean_score, nan_mean
from bsjax.labelled.align import coordinate, refuse_single
from bsjax.labelled.metric import Metric, as_metric, scored
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
        scores = {subject: scored(self.metric, source, part) for subject, part in parts_by_subject(target).items()}
        return mean_score(scores, SUBJECT, n_units=target.sizes["neuroid"])

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
        scores = {f"{one} and {other}": self.metric(parts[one], parts[other]) for one, other in combinations(parts, 2)}
        return mean_score(scores, "pair", what="pairs of subjects", n_units=assembly.sizes["neuroid"])


def parts_by_subject(assembly: xr.DataArray) -> dict[str, xr.DataArray]:
    """The responses of each subject, sorted by name.

    Raises:
        ValueError: the coordinate ``subject`` is missing.
    """
    subjects = coordinate(assembly, SUBJECT, "neuroid", "the measured responses")
    names: Iterable[Any] = np.unique(subjects)
    return {str(name): assembly.isel(neuroid=np.flatnonzero(subjects == name)) for name in names}
