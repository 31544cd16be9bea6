"""Agreement on which trials are right or wrong, between a model and people or among people.

``model_vs_human`` computes the four numbers of Geirhos et al. (2021) for each experiment, and their means.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bsjax.engine.running import run
from bsjax.labelled.aggregate import error_over, mean_score, nan_mean, spread_or_none
from bsjax.labelled.align import STIMULUS, listed
from bsjax.labelled.behaviour.responses import (
    CONDITION,
    SUBJECT,
    TRUTH,
    Observers,
    judged_responses,
    laid_out,
    refuse_other_truths,
)
from bsjax.labelled.metric import InPrecision, WithCeiling
from bsjax.labelled.resampling.draws import Drawn
from bsjax.labelled.score import Score
from bsjax.labelled.uncertainty import Uncertainty
from bsjax.metrics import mean_over_pairs
from bsjax.metrics.behaviour.agreement import accuracy_distance, agreement, error_consistency
from bsjax.metrics.resampling.behaviour import agreement_bootstraps


class _Agreement(InPrecision, WithCeiling):
    """The base class of comparisons of people with a model, or with one another if only their assembly is given.

    Attributes:
        kernel: compares two groups of observers.
        no_response: words that count as no response.
        within: coordinates of the conditions that are compared separately and kept apart in ``raw``.
        truth_of_people: whether the model's trials are judged by the truth in people's assembly, not in its own.
    """

    formula: str
    kernel: Callable[..., Any]
    needs = (STIMULUS, TRUTH, SUBJECT)
    needs_of_source = (STIMULUS,)
    no_response: tuple[str, ...] = ()
    within: Sequence[str] = ()
    truth_of_people: bool = False

    def drawn_values(self, drawn: Drawn, *assemblies: xr.DataArray, variables: Sequence[str] = ()) -> dict[str, Any]:
        """Its values in every draw of stimuli and subjects, see :func:`bsjax.labelled.metric.scored`.

        A trial is weighted by the copies of its stimulus in the draw, and a subject's value by the copies of the
        subject. In a ceiling, a pair is weighted by the product of its subjects' copies. Copies of one subject are
        never paired, because they agree on every trial, unlike two people.
        """
        one, two, _ = self._sides(assemblies, variables)
        sides = one.right, two.right, one.present, two.present
        who = np.arange(len(two.names), dtype=np.int32)
        settings = {"compare": self.kernel, "pairs": len(assemblies) == 1}

        def of_draws(together: Sequence[str]) -> np.ndarray:
            stimuli = drawn.in_order("stimuli", two.stimuli) if "stimuli" in together else None
            subjects = drawn.in_order("subjects", two.names) if "subjects" in together else None
            return self.run_kernel(agreement_bootstraps, *sides, stimuli, two.shown, subjects, who, **settings)

        return {"values": drawn.in_passes(of_draws)}

    drawn_ceilings = drawn_values

    def _sides(
        self, assemblies: Sequence[xr.DataArray], variables: Sequence[str]
    ) -> tuple[Observers, Observers, pd.DataFrame]:
        """The two groups of observers, which are the same for a single assembly, and the conditions."""
        if isinstance(variables, str):
            raise ValueError(f"variables must be a sequence of coordinates, e.g. ({variables!r},), got {variables!r}")
        by, names = list(variables or self.within), ["source", "target"] if len(assemblies) > 1 else ["assembly"]
        observers, conditions = _laid_out(assemblies, names, by, self.no_response, self.truth_of_people)
        return observers[0], observers[-1], conditions

    def _score(self, assemblies: Sequence[xr.DataArray], variables: Sequence[str] | None = None) -> Score:
        """The mean over subjects, or over pairs of them."""
        one, two, conditions = self._sides(assemblies, variables or ())
        said = {} if variables is None else {"variables": list(variables)}
        if len(assemblies) > 1:
            made = self.provenance(details=said)
            left, right = np.zeros(len(two.names), int), np.arange(len(two.names))
            coords = {SUBJECT: (SUBJECT, two.names)}
        else:
            made = self.provenance(ceiling=said)
            left, right = np.triu_indices(len(one.names), 1)
            coords = {"subject_left": (SUBJECT, one.names[left]), "subject_right": (SUBJECT, one.names[right])}
        if not len(left):
            raise ValueError(f"a ceiling needs at least two subjects; assembly has {listed(one.names, SUBJECT)}")
        sides = one.right, two.right, one.present, two.present
        values = self.run_kernel(self.kernel, *sides)[:, left, right]
        per_subject = nan_mean(values.T)
        raw = xr.DataArray(per_subject, coords, [SUBJECT])
        if self.within:
            coords[CONDITION] = CONDITION, conditions[CONDITION].to_numpy()
            raw = xr.DataArray(values, coords, [CONDITION, SUBJECT])
        what = "values of " + " and ".join(f"{dim}s" for dim in raw.dims)
        # The spread of all values, not of the subjects' means, as in Brain-Score.
        spread = error_over(np.ravel(raw.values), what, kind="standard deviation")
        score = mean_score(
            xr.DataArray(per_subject, dims=[SUBJECT]),
            SUBJECT,
            error=spread["error"],
            error_kind=spread["error_kind"],
            raw=raw,
            formula=self.formula,
            n_units=len(per_subject),
            n_undefined=int(np.isnan(np.atleast_2d(raw.values)).any(axis=0).sum()),
            provenance=made,
        )
        if len(assemblies) > 1:
            return score
        return _over_people(spread_or_none(score, "pairs of subjects"), per_subject, left, right)


def _laid_out(
    assemblies: Sequence[xr.DataArray],
    names: Sequence[str],
    by: Sequence[str],
    no_response: Sequence[str] = (),
    truth_of_people: bool = False,
) -> tuple[list[Observers], pd.DataFrame]:
    """The answers of a model, if there is one, and of people, and their conditions; see ``_Agreement``."""
    *model, people = assemblies
    theirs = judged_responses(people, names[-1], by, no_response, observer=SUBJECT)
    truth = None
    if model and truth_of_people:
        refuse_other_truths([theirs], names[-1:])
        truth = theirs.drop_duplicates(STIMULUS).set_index(STIMULUS)[TRUTH]
    tables = [judged_responses(each, names[0], by, no_response, truth=truth) for each in model]
    _refuse_other_words(tables, theirs, names)
    return laid_out([*tables, theirs], names, by)


def _refuse_other_words(models: Sequence[pd.DataFrame], people: pd.DataFrame, names: Sequence[str]) -> None:
    """Refuses a model's answers of which none is an answer of people's or a truth: it would be always wrong."""
    words = {*people["response"][people["answered"]], *people[TRUTH]}
    for table in models:
        given = pd.unique(np.asarray(table["response"], object)[np.asarray(table["answered"])])
        own = table[TRUTH] if TRUTH in table else ()
        if len(given) and words.union(own).isdisjoint(given):
            raise ValueError(
                f"{names[0]} shares no answer with {names[-1]}: it gives {listed(given, 'answers')}; "
                f"expected {listed(sorted(map(str, words)), 'answers or truths')}"
            )


def _over_people(score: Score, values: np.ndarray, left: np.ndarray, right: np.ndarray) -> Score:
    """A mean over pairs of people with its uncertainty over people, because pairs that share one are dependent."""
    if score.sampling_uncertainty is None:
        return score
    pairs = np.full((right.max() + 1,) * 2, np.nan)
    pairs[left, right] = pairs[right, left] = values
    error = float(run(mean_over_pairs, pairs, dtype="float64").standard_error)
    if np.isnan(error):
        return replace(score, uncertainty=Uncertainty.of_error(score.error, score.error_kind))
    people, valued = int(np.isfinite(pairs).any(axis=0).sum()), int(np.isfinite(values).sum())
    method = f"jackknife standard error over {people} subjects of the mean over {valued} pairs"
    known = replace(score.sampling_uncertainty, standard_error=error, method=method, dof=people - 1)
    return replace(score, uncertainty=known)


class ErrorConsistency(_Agreement):
    r"""Agreement beyond chance of a model's and a person's right and wrong trials: Cohen's kappa, per condition.

    .. math:: \kappa = \frac{o - e}{1 - e}, \qquad e = p q + (1 - p)(1 - q)

    Here ``o`` is the share of trials on which both are right or both are wrong, and ``p`` and ``q`` are the accuracies.
    The ``truth`` of a trial must be the same on both sides. The score is the mean over conditions and then over
    subjects. It is negative if the model errs on other trials than people.

    Conditions that a subject has not done, or in which kappa is undefined (model and subject both always right, or both
    always wrong), are left out of the means and counted. Subjects may have done different trials; each is compared with
    the model on the subject's own trials. NaN and None are missing responses; any string is an answer.

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
    needs = (STIMULUS, TRUTH, CONDITION, SUBJECT)
    needs_of_source = (STIMULUS, TRUTH, CONDITION)

    def __call__(self, source: xr.DataArray, target: xr.DataArray) -> Score:
        """Compares a model with every subject.

        Args:
            source: the model's choices, one per presentation, with ``stimulus_id``, ``truth`` and ``condition``.
            target: people's choices, with ``subject`` as well; in any order.

        Raises:
            ValueError: a coordinate is missing, a trial is repeated, the two hold different trials, a trial has
                several truths, or no answer of the model is an answer or a truth of people's trials.
        """
        return self._score((source, target))

    def ceiling(self, assembly: xr.DataArray) -> Score:
        """Compares every subject with every other one; its interval is over subjects, by the jackknife.

        Args:
            assembly: people's choices, as ``target``. ``raw`` has ``subject_left`` and ``subject_right``.

        Raises:
            ValueError: as for a comparison, or there is only one subject.
        """
        return self._score((assembly,))


