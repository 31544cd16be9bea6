"""Comparison of models on one benchmark: differences, ranks, and tests against ceiling and chance."""

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, NamedTuple, get_args

import numpy as np
import pandas as pd

from bsjax.core.messages import some
from bsjax.inference.evidence import Evidence, Test
from bsjax.inference.letters import compact_letters
from bsjax.inference.multiplicity import Correction, corrected
from bsjax.inference.pairing import Paired, as_ceiling, check_alike, ends_of_ceiling, paired
from bsjax.inference.student import t_test
from bsjax.labelled.metric import as_metric
from bsjax.labelled.registry import load_metric
from bsjax.labelled.score import Score

_CORRECTIONS: dict[str, str] = {
    "holm": "Holm's correction",
    "fdr": "false discovery rate of Benjamini and Hochberg",
    "none": "no correction for several tests",
}
_TESTS = {
    "t": "t test",
    "bootstrap": "bootstrap test",
    "wilcoxon": "Wilcoxon's signed-rank test",
    "sign-flip": "sign-flip test",
}
_COLUMNS = "score low high p_ceiling below_ceiling p_chance above_chance rank rank_low rank_high letters".split()
_SHOWN = 20
_WIDTH = 80
_ZERO = -1


class Ceiling(NamedTuple):
    """The ceiling of a benchmark on the scale of its scores.

    Attributes:
        low, high: its lower and upper end; equal if it is a single value.
        p_chance: one-sided p value for the ceiling being at chance; NaN if its error is unknown.
    """

    low: float
    high: float
    p_chance: float


