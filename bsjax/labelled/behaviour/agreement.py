"""Agreement of a model with people, or of people among themselves, on which trials are right and wrong."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import jax.numpy as jnp
import numpy as np
import pandas as pd
import xarray as xr

from bsjax.engine.precision import precision
from bsjax.engine.transfers import to_host
from bsjax.labelled.aggregate import error_over, mean_score, nan_mean, spread_or_none
from bsjax.labelled.align import STIMULUS, listed
from bsjax.labelled.behaviour.responses import (
    CONDITION,
    SUBJECT,
    TRUTH,
    Observers,
    equal,
    judged_responses,
    laid_out,
    refuse_other_truths,
    response_table,
)
from bsjax.labelled.metric import InPrecision
from bsjax.labelled.provenance import metric_provenance
from bsjax.labelled.resampling import Drawn
from bsjax.labelled.score import Score
from bsjax.metrics import compiled
from bsjax.metrics.behaviour.agreement import accuracy_distance, error_consistency, of_pairs
from bsjax.metrics.resampling.behaviour import agreement_bootstraps

_Padding = Literal["constant", "edge"]


class _Agreement(InPrecision):
    """What the comparisons of pairs of observers share."""

    formula: str
    kernel: Callable[..., Any]
    no_response: tuple[str, ...] = ()
    within: Sequence[str] = ()

    def drawn_values(
        self, drawn: Drawn, source: xr.DataArray, target: xr.DataArray, variables: Sequence[str] = ()
    ) -> dict[str, Any]:
        """Its values in every draw of stimuli and subjects, see :func:`bsjax.labelled.resampling.scored`.

        A trial counts as often as a draw holds its stimulus, and the value of a subject as often as it holds the
        subject.
        """
        by = _names(variables or self.within)
        return self._in_draws(self._tables(source, target, by), by, drawn)

    def drawn_ceilings(self, drawn: Drawn, assembly: xr.DataArray, variables: Sequence[str] = ()) -> dict[str, Any]:
        """The ceiling in every draw of stimuli and subjects.

        A pair counts by the product of how often a draw holds its two subjects. Copies of one subject are never paired
        with each other: they agree on every trial, which two people do not.
        """
        by = _names(variables or self.within)
        return self._in_draws([self._people(assembly, "assembly", by)], by, drawn)

    def _tables(self, source: xr.DataArray, target: xr.DataArray, by: Sequence[str]) -> list[pd.DataFrame]:
        people = self._people(target, "target", by)
        return [self._judged(source, people, by), people]

    def _judged(self, source: xr.DataArray, people: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
        """The model's trials, judged by the truth of its own side."""
        return judged_responses(source, "source", by, self.no_response)

    def _people(self, assembly: xr.DataArray, what: str, by: Sequence[str]) -> pd.DataFrame:
        return judged_responses(assembly, what, by, self.no_response, observer=SUBJECT)

    def _compared(
        self, tables: Sequence[pd.DataFrame], by: Sequence[str]
    ) -> tuple[np.ndarray, pd.DataFrame, dict[str, Any], np.dtype]:
        """Values (conditions, subjects), the conditions, the subjects' coordinates, and the dtype.

        One table alone is of people, who are compared in all pairs.
        """
        one, two, conditions = _sides(tables, by)
        left, right = np.triu_indices(len(one.names), 1)
        if len(tables) == 2:
            left, right = np.zeros(len(two.names), int), np.arange(len(two.names))
        if not len(left):
            raise ValueError(f"a ceiling compares subjects with each other; assembly has {listed(one.names, SUBJECT)}")
        # What is beyond the conditions and the pairs repeats the last ones: it is undefined only where they are.
        pairs = _rounded_up(np.stack([left, right]).astype(np.int32), axes=(1,), mode="edge")
        with precision(self.dtype) as dtype:
            arrays = _arrays(one, two, dtype, conditions="edge")
            values = np.asarray(compiled(of_pairs, compare=self.kernel)(*arrays, pairs))
        values = values[: len(conditions), : len(left)]
        if len(tables) == 2:
            return values, conditions, {SUBJECT: two.names}, dtype
        of_whom = {"subject_left": (SUBJECT, one.names[left]), "subject_right": (SUBJECT, one.names[right])}
        return values, conditions, of_whom, dtype

    def _in_draws(self, tables: Sequence[pd.DataFrame], by: Sequence[str], drawn: Drawn) -> dict[str, Any]:
        """What ``drawn_values`` and ``drawn_ceilings`` give, of tables as for :meth:`_compared`."""
        one, two, _ = _sides(tables, by)
        kernel = compiled(agreement_bootstraps, compare=self.kernel, pairs=len(tables) == 1)
        with precision(self.dtype) as dtype:
            sides = _arrays(one, two, dtype)

            def of_draws(together: Sequence[str]) -> np.ndarray:
                stimuli, shown = _counts(drawn, "stimuli", together, two.stimuli)
                subjects, who = _counts(drawn, "subjects", together, two.names)
                places = _rounded_up(np.where(two.shown < 0, -1, shown[two.shown]), fill=-1)
                return to_host(kernel(*sides, stimuli, places, subjects, _rounded_up(who, fill=-1)))

            return {"values": drawn.in_passes(of_draws)}

    def _scored(self, per_subject: np.ndarray, raw: xr.DataArray, dtype: np.dtype, **called_with: Any) -> Score:
        of_subjects, of_pairs = (called_with, None) if SUBJECT in raw.coords else (None, called_with)
        what = "values of " + " and ".join(f"{dim}s" for dim in raw.dims)
        # As in Brain-Score, how all values spread that the subjects' are means of.
        spread = error_over(np.ravel(raw.values), what, kind="standard deviation")
        return mean_score(
            xr.DataArray(per_subject, dims=[SUBJECT]),
            SUBJECT,
            error=spread["error"],
            error_kind=spread["error_kind"],
            raw=raw,
            formula=self.formula,
            n_units=len(per_subject),
            n_undefined=int(np.isnan(np.atleast_2d(raw.values)).any(axis=0).sum()),
            provenance=metric_provenance(self, dtype, ceiling=of_pairs, details=of_subjects),
        )


