"""Consistency of subjects, who predict one another by any metric: a ceiling for a model of their responses."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import combinations, permutations
from typing import Any, get_args

import jax
import numpy as np
import pandas as pd
import xarray as xr

from bsjax.engine.memory_limit import refuse_unless_it_fits, taken_by
from bsjax.engine.precision import precision
from bsjax.labelled.aggregate import mean_score
from bsjax.labelled.align import drawn_from, origins_of
from bsjax.labelled.metric import Metric, as_metric
from bsjax.labelled.provenance import Provenance, metric_provenance
from bsjax.labelled.registry import load_metric
from bsjax.labelled.score import Score
from bsjax.labelled.settings import settings_of
from bsjax.labelled.similarity.subject_responses import LEFT, RIGHT, SUBJECT, by_subject, pairs_of_stack
from bsjax.labelled.similarity.subject_similarity import parts_by_subject
from bsjax.metrics import compiled, mean_over_pairs, rdm_noise_ceiling, rdms_between_subjects
from bsjax.metrics.ceilings.cross_subject import How
from bsjax.metrics.similarity.rdm_comparison import COMPARISONS

PREDICTOR = "predictor"


class CrossSubjectConsistency(Metric):
    """How well subjects predict one another: each one from each other one, or from all others together.

    The metric is given the responses of one subject in place of a model's, and those of another to be predicted, so
    that the ceiling is on the scale of a model's score: for a regression, how well the neuroids of a subject are
    predicted from those of the others, in the same cross-validation. A model can exceed it, since other subjects are
    predictors with noise, and with few neuroids.

    Pairwise, the value is the mean over pairs, both ways where the metric is not symmetric, and ``raw`` has (predictor,
    subject). Pairs share subjects, so that the error is that of the jackknife, which leaves out a subject with all of
    its pairs. Leaving one out, ``raw`` has (subject), and the error is the standard error over subjects.

    Args:
        metric: ``metric(source, target) -> Score``, or the identifier of one, e.g. ``"ridge_cv"`` or ``"cka"``. Or a
            comparison of RDMs, e.g. ``"spearman"``, for recordings that are RDMs already.
        how: ``"pairwise"``; or ``"leave_one_out"``: from the neuroids of all others side by side. RDMs are then
            compared with the mean of the others, the lower bound of ``rsa_ceiling`` with ``pooling="matched"``.
        symmetric: whether ``metric(a, b)`` is ``metric(b, a)``, which halves the work. None: as the metric says by its
            ``symmetric``, else not.
        **settings: of the metric, where it is given by its identifier.

    Raises:
        KeyError: an unknown metric.
        ValueError: another ``how``, or settings of a metric that takes none.

    Source: Arvesen 1969 on the jackknife; Schrimpf et al. 2021, "The neural architecture of language", on predicting
    subjects from one another.

    Example:
        >>> values = np.tile(np.random.default_rng(0).normal(size=(6, 2)), (1, 3))  # three subjects who respond alike
        >>> values[0, 5] += 0.1
        >>> everyone = xr.DataArray(values, dims=["presentation", "neuroid"], coords={
        ...     "stimulus_id": ("presentation", list("abcdef")), "subject": ("neuroid", list("aabbcc"))})
        >>> score = CrossSubjectConsistency("cka")(everyone)
        >>> float(score) > 0.9, score.error_kind
        (True, 'jackknife standard error over 3 subjects of the mean over 3 pairs')
    """

    identifier = "cross_subject_consistency"

    def __init__(
        self,
        metric: str | Callable[[Any, Any], Score] = "cka",
        how: How = "pairwise",
        symmetric: bool | None = None,
        **settings: Any,
    ) -> None:
        if how not in get_args(How):
            raise ValueError(f"how must be one of {', '.join(get_args(How))}, got {how!r}")
        made_here = isinstance(metric, str) and metric not in COMPARISONS
        if settings and not made_here:
            what = f"the comparison {metric!r}" if isinstance(metric, str) else "a metric that is made already"
            raise ValueError(f"{what} takes no settings, got {', '.join(settings)}")
        made: Any = load_metric(metric, **settings) if isinstance(metric, str) and made_here else metric
        self.metric: Any = made if isinstance(made, str) else as_metric(made)
        self.how = how
        known = None if isinstance(self.metric, str) else as_metric(self.metric)
        self.symmetric = (known is not None and known.symmetric) if symmetric is None else symmetric
        self.dtype = None if known is None else known.dtype

    def __call__(self, assembly: xr.DataArray) -> Score:
        """The consistency of the subjects of a recording.

        Args:
            assembly: responses to the same stimuli, averaged over repetitions, with ``subject`` on neuroid; for a
                comparison, RDMs (subject, stimulus_left, stimulus_right).

        Raises:
            ValueError: no coordinate ``subject``, a single subject, responses for a comparison of RDMs or a missing
                pair of one; and as the metric.
        """
        if isinstance(self.metric, str):
            return self._of_rdms(assembly, self.metric)
        parts = parts_by_subject(assembly)
        _check_subjects(list(parts))
        of_subjects = self.metric.of_subjects
        if drawn_from(SUBJECT) in assembly.coords:
            of_subjects = None
        if of_subjects is not None and np.isfinite(assembly).all() and assembly.sizes["presentation"] >= 4:
            return self._by_kernel(assembly, of_subjects)
        return self._of_parts(assembly, parts)

    def _of_parts(self, assembly: xr.DataArray, parts: dict[str, xr.DataArray]) -> Score:
        if self.how == "leave_one_out":
            people = dict(zip(parts, _people(parts, assembly, "neuroid"), strict=True))
            person = np.array([people[name] for name in assembly[SUBJECT].astype(str).values])
            others = {name: assembly.isel(neuroid=np.flatnonzero(person != people[name])) for name in parts}
            scores = {name: self.metric(others[name], part) for name, part in parts.items()}
            score = mean_score(scores, SUBJECT, n_units=assembly.sizes["neuroid"])
            return replace(score, provenance=self._provenance(score.provenance))
        names, people = list(parts), _people(parts, assembly, "neuroid")
        raw = np.full((len(names), len(names)), np.nan)
        pairs = list((combinations if self.symmetric else permutations)(range(len(names)), 2))
        pairs = [pair for pair in pairs if people[pair[0]] != people[pair[1]]]
        scores = [self.metric(parts[names[one]], parts[names[other]]) for one, other in pairs]
        for (one, other), score in zip(pairs, scores, strict=True):
            raw[one, other] = float(score)
            if self.symmetric:
                raw[other, one] = float(score)
        first, n_units = scores[0], assembly.sizes["neuroid"]
        return self._over_pairs(raw, names, formula=first.formula, n_units=n_units, provenance=first.provenance)

    def _by_kernel(self, assembly: xr.DataArray, of_subjects: Callable[..., Any]) -> Score:
        subjects, responses = by_subject(assembly, "assembly")
        kernel, shape = compiled(of_subjects, how=self.how, itself=1.0), responses.values.shape
        with precision(self.dtype) as dtype:
            takes = taken_by(kernel, (jax.ShapeDtypeStruct(shape, dtype), responses.units))
            what = f"{self.identifier} of {shape[0]:,} subjects and {shape[1]:,} stimuli"
            refuse_unless_it_fits(takes, what, "fewer stimuli or subjects")
            raw = np.asarray(kernel(responses.values.astype(dtype), responses.units), float)
            made = metric_provenance(self.metric, dtype)
        return self._over(raw, [str(name) for name in subjects], n_units=assembly.sizes["neuroid"], provenance=made)

    def _of_rdms(self, stack: xr.DataArray, method: str) -> Score:
        if not {LEFT, RIGHT} & set(stack.dims):
            raise ValueError(
                f"{method!r} compares RDMs (subject, {LEFT}, {RIGHT}), got {', '.join(map(str, stack.dims))}: of "
                f"responses, metric='rdm', comparison={method!r}"
            )
        subjects, pairs = pairs_of_stack(stack)
        names = [str(name) for name in subjects]
        _check_subjects(names)
        if np.isnan(pairs).any():
            raise ValueError("a subject lacks pairs of stimuli: select the stimuli that all subjects have")
        people = _people(subjects, stack, SUBJECT)
        alike = people[:, None] == people[None, :]
        with precision(self.dtype) as dtype:
            values = pairs.astype(dtype)
            if self.how == "pairwise":
                raw = compiled(rdms_between_subjects, method=method, itself=1.0)(values)
                raw = np.where(alike, np.nan, raw)
            else:
                # Each by itself, where a draw holds copies that are none of the others.
                kernel = compiled(rdm_noise_ceiling, method=method, pooling="matched")
                drawn = alike.sum() > len(names)
                raw = [kernel(values[[i, *np.flatnonzero(~alike[i])]])[0, 0] for i in range(len(names)) if drawn]
                raw = np.array(raw) if drawn else kernel(values)[0]
            made = replace(metric_provenance(self, dtype), metric=method)
        return self._over(np.asarray(raw, float), names, n_units=len(names), provenance=made)

    def _over(self, raw: np.ndarray, names: list[str], *, n_units: int, provenance: Provenance) -> Score:
        """The score of a symmetric comparison by correlation, of pairs or of each with the others."""
        if raw.ndim == 1:
            made: dict[str, Any] = {"formula": "r", "n_units": n_units, "provenance": self._provenance(provenance)}
            return mean_score(xr.DataArray(raw, {SUBJECT: names}, [SUBJECT]), SUBJECT, **made)
        return self._over_pairs(raw, names, formula="r", n_units=n_units, provenance=provenance, both_ways=False)

    def _over_pairs(
        self, raw: np.ndarray, names: list[str], *, provenance: Provenance, both_ways: bool | None = None, **made: Any
    ) -> Score:
        both_ways = not self.symmetric if both_ways is None else both_ways
        raw = np.where(np.eye(len(names), dtype=bool), np.nan, raw)
        with precision("float64"):
            mean, pseudo_values, error = (np.asarray(each) for each in compiled(mean_over_pairs)(raw))
        valued = int(np.isfinite(raw).sum()) // (1 if both_ways else 2)
        pairs = len(names) * (len(names) - 1) // (1 if both_ways else 2)
        score = mean_score(
            xr.DataArray(pseudo_values, {SUBJECT: names}, [SUBJECT]),
            SUBJECT,
            raw=xr.DataArray(raw, {PREDICTOR: names, SUBJECT: names}, [PREDICTOR, SUBJECT]),
            n_undefined=pairs - valued,
            provenance=self._provenance(provenance),
            **made,
        )
        # Where pairs are undefined, it is not the mean of the pseudo-values.
        score = replace(score, value=float(mean))
        takes_part = int((np.isfinite(raw) | np.isfinite(raw.T)).any(axis=0).sum())
        if np.isnan(error) or score.sampling_uncertainty is None:
            few = f"none: the jackknife takes a pair without each of three subjects, {takes_part} have pairs"
            words = few if np.isnan(error) else score.error_kind
            return replace(score, error=None, error_kind=words, uncertainty=None)
        words = f"jackknife standard error over {takes_part} subjects of the mean over {valued} pairs"
        return replace(score, error_kind=words, uncertainty=replace(score.sampling_uncertainty, method=words))

    def _provenance(self, made: Provenance) -> Provenance:
        details = {**made.details, "compared_by": made.metric}
        return replace(made, metric=self.identifier, settings=settings_of(self), seeds={}, details=details)


def _people(names: Iterable[Any], assembly: xr.DataArray, dim: str) -> np.ndarray:
    """Who each of some subjects is; of a draw, copies of one are the same, who does not predict themselves."""
    names = list(names)
    if drawn_from(SUBJECT) not in assembly.coords:
        return np.arange(len(names))
    people = origins_of(names, assembly, SUBJECT, dim, "assembly")  # which a draw gives names of text
    if len(pd.unique(people)) < 2:
        raise ValueError(f"subjects are compared with one another: a draw has {people[0]} alone")
    return people


def _check_subjects(names: list[str]) -> None:
    if len(names) < 2:
        raise ValueError(f"subjects are compared with one another: at least 2, there is {', '.join(names)}")