@dataclass(frozen=True, eq=False)
class Comparison:
    """Result of a comparison of models, from :func:`bsjax.compare_models`.

    Attributes:
        models: one row for each model, from the highest score to the lowest, those without a score last: ``score``;
            ``low`` and ``high``, its own interval at the level 1 - ``alpha``, if it has one; ``p_ceiling`` and
            ``p_chance`` of one-sided tests, uncorrected; ``below_ceiling`` and ``above_chance``, from corrected p
            values; ``rank``; ``rank_low`` and ``rank_high``, the best and worst rank that the significant differences
            allow; ``letters``: models that share a letter were not found to differ.
        table: one row for each pair, the higher score first: ``model``, ``other``, ``difference``; ``low`` and
            ``high``, its interval at the level 1 - ``alpha``, not corrected for several pairs; ``p``, two-sided;
            ``p_corrected``; ``significant``; ``p_equivalent``, corrected, and ``equivalent``, if a margin is given.
        over: the factors over which the conclusions generalise.
        test: name of the test.
        words: description of the compared values.
        correction, alpha, equivalence: as requested.
        ceiling: its ends; None if there is none.
        chance: the score of guessing; NaN if it is not known.
        least_p: the smallest possible corrected p value of a single pair: 0 for t tests, larger for tests with a
            finite number of outcomes.
        benchmark: its identifier, if known.
    """

    models: pd.DataFrame
    table: pd.DataFrame
    over: tuple[str, ...]
    test: Test
    words: str
    correction: Correction
    alpha: float
    equivalence: float | None
    ceiling: Ceiling | None
    chance: float | Mapping[str, float] = field(repr=False)
    least_p: float = 0.0
    benchmark: str | None = None

    @property
    def differs(self) -> pd.DataFrame:
        """Whether two models differ significantly, models by models; always False for models without a score."""
        names = list(self.models.index)
        found = pd.DataFrame(False, names, names)
        for model, other in self.table.loc[self.table["significant"], ["model", "other"]].itertuples(index=False):
            found.loc[model, other] = found.loc[other, model] = True
        return found

    @property
    def statement(self) -> str:
        """Summary of the results in words."""
        table: Any = self.table
        models: Any = self.models
        n, pairs = len(table), int(table["significant"].sum())
        of = f"{self.alpha:g}, {_TESTS[self.test]} over {' and '.join(self.over)}, {_CORRECTIONS[self.correction]}"
        said = [f"{pairs} of {n} pairs differ (p < {of})"]
        if self.least_p >= self.alpha:
            said.append(
                f"no pair can, because no p value is below {self.least_p:.2g}: use more draws or units, or test='t'"
            )
        if self.equivalence is not None:
            said.append(f"{int(table['equivalent'].sum())} pairs are equivalent within ±{self.equivalence:g}")
        if self.ceiling is not None and models["p_ceiling"].notna().any():
            said.append(f"{int(models['below_ceiling'].sum())} models are below the ceiling")
        unknown = "chance is not known for this metric: pass chance=, or see the p values of scores with null="
        said.append(unknown if self._unknown_chance else f"{int(models['above_chance'].sum())} are above chance")
        if self.correction == "holm":
            said.append(f"ranges of ranks hold jointly at {100 * (1 - self.alpha):g} %")
        return "; ".join(said) + "."

    def __repr__(self) -> str:
        name = "" if self.benchmark is None else f" on {self.benchmark}"
        shown, pairs = (of.to_string(float_format="{:z.4f}".format, na_rep="") for of in (self._shown(), self._pairs()))
        said = textwrap.fill(self.statement, _WIDTH, break_on_hyphens=False)
        return f"Comparison of {len(self.models)} models{name}\n{shown}\n{self._of_pairs}\n{pairs}\n{said}"

    def _repr_html_(self) -> str:
        name = "" if self.benchmark is None else f" on {escape(self.benchmark)}"
        shown, pairs = (
            of.to_html(float_format="{:z.4f}".format, na_rep="", border=0) for of in (self._shown(), self._pairs())
        )
        note = f"Models that share a letter do not differ significantly. Compared: {self.words}."
        return (
            f"<p><b>{len(self.models)} models{name}</b></p>{shown}<p>{escape(self._of_pairs)}</p>{pairs}"
            f"<p>{escape(self.statement)}<br>{escape(note)}</p>"
        )

    @property
    def _unknown_chance(self) -> bool:
        """Whether the score of guessing is not known."""
        return not isinstance(self.chance, Mapping) and math.isnan(self.chance)

    @property
    def _of_pairs(self) -> str:
        """The heading of the table of pairs."""
        n = len(self.table)
        which = f"; first {_SHOWN} of {n} pairs, see .table for all" if n > _SHOWN else ""
        return f"Differences, with intervals of {100 * (1 - self.alpha):g} % per pair, not corrected{which}:"

    def _pairs(self) -> pd.DataFrame:
        rows = self.table.head(_SHOWN)
        pairs = [f"{model} - {other}" for model, other in rows[["model", "other"]].itertuples(index=False)]
        p = ["< 0.0001" if p < 1e-4 else f"{p:.4f}" for p in rows["p_corrected"]]
        return rows[["difference", "low", "high"]].assign(**{"corrected p": p}).set_axis(pairs, axis=0)

    def _shown(self) -> pd.DataFrame:
        rows = self.models.head(_SHOWN)
        ranks = [_range(low, high) for low, high in rows[["rank_low", "rank_high"]].itertuples(index=False)]
        nothing = {"above_chance": "?" if self._unknown_chance else "", "below_ceiling": ""}
        return rows[["score", "low", "high"]].assign(
            ranks=ranks,
            letters=rows["letters"],
            **{
                name.replace("_", " "): ["yes" if yes else said for yes in rows[name]] for name, said in nothing.items()
            },
        )