def _sides(tables: Sequence[pd.DataFrame], by: Sequence[str]) -> tuple[Observers, Observers, pd.DataFrame]:
    """Two groups of observers, which are the same one where there is one table, and the conditions."""
    observers, conditions = laid_out(tables, ["source", "target"] if len(tables) == 2 else ["assembly"], by)
    return observers[0], observers[-1], conditions


def _arrays(one: Observers, two: Observers, dtype: np.dtype, conditions: _Padding = "constant") -> tuple[Any, ...]:
    """What the kernels are given first; conditions are padded with none, or with the last one."""
    right, present = (
        [_rounded_up(_rounded_up(values, axes=(1, 2)), axes=(0,), mode=conditions) for values in both]
        for both in ((one.right, two.right), (one.present, two.present))
    )
    return *(jnp.asarray(side, dtype) for side in right), *present


def _counts(
    drawn: Drawn, factor: str, together: Sequence[str], ids: np.ndarray
) -> tuple[np.ndarray | None, np.ndarray]:
    """Counts of a factor in a pass, None where it is not drawn in it, and the place of each identifier among them."""
    counts = drawn.of(factor, together)
    if counts is None:
        return None, np.arange(len(ids), dtype=np.int32)
    return _rounded_up(counts, axes=(1,)), drawn.codes(factor, ids)


def _rounded_up(
    values: np.ndarray, fill: int = 0, axes: Sequence[int] | None = None, mode: _Padding = "constant"
) -> np.ndarray:
    """Padded to powers of two, so that experiments of similar size share one compiled program."""
    padded = range(values.ndim) if axes is None else axes
    more = [(0, (1 << (n - 1).bit_length()) - n if axis in padded else 0) for axis, n in enumerate(values.shape)]
    return np.pad(values, more, constant_values=fill) if mode == "constant" else np.pad(values, more, mode)


class ErrorConsistency(_Agreement):
    r"""Whether a model is right and wrong on the same trials as people: Cohen's kappa, per person and condition.

    .. math:: \kappa = \frac{o - e}{1 - e}, \qquad e = p q + (1 - p)(1 - q)

    with the share ``o`` of trials on which both are right or both wrong, and the accuracies ``p`` and ``q``. The
    ``truth`` of a trial must be the same on both sides. The value is the mean over conditions and then over subjects,
    with its sign: below 0 a model errs where people do not.

    Left out of the means and counted: a condition in which kappa is undefined (model and subject both always right, or
    both always wrong), and one that a subject has not done. Subjects may have done different trials; each is compared
    with the model on the subject's own. A response that is NaN or None is not there; any string is an answer.

    ``raw`` is (condition, subject); ``n_units`` counts the subjects (pairs of subjects for a ceiling), ``n_undefined``
    those with an undefined condition.

    Args:
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

    Source: Cohen 1960; Geirhos, Meding & Wichmann 2020.

    Example:
        >>> def trials(answers, **coords):
        ...     same = {"stimulus_id": [1, 2, 3, 4], "truth": ["dog"] * 4, "condition": [1] * 4} | coords
        ...     return xr.DataArray(answers, {name: ("presentation", c) for name, c in same.items()}, ["presentation"])
        >>> model = trials(["dog", "dog", "cat", "car"])
        >>> person = trials(["dog", "dog", "dog", "cat"], subject=["A"] * 4)
        >>> ErrorConsistency()(model, person).value
        0.5
    """

    identifier = "error_consistency"
    formula = "κ = (o-e)/(1-e)"
    kernel = staticmethod(error_consistency)
    within = (CONDITION,)

    def __call__(self, source: xr.DataArray, target: xr.DataArray) -> Score:
        """Compares a model with every subject.

        Args:
            source: the model's choices, one a presentation, with ``stimulus_id``, ``truth`` and ``condition``.
            target: people's choices, with ``subject`` as well; in any order.

        Raises:
            ValueError: a coordinate is missing, a trial is there twice, the two hold different trials, or a trial has
                several truths.
        """
        return self._score(self._tables(source, target, self.within))

    def ceiling(self, assembly: xr.DataArray) -> Score:
        """Compares every subject with every other one.

        Args:
            assembly: people's choices, as ``target``. ``raw`` has ``subject_left`` and ``subject_right``.

        Raises:
            ValueError: as for a comparison, or there is one subject only.
        """
        return spread_or_none(self._score([self._people(assembly, "assembly", self.within)]), "pairs of subjects")

    def _score(self, tables: Sequence[pd.DataFrame]) -> Score:
        values, conditions, subjects, dtype = self._compared(tables, self.within)
        coords = {CONDITION: conditions[CONDITION].to_numpy(), **subjects}
        raw = xr.DataArray(values, dims=[CONDITION, SUBJECT], coords=coords)
        return self._scored(nan_mean(values.T), raw, dtype)


