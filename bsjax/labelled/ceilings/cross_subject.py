"""Cross-subject consistency: how well subjects predict one another by any metric, as a ceiling for models."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import combinations, permutations
from typing import Any, get_args

import numpy as np
import xarray as xr

from bsjax.engine.running import run
from bsjax.labelled.aggregate import mean_score
from bsjax.labelled.align import drawn_from, refuse_single
from bsjax.labelled.metric import Metric, as_metric
from bsjax.labelled.provenance import Provenance
from bsjax.labelled.score import Score
from bsjax.labelled.settings import keep
from bsjax.labelled.similarity.rdms.subject_responses import LEFT, RIGHT, SUBJECT, by_subject, pairs_of_stack
from bsjax.labelled.similarity.subject_similarity import parts_by_subject, people_of
from bsjax.metrics import mean_over_pairs, rdm_noise_ceiling, rdms_between_subjects
from bsjax.metrics.ceilings.cross_subject import How
from bsjax.metrics.similarity.rdms.rdm_comparison import COMPARISONS

PREDICTOR = "predictor"


@dataclass(frozen=True, init=False)
class CrossSubjectConsistency(Metric):
    """How well subjects predict one another: pairwise, or each subject from all others together.

    The metric compares the responses of one subject, in place of a model's, with those of another. The ceiling is
    therefore on the scale of a model's score. For a regression, it is how well a subject's neuroids are predicted from
    those of the others, with the same cross-validation. A model can exceed it, because the other subjects are noisy
    predictors with few neuroids.

    Pairwise, the value is the mean over pairs, in both directions if the metric is not symmetric, and ``raw`` is
    (predictor, subject). Because pairs share subjects, the error is that of the jackknife, which leaves out a subject
    with all of its pairs. With leave-one-out, ``raw`` is (subject), and the error is the standard error over subjects.

    Args:
        metric: ``metric(source, target) -> Score``, or its identifier, e.g. ``"ridge_cv"`` or ``"cka"``. For recordings
            that are RDMs already, a comparison of RDMs, e.g. ``"spearman"``.
        how: ``"pairwise"``; or ``"leave_one_out"``, from the neuroids of all others side by side. RDMs are then
            compared with the mean of the others, which is the lower bound of ``rsa_ceiling`` with
            ``pooling="matched"``.
        symmetric: whether ``metric(a, b)`` equals ``metric(b, a)``, which halves the work. None for the metric's own
            ``symmetric``, or False if it has none.
        **settings: settings of the metric, if it is given by its identifier.

    Raises:
        KeyError: an unknown metric.
        ValueError: an unknown ``how``, or settings for a metric that takes none.

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

    metric: Any
    how: How
    symmetric: bool
    dtype: str | None
    comparison: str | None = field(init=False, repr=False, compare=False)

    def __init__(
        self,
        metric: str | Callable[[Any, Any], Score] = "cka",
        how: How = "pairwise",
        symmetric: bool | None = None,
        **settings: Any,
    ) -> None:
        if how not in get_args(How):
            raise ValueError(f"how must be one of {', '.join(get_args(How))}, got {how!r}")
        comparison = next((name for name in COMPARISONS if name == metric), None)
        if comparison is not None:
            if settings:
                raise ValueError(f"the comparison {comparison!r} takes no settings, got {', '.join(settings)}")
            keep(self, metric=comparison, symmetric=bool(symmetric), dtype=None)
        else:
            made = as_metric(metric, **settings)
            symmetric = made.symmetric if symmetric is None else symmetric
            keep(self, metric=made, symmetric=symmetric, dtype=made.dtype)
        keep(self, how=how, comparison=comparison)

    def __call__(self, assembly: xr.DataArray) -> Score:
        """The consistency of the subjects of a recording.

        Args:
            assembly: responses to the same stimuli, averaged over repetitions, with ``subject`` on neuroid; for a
                comparison, RDMs (subject, stimulus_left, stimulus_right).

        Raises:
            ValueError: the coordinate ``subject`` is missing, there is a single subject, a comparison of RDMs gets
                responses or incomplete RDMs, or as raised by the metric.
        """
        if self.comparison is not None:
            return self._of_rdms(assembly, self.comparison)
        parts = parts_by_subject(assembly)
        refuse_single(parts)
        of_subjects = None if drawn_from(SUBJECT) in assembly.coords else self.metric.of_subjects
        if of_subjects is not None and np.isfinite(assembly).all() and assembly.sizes["presentation"] >= 4:
            return self._by_kernel(assembly, of_subjects)
        return self._of_parts(assembly, parts)

    def _of_parts(self, assembly: xr.DataArray, parts: dict[str, xr.DataArray]) -> Score:
        people = dict(zip(parts, people_of(parts, assembly, "neuroid"), strict=True))
        n_units = assembly.sizes["neuroid"]
        if self.how == "leave_one_out":
            person = np.array([people[name] for name in assembly[SUBJECT].astype(str).values])
            others = {name: assembly.isel(neuroid=np.flatnonzero(person != people[name])) for name in parts}
            scores = {name: self.metric(others[name], part) for name, part in parts.items()}
            score = mean_score(scores, SUBJECT, n_units=n_units)
            return replace(score, provenance=self._provenance(score.provenance))
        names = list(parts)
        raw = np.full((len(names), len(names)), np.nan)
        pairs = list((combinations if self.symmetric else permutations)(range(len(names)), 2))
        pairs = [(one, other) for one, other in pairs if people[names[one]] != people[names[other]]]
        scores = [self.metric(parts[names[one]], parts[names[other]]) for one, other in pairs]
        for (one, other), score in zip(pairs, scores, strict=True):
            raw[one, other] = float(score)
            if self.symmetric:
                raw[other, one] = float(score)
        first = scores[0]
        made = {"formula": first.formula, "n_units": n_units, "provenance": first.provenance}
        return self._over(raw, names, both_ways=not self.symmetric, **made)

    def _by_kernel(self, assembly: xr.DataArray, of_subjects: Callable[..., Any]) -> Score:
        names, responses = by_subject(assembly, "assembly")
        subjects, stimuli, _ = responses.values.shape
        takes = f"{self.identifier} of {subjects:,} subjects and {stimuli:,} stimuli"
        settings = {"advice": "fewer stimuli or subjects", "how": self.how, "itself": 1.0}
        raw = self.run_kernel(of_subjects, responses.values, responses.units, takes=takes, **settings)
        return self._over(raw, names, n_units=assembly.sizes["neuroid"], provenance=self.metric.provenance())

    def _of_rdms(self, stack: xr.DataArray, method: str) -> Score:
        if not {LEFT, RIGHT} & set(stack.dims):
            raise ValueError(
                f"{method!r} compares RDMs with the dimensions subject, {LEFT} and {RIGHT}, got "
                f"{', '.join(map(str, stack.dims))}: for responses, pass metric='rdm' and comparison={method!r}"
            )
        subjects, pairs = pairs_of_stack(stack)
        refuse_single(subjects)
        if np.isnan(pairs).any():
            raise ValueError("a subject lacks pairs of stimuli: select the stimuli that all subjects have")
        people = people_of(subjects, stack, SUBJECT)
        alike = people[:, None] == people
        if self.how == "pairwise":
            raw = np.where(alike, np.nan, self.run_kernel(rdms_between_subjects, pairs, method=method, itself=1.0))
        elif alike.sum() == len(people):
            raw = self.run_kernel(rdm_noise_ceiling, pairs, method=method, pooling="matched")[0]
        else:  # one at a time, because a draw may hold copies of a subject, which are not among the others
            sides = (pairs[[one, *np.flatnonzero(~same)]] for one, same in enumerate(alike))
            raw = np.array(
                [self.run_kernel(rdm_noise_ceiling, s, method=method, pooling="matched")[0, 0] for s in sides]
            )
        return self._over(raw, subjects, n_units=len(people), provenance=replace(self.provenance(), metric=method))

    def _over(
        self,
        raw: np.ndarray,
        names: Iterable[Any],
        *,
        n_units: int,
        provenance: Provenance,
        formula: str = "r",
        both_ways: bool = False,
    ) -> Score:
        """The mean over subjects, each against the others, or over pairs of subjects."""
        names, raw = [str(name) for name in names], np.asarray(raw, float)
        made: dict[str, Any] = {"formula": formula, "n_units": n_units, "provenance": self._provenance(provenance)}
        if raw.ndim == 1:
            return mean_score(xr.DataArray(raw, {SUBJECT: names}, [SUBJECT]), SUBJECT, **made)
        raw = np.where(np.eye(len(names), dtype=bool), np.nan, raw)
        mean, pseudo_values, error = run(mean_over_pairs, raw, dtype="float64")
        halved = 1 if both_ways else 2
        valued, pairs = int(np.isfinite(raw).sum()) // halved, len(names) * (len(names) - 1) // halved
        score = mean_score(
            xr.DataArray(pseudo_values, {SUBJECT: names}, [SUBJECT]),
            SUBJECT,
            raw=xr.DataArray(raw, {PREDICTOR: names, SUBJECT: names}, [PREDICTOR, SUBJECT]),
            n_undefined=pairs - valued,
            **made,
        )
        # If pairs are undefined, the mean over pairs is not that of the pseudo-values.
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
        return replace(made, metric=self.identifier, settings=self.own_settings(), seeds={}, details=details)