def compare(
    scores: Mapping[str, Score],
    *,
    over: str | Sequence[str] | None = None,
    test: Test | None = None,
    correction: Correction = "holm",
    alpha: float = 0.05,
    equivalence: float | None = None,
    chance: float | Mapping[str, float] | None = None,
    ceiling: Score | float | None = None,
) -> Comparison:
    """Compare scores on one benchmark pair by pair; see :func:`bsjax.compare_models` for the arguments.

    Args:
        scores: by the names of models. NaN scores are listed but not compared.
        over, test, correction, alpha, equivalence, chance, ceiling: as for :func:`bsjax.compare_models`.

    Raises:
        ValueError: fewer than two models have a score, scores cannot be paired, or an argument is invalid.
    """
    _check(test, correction, alpha, equivalence)
    check_alike(scores)
    limit = as_ceiling(ceiling)
    if chance is None:
        chance = 0.0 if all(map(_is_zero_by_chance, scores.values())) else np.nan
    defined = {name: score for name, score in scores.items() if np.isfinite(float(score))}
    if len(defined) < 2:
        raise ValueError(
            f"a comparison needs at least two models with a score; {len(defined)} of {len(scores)} have one"
        )
    order = sorted(defined, key=lambda name: (-float(defined[name]), name))
    basis = paired({name: defined[name] for name in order}, (over,) if isinstance(over, str) else over, test, limit)
    tests = 1 if correction != "holm" else len(order) * (len(order) - 1) // 2
    least: dict[Test, float] = {name: min(1.0, tests * basis.evidence.least_p(name)) for name in basis.evidence.tests}
    able: list[Test] = [name for name in basis.evidence.tests if least[name] < alpha]
    chosen: Test = basis.evidence.tests[0]
    if test is not None or able:
        chosen = test or able[0]
    table = _of_pairs(order, basis.evidence, chosen, correction, alpha, equivalence)
    undefined = [name for name in scores if name not in defined]
    listed = {name: scores[name] for name in [*order, *undefined]}
    models: Any = _of_models(listed, basis, chosen, correction, alpha, chance)
    models = models.join(_of_ranks(models["score"].dropna(), table))[_COLUMNS]
    models["letters"] = models["letters"].fillna("")
    first = defined[order[0]]
    return Comparison(
        models=models,
        table=table,
        over=basis.over,
        test=chosen,
        words=basis.words,
        correction=correction,
        alpha=alpha,
        equivalence=equivalence,
        ceiling=_ceiling(defined, limit, chance),
        chance=chance,
        least_p=least[chosen],
        benchmark=first.provenance.benchmark,
    )


def _check(test: str | None, correction: str, alpha: float, equivalence: float | None) -> None:
    for what, given, known in (("test", test, get_args(Test)), ("correction", correction, get_args(Correction))):
        if given is not None and given not in known:
            raise ValueError(f"{what} must be one of {', '.join(map(repr, known))}, got {given!r}")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be between 0 and 1, got {alpha!r}")
    if equivalence is not None and not equivalence > 0:
        raise ValueError(
            f"equivalence, the largest difference that does not matter, must be above 0, got {equivalence!r}"
        )


def _of_pairs(
    names: list[str], evidence: Evidence, test: Test, correction: Correction, alpha: float, margin: float | None
) -> pd.DataFrame:
    first, second = np.triu_indices(len(names), 1)
    low, high = evidence.interval(test, first, second, 1 - alpha)
    p = evidence.p(test, first, second, 0.0, "two-sided")
    p_corrected = corrected(p, correction)
    equivalent = np.full(len(p), np.nan)
    if margin is not None:
        # Both one-sided tests have to reject, so the larger p value counts.
        above = evidence.p(test, first, second, -margin, "greater")
        below = evidence.p(test, first, second, margin, "less")
        equivalent = corrected(np.maximum(above, below), correction)
    named = np.array(names, dtype=object)
    return pd.DataFrame(
        {
            "model": named[first],
            "other": named[second],
            "difference": evidence.estimates(first, second),
            "low": low,
            "high": high,
            "p": p,
            "p_corrected": p_corrected,
            "significant": p_corrected < alpha,
            "p_equivalent": equivalent,
            "equivalent": equivalent < alpha,
        }
    )