class KatoErrorConsistency(ErrorConsistency):
    """``ErrorConsistency`` on the trials that both have answered: ``""`` and ``"NaN"`` are no responses.

    Source: Kato & He 2026.
    """

    identifier = "kato_error_consistency"
    no_response = ("", "NaN")


class AccuracyDistance(_Agreement):
    r"""How near a model's accuracy ``p`` is to the accuracy ``q`` of each person.

    .. math:: 1 - \frac{|p - q|}{\max(q, 1 - q)}

    The value is the mean over subjects. The truth is the target's, for both. Subjects may have done different trials;
    the model's accuracy is that on the subject's own. A response that is NaN or None is not there; a subject without
    any is undefined, left out of the mean and counted in ``n_undefined``.

    ``raw`` is (subject); ``n_units`` counts the subjects (pairs of subjects for a ceiling).

    Args:
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

    Source: Brain-Score's ``accuracy_distance`` (Schrimpf et al. 2020).

    Example:
        >>> ids = {"stimulus_id": ("presentation", [1, 2, 3, 4])}
        >>> people = {"truth": ("presentation", ["dog"] * 4), "subject": ("presentation", ["A"] * 4)}
        >>> model = xr.DataArray(["dog", "cat", "dog", "car"], ids, ["presentation"])
        >>> person = xr.DataArray(["dog", "dog", "dog", "cat"], ids | people, ["presentation"])
        >>> round(AccuracyDistance()(model, person).value, 4)
        0.6667
    """

    identifier = "accuracy_distance"
    formula = "1-|p-q|/max(q, 1-q)"
    kernel = staticmethod(accuracy_distance)

    def __call__(self, source: xr.DataArray, target: xr.DataArray, variables: Sequence[str] = ()) -> Score:
        """Compares a model with every subject.

        Args:
            source: the model's choices, one a presentation, with ``stimulus_id`` and the ``variables``.
            target: people's choices, with ``truth`` and ``subject`` as well; in any order.
            variables: coordinates such as ``("condition",)``: accuracies are compared within every combination of
                their values that a subject has done, and averaged.

        Raises:
            ValueError: a coordinate is missing, a trial is there twice, the two hold different trials, or a stimulus
                has several truths.
        """
        by = _names(variables)
        return self._score(self._tables(source, target, by), by)

    def ceiling(self, assembly: xr.DataArray, variables: Sequence[str] = ()) -> Score:
        """Compares every subject with every later one, whose accuracy is the ``q`` of the formula.

        Args:
            assembly: people's choices, as ``target``. ``raw`` has ``subject_left`` and ``subject_right``.
            variables: as for a comparison.

        Raises:
            ValueError: as for a comparison, or there is one subject only.
        """
        by = _names(variables)
        return spread_or_none(self._score([self._people(assembly, "assembly", by)], by), "pairs of subjects")

    def _judged(self, source: xr.DataArray, people: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
        """The model's trials, judged by the truth of the people's."""
        model = response_table(source, "source", by, self.no_response).assign(observer=0)
        refuse_other_truths([people], ["target"])
        truth = people.loc[:, [STIMULUS, TRUTH]].drop_duplicates()
        judge = model[STIMULUS].map(truth.set_index(STIMULUS)[TRUTH])
        return model.assign(right=equal(model["response"], judge))

    def _score(self, tables: Sequence[pd.DataFrame], by: list[str]) -> Score:
        values, _, coords, dtype = self._compared(tables, by)
        per_subject = nan_mean(values.T)
        return self._scored(per_subject, xr.DataArray(per_subject, dims=[SUBJECT], coords=coords), dtype, variables=by)


class KatoAccuracyDistance(AccuracyDistance):
    """``AccuracyDistance`` on the trials that both have answered: ``""`` and ``"NaN"`` are no responses.

    The truth is each side's own, and must be the same for a trial.

    Source: Kato & He 2026.
    """

    identifier = "kato_accuracy_distance"
    no_response = ("", "NaN")

    _judged = _Agreement._judged


def _names(variables: Sequence[str]) -> list[str]:
    if isinstance(variables, str):
        raise ValueError(f"variables must be a sequence of coordinates, e.g. ({variables!r},), got {variables!r}")
    return list(variables)