class KatoErrorConsistency(ErrorConsistency):
    """``ErrorConsistency`` on the trials that both have answered; ``""`` and ``"NaN"`` count as no response.

    Source: Kato & He 2026.
    """

    identifier = "kato_error_consistency"
    no_response = ("", "NaN")


class AccuracyDistance(_Agreement):
    r"""Nearness of a model's accuracy ``p`` to the accuracy ``q`` of each person.

    .. math:: 1 - \frac{|p - q|}{\max(q, 1 - q)}

    The score is the mean over subjects. The truth is taken from the target for both sides. Subjects may have done
    different trials; the model's accuracy is computed on the subject's own trials. NaN and None are missing responses.
    A subject without any response is undefined, left out of the mean and counted in ``n_undefined``.

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
    zero_by_chance = False
    formula = "1-|p-q|/max(q, 1-q)"
    kernel = staticmethod(accuracy_distance)
    truth_of_people = True

    def __call__(self, source: xr.DataArray, target: xr.DataArray, variables: Sequence[str] = ()) -> Score:
        """Compares a model with every subject.

        Args:
            source: the model's choices, one per presentation, with ``stimulus_id`` and the ``variables``.
            target: people's choices, with ``truth`` and ``subject`` as well; in any order.
            variables: coordinates such as ``("condition",)``: accuracies are compared within each combination of their
                values that a subject has done, and then averaged.

        Raises:
            ValueError: a coordinate is missing, a trial is repeated, the two hold different trials, a stimulus has
                several truths, or no answer of the model is an answer or a truth of people's trials.
        """
        return self._score((source, target), variables)

    def ceiling(self, assembly: xr.DataArray, variables: Sequence[str] = ()) -> Score:
        """Compares every subject with every later one, whose accuracy is ``q`` in the formula.

        Its interval is over subjects, by the jackknife.

        Args:
            assembly: people's choices, as ``target``. ``raw`` has ``subject_left`` and ``subject_right``.
            variables: as for a comparison.

        Raises:
            ValueError: as for a comparison, or there is only one subject.
        """
        return self._score((assembly,), variables)


class KatoAccuracyDistance(AccuracyDistance):
    """``AccuracyDistance`` on the trials that both have answered; ``""`` and ``"NaN"`` count as no response.

    Each side is judged by its own truth, which must be the same for a trial.

    Source: Kato & He 2026.
    """

    identifier = "kato_accuracy_distance"
    no_response = ("", "NaN")
    needs_of_source = (STIMULUS, TRUTH)
    truth_of_people = False


def model_vs_human(
    models: Mapping[str, xr.DataArray], people: Mapping[str, xr.DataArray], dtype: str | None = None
) -> pd.DataFrame:
    """Out-of-distribution accuracy of a model, and similarity of its choices to people's.

    For each experiment, the columns are means over subjects of means over conditions:

    - ``ood_accuracy``: accuracy of the model, on the trials of each subject;
    - ``accuracy_difference``: the squared difference between the model's and a subject's accuracy;
    - ``observed_consistency``: share of the trials on which model and subject are both right or both wrong;
    - ``error_consistency``: that share beyond what their accuracies alone would give (``ErrorConsistency``).

    A condition that a subject has not done, or in which error consistency is undefined, is left out of its mean.

    Args:
        models: experiment -> the model's choices, as the ``source`` of ``ErrorConsistency``.
        people: experiment -> people's choices, as its ``target``; for the same experiments.
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

    Returns:
        One row per experiment, in the order of ``models``, and a last row ``mean`` over the experiments.

    Raises:
        ValueError: the experiments of the two differ, or an experiment cannot be compared; the message names it.

    Source: Geirhos et al. 2021; https://github.com/bethgelab/model-vs-human.

    Example:
        >>> def trials(answers, **coords):
        ...     same = {"stimulus_id": [1, 2, 3, 4], "truth": ["dog"] * 4, "condition": [1] * 4} | coords
        ...     return xr.DataArray(answers, {name: ("presentation", c) for name, c in same.items()}, ["presentation"])
        >>> model = {"sketch": trials(["dog", "dog", "cat", "car"])}
        >>> person = {"sketch": trials(["dog", "dog", "dog", "cat"], subject=["A"] * 4)}
        >>> table = model_vs_human(model, person)
        >>> list(table.index), float(table.loc["mean", "observed_consistency"])
        (['sketch', 'mean'], 0.75)
    """
    if set(models) != set(people) or not models:
        differ = [f"{e} (model only)" for e in models if e not in people]
        differ += [f"{e} (people only)" for e in people if e not in models]
        raise ValueError(
            f"models and people must be of the same experiments; they differ in {listed(differ, 'of them')}"
        )
    columns = {
        "ood_accuracy": "source_accuracy",
        "accuracy_difference": "squared_difference",
        "observed_consistency": "observed_consistency",
        "error_consistency": "error_consistency",
    }
    table = pd.DataFrame(index=list(models), columns=list(columns), dtype=float)
    for experiment, model in models.items():
        try:
            (source, target), _ = _laid_out((model, people[experiment]), ["model", "people"], [CONDITION])
        except ValueError as error:
            raise ValueError(f"experiment {experiment}: {error}") from error
        found = run(agreement, source.right, target.right, source.present, target.present, dtype=dtype)._asdict()
        table.loc[experiment] = [nan_mean(nan_mean(found[name][:, 0].T)) for name in columns.values()]
    table.loc["mean"] = table.mean()
    return table