def _of_models(
    scores: Mapping[str, Score],
    basis: Paired,
    test: Test,
    correction: Correction,
    alpha: float,
    chance: float | Mapping[str, float],
) -> pd.DataFrame:
    models: Any = pd.DataFrame({"score": [float(score) for score in scores.values()]}, index=list(scores))
    models.index.name = "model"
    ends = [_interval(score, 1 - alpha) for score in scores.values()]
    models["low"], models["high"] = np.array(ends).T
    defined = models.index[models["score"].notna()]
    first = np.arange(len(defined))
    models["p_ceiling"] = models["p_chance"] = np.nan
    if basis.has_ceiling:
        limit = np.full(len(defined), len(defined))
        models.loc[defined, "p_ceiling"] = basis.evidence.p(test, first, limit, 0.0, "less")
    guessing = np.array([_chance_of(name, chance) for name in defined])
    if np.isfinite(guessing).all():
        nothing = np.full(len(defined), _ZERO)
        models.loc[defined, "p_chance"] = basis.evidence.p(test, first, nothing, guessing, "greater")
    for p, claim in (("p_ceiling", "below_ceiling"), ("p_chance", "above_chance")):
        models[claim] = corrected(models[p].to_numpy(), correction) < alpha
    return models


def _is_zero_by_chance(score: Score) -> bool:
    """Whether unrelated responses score 0 on average; False where the metric is not here to tell."""
    made = score.provenance
    if made.metric is None:
        return True
    try:
        return as_metric(load_metric(made.metric, **made.settings)).zero_by_chance
    except (KeyError, TypeError, ValueError):
        return False


def _chance_of(name: str, chance: float | Mapping[str, float]) -> float:
    if not isinstance(chance, Mapping):
        return float(chance)
    if name not in chance:
        raise ValueError(f"chance has no value for {name}; it has values for {some(list(chance))}")
    return float(chance[name])


def _interval(score: Score, level: float) -> tuple[float, float]:
    if score.sampling_uncertainty is None:
        return np.nan, np.nan
    found = score.sampling_uncertainty.interval(float(score), level)
    return float(found.low), float(found.high)


def _of_ranks(scores: pd.Series, table: Any) -> pd.DataFrame:
    """Ranks, their ranges under the significant differences, and letters, for scores in descending order."""
    names, n = scores.index, len(scores)
    found = table[table["significant"]]
    better, worse = names.get_indexer(found["model"]), names.get_indexer(found["other"])
    wrong_way = (found["difference"] < 0).to_numpy()  # units are compared by means, but scores may be medians
    better, worse = np.where(wrong_way, worse, better), np.where(wrong_way, better, worse)
    differ = np.zeros((n, n), bool)
    differ[better, worse] = differ[worse, better] = True
    return pd.DataFrame(
        {
            "rank": pd.array((-scores).rank(method="min"), "Int64"),
            "rank_low": pd.array(1 + np.bincount(worse, minlength=n), "Int64"),
            "rank_high": pd.array(n - np.bincount(better, minlength=n), "Int64"),
            "letters": compact_letters(differ),
        },
        index=names,
    )


def _range(low: Any, high: Any) -> str:
    if pd.isna(low):
        return ""
    return f"{low}" if low == high else f"{low}-{high}"


def _ceiling(scores: Mapping[str, Score], given: Score | None, chance: float | Mapping[str, float]) -> Ceiling | None:
    ends = ends_of_ceiling(scores, given)
    if ends is None:
        return None
    ceiling = next(iter(scores.values())).ceiling
    ceiling = given if ceiling is None else ceiling
    p = np.nan
    known = None if ceiling is None else ceiling.sampling_uncertainty
    if ceiling is not None and known is not None and not isinstance(chance, Mapping):
        variance = np.asarray(known.standard_error, float) ** 2
        p = float(t_test(np.asarray(float(ceiling) - chance), variance, known.dof, "greater"))
    return Ceiling(*ends, p)
