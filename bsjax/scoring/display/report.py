"""Text table of outcomes, and a legend that explains its columns and how to reproduce the numbers."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bsjax.core.messages import in_columns
from bsjax.labelled.registry import compare_responses, metric_registry

if TYPE_CHECKING:
    from bsjax.labelled import Score
    from bsjax.scoring.job import Outcome

_INTERVAL = "95 % interval"
_HEADER = ("raw", "ceiling", "score", "± error", _INTERVAL, "units", "s")
# Columns for scores with additional analyses: permutations and baselines.
_CALIBRATED, _P, _BASELINE = "calibrated", "p", "best baseline"
_GAP = "  "
_MOST_GROUPS, _MOST_NAMES = 5, 5


def table(outcomes: Sequence[Outcome], width: int | None = None) -> str:
    """One line per pair: model, benchmark, raw score, ceiling, ceiled score, its error and interval, units, seconds.

    Args:
        outcomes: pairs of one model that failed with the same error share one line at the end.
        width: columns of the terminal, ``None`` for no limit. If lines would be longer, each model becomes a heading
            above its benchmarks. If the numbers alone are longer, intervals and the best baselines move to lines of
            their own. Numbers are never cut.

    Returns:
        Lines without trailing spaces, no line break at the end.

    Example:
        >>> from bsjax.labelled import Score
        >>> from bsjax.scoring.job import Outcome
        >>> score = Score(0.5, error=0.01, unceiled=Score(0.6), ceiling=Score(0.72), n_units=50)
        >>> print(table([Outcome("pixels", "My.V1-ridge", score, None, 1.25)]))
        model   benchmark      raw  ceiling  score  ± error  95 % interval  units    s
        pixels  My.V1-ridge  0.600    0.720  0.500    0.010              -     50  1.2
    """
    scored = [(outcome, outcome.score) for outcome in outcomes if outcome.score is not None]
    beside = _beside([score for _, score in scored])
    numbers = [(*_HEADER, *beside)]
    numbers += [(*_numbers(score), f"{each.seconds:.1f}", *_beside_of(score, beside)) for each, score in scored]
    names = [("model", "benchmark"), *[(outcome.model, outcome.benchmark) for outcome, _ in scored]]
    for model, benchmarks in failed_alike(outcomes).items():
        names.append((model[0], benchmarks[0] if len(benchmarks) == 1 else f"{len(benchmarks)} benchmarks"))
        numbers.append(tuple("failed" if column == "score" else "" for column in numbers[0]))
    lines = in_columns([(*pair, *row) for pair, row in zip(names, numbers, strict=True)], left={0, 1})
    if width is not None and max(map(len, lines)) > width:
        lines = _grouped(names, numbers, width)
    return "\n".join(line.rstrip() for line in lines)


def failed_alike(outcomes: Sequence[Outcome]) -> dict[tuple[str, str], list[str]]:
    """The benchmarks on which a model failed, grouped by model and error line.

    Example:
        >>> from bsjax.scoring.job import Outcome
        >>> failed_alike([Outcome("mine", name, error=OSError("no network")) for name in ("My.V1-pls", "My.V1-cka")])
        {('mine', 'no network'): ['My.V1-pls', 'My.V1-cka']}
    """
    found: dict[tuple[str, str], list[str]] = {}
    for outcome in outcomes:
        if outcome.error is not None:
            found.setdefault((outcome.model, outcome.error_line), []).append(outcome.benchmark)
    return found


def legend(outcomes: Sequence[Outcome], width: int = 100) -> str:
    """Explain the columns of :func:`table`, and list data and versions needed to reproduce the numbers.

    Args:
        outcomes: pairs that failed are left out.
        width: columns at which the text is wrapped.

    Example:
        >>> from bsjax.labelled import Score
        >>> from bsjax.scoring.job import Outcome
        >>> print(legend([Outcome("pixels", "My.V1-ridge", Score(0.5, formula="r", n_units=9), None, 1.0)]))
        raw      r, similarity of model and data: correlation over held-out stimuli, median over units,
                 mean over splits
        ceiling  c, noise ceiling (reliability of the data): none
        score    r
        units    neuroids scored
    """
    scored = [(outcome.benchmark, outcome.score) for outcome in outcomes if outcome.score is not None]
    # One score, preferably a defined one, represents its benchmark.
    scores = dict(sorted(scored, key=lambda pair: pair[1].provenance.reason is None))
    scores = {benchmark: scores[benchmark] for benchmark, _ in scored}
    entries = [
        ("raw", "r, similarity of model and data: " + _by_value(scores, _metric)),
        ("ceiling", "c, noise ceiling (reliability of the data): " + _by_value(scores, _ceiling)),
        ("score", _by_value(scores, lambda score: score.formula)),
        ("± error", _by_value(scores, lambda score: score.error_kind)),
        (_INTERVAL, _by_value(scores, _kind_of_interval)),
        ("units", _by_value(scores, _what_is_counted)),
        *[(name, text) for name, text in _BESIDE.items() if name in _beside(list(scores.values()))],
        ("data", _by_value(scores, _data)),
        ("computed", _by_value(scores, _environment)),
    ]
    if any(score.exceeds_ceiling for score in scores.values()):
        entries.insert(3, ("*", "exceeds the ceiling; scores are not clipped"))
    entries.append(("nan", _why_undefined(outcomes)))
    margin = max(len(name) for name, _ in entries) + len(_GAP)
    return "\n".join(
        textwrap.fill(
            text,
            width,
            initial_indent=name.ljust(margin),
            subsequent_indent=" " * margin,
            break_on_hyphens=False,
            break_long_words=False,
        )
        for name, text in entries
        if text
    )


def brief_legend(outcomes: Sequence[Outcome], width: int = 100) -> str:
    """A one-line explanation of the scores at hand, such as the meaning of a score of 1.

    Args:
        outcomes: the scores.
        width: of the line, in characters.

    Example:
        >>> from bsjax.labelled import Score
        >>> from bsjax.scoring.job import Outcome
        >>> score = Score(0.5, error=0.1, error_kind="standard error over 10 splits", ceiling=Score(0.8))
        >>> print(brief_legend([Outcome("pixels", "My.V1-ridge", score)]))
        1 is the noise ceiling of the data; ± is the standard error over splits; --legend explains the rest
    """
    scores = [outcome.score for outcome in outcomes if outcome.score is not None]
    said = []
    if any(score.ceiling is not None for score in scores):
        said.append("1 is the noise ceiling of the data")
    if any(score.exceeds_ceiling for score in scores):
        said.append("* exceeds the ceiling")
    kinds = [score.error_kind for score in scores if score.error is not None]
    deviates = {"standard deviation" in kind for kind in kinds}
    spread = "deviation" if deviates == {True} else "error or deviation" if True in deviates else "error"
    of_splits = {"splits" in kind for kind in kinds}
    over = " over splits" if of_splits == {True} else " (over splits if cross-validated)" if True in of_splits else ""
    lines = ["; ".join([*said, f"± is the standard {spread}{over}", "--legend explains the rest"])]
    undefined = _why_undefined(outcomes)
    lines += [f"nan: {undefined}"] if undefined else []
    return "\n".join(textwrap.fill(line, width, break_on_hyphens=False) for line in lines)


def _why_undefined(outcomes: Sequence[Outcome]) -> str:
    """The reasons for undefined scores, each once."""
    undefined = [each.score for each in outcomes if each.score is not None and np.isnan(each.score.value).all()]
    return "; ".join({score.provenance.reason: None for score in undefined if score.provenance.reason})


def _numbers(score: Score) -> tuple[str, ...]:
    raw = score if score.unceiled is None else score.unceiled
    return (
        _number(raw.value),
        _number(None if score.ceiling is None else score.ceiling.value),
        _number(score.value) + ("*" if score.exceeds_ceiling else ""),
        _number(score.error),
        _interval(score),
        _units(score),
    )


def _number(value: Any) -> str:
    """A number in text; for a score resolved in time, its range over time bins."""
    if value is None:
        return "-"
    if getattr(value, "ndim", 0):
        return f"{_number(float(value.min()))}..{_number(float(value.max()))}"
    if math.isnan(value):
        return "nan"
    return f"{float(value):z.3f}"


def _interval(score: Score) -> str:
    """The ends of the interval; "-" for a score resolved in time, which has one in each bin."""
    ends = None if score.sampling_uncertainty is None or score.sizes else score.interval()
    return "-" if ends is None or math.isnan(ends.low) else f"{_number(ends.low)}..{_number(ends.high)}"


def _kind_of_interval(score: Score) -> str:
    known = score.sampling_uncertainty
    if known is None:
        return ""
    # The column heading already has the level.
    return f"{known.interval(score.value).words.partition(' % ')[2]}: {known.method}"


def _units(score: Score) -> str:
    if score.n_units is None:
        return "-"
    if score.n_undefined:
        return f"{score.n_units - score.n_undefined}/{score.n_units}"
    return str(score.n_units)


_BESIDE = {
    _CALIBRATED: "max(0, (r - τ) / (1 - τ)), where τ is exceeded by 1 in 20 permutations of the stimuli",
    _P: "proportion of permutations of the stimuli with r or more",
    _BASELINE: "the highest score of a baseline that is no model of the brain",
}


def _beside(scores: Sequence[Score]) -> list[str]:
    """The columns for the additional analyses that these scores have."""
    known = {_CALIBRATED: "p_value", _P: "p_value", _BASELINE: "baselines"}
    return [name for name, key in known.items() if any(key in score.provenance.details for score in scores)]


def _beside_of(score: Score, columns: Sequence[str]) -> list[str]:
    details = score.provenance.details
    baselines = {name: value for name, value in details.get("baselines", {}).items() if not np.isnan(value).any()}
    best = max(baselines, key=lambda name: float(np.mean(baselines[name])), default=None)
    found = {
        _CALIBRATED: _number(_value(details.get("calibrated"))),
        _P: _number(_value(details.get("p_value"))),
        _BASELINE: "-" if best is None else f"{best} {_number(_value(baselines[best]))}",
    }
    return [found[name] for name in columns]


def _value(given: Any) -> Any:
    """A number as it is; values resolved in time as an array."""
    return np.asarray(given) if np.ndim(given) else given


def _grouped(names: Sequence[tuple[str, str]], numbers: Sequence[tuple[str, ...]], width: int) -> list[str]:
    """The table with models as headings; if a benchmark is too long, its numbers are on the next line."""
    indent = " "  # wider ones would leave too little room for the names of built-in benchmarks in 80 columns
    cells = in_columns(numbers, left=())
    below: list[list[str]] = [[] for _ in numbers]
    for name in (_INTERVAL, _BASELINE):
        if name in numbers[0] and len(cells[0]) + 2 * len(indent) > width:
            at = numbers[0].index(name)
            for more, row in zip(below, numbers, strict=True):
                more += [] if row[at] in ("", "-") else [f"{indent}{_GAP}{name}: {row[at]}"]
            numbers = [(*row[:at], *row[at + 1 :]) for row in numbers]
            cells = in_columns(numbers, left=())
    room = width - len(cells[0]) - 2 * len(indent)
    column = min(room, max(len(benchmark) for _, benchmark in names))
    lines, heading = [f"{'':{max(0, column + len(indent))}}{indent}{cells[0]}"], None
    for (model, benchmark), row, more in zip(names[1:], cells[1:], below[1:], strict=True):
        if model != heading:
            lines.append(model)
            heading = model
        if len(benchmark) > column:
            lines += [indent + benchmark, f"{'':{max(0, column + len(indent))}}{indent}{row}"]
        else:
            lines.append(f"{indent}{benchmark:{column}}{indent}{row}")
        lines += more
    return lines


def _by_value(scores: dict[str, Score], describe: Callable[[Score], str]) -> str:
    """Each distinct description, with the benchmarks it applies to unless it applies to all."""
    groups: dict[str, list[str]] = {}
    for benchmark, score in scores.items():
        groups.setdefault(describe(score), []).append(benchmark)
    if len(groups) == 1:
        return next(iter(groups))
    if len(groups) > _MOST_GROUPS:
        return "differs between benchmarks: see score.provenance, or --json"
    return "; ".join(f"{text or 'not stated'} ({_short(benchmarks)})" for text, benchmarks in groups.items())


def _short(benchmarks: Sequence[str]) -> str:
    """Identifiers, without the part before the last hyphen when it repeats; of many, the first and a count."""
    if len(benchmarks) > _MOST_NAMES:
        return f"{_short(benchmarks[:2])} and {len(benchmarks) - 2} more"
    shown, family = [], None
    for benchmark in benchmarks:
        own, _, metric = benchmark.rpartition("-")
        shown.append(f"-{metric}" if own == family else benchmark)
        family = own
    return ", ".join(shown)


def _metric(score: Score) -> str:
    raw = score if score.unceiled is None else score.unceiled
    name = raw.provenance.metric or ""
    if name in metric_registry and name not in compare_responses():
        return metric_registry.summary(name)
    if raw.n_units is None:
        return "representational similarity"
    return "correlation over held-out stimuli, median over units, mean over splits"


def _what_is_counted(score: Score) -> str:
    if "task" in score.provenance.details:
        return "trials or subjects, whichever the metric averages over"
    return "neuroids scored" + (" of those recorded" if score.n_undefined else "")


def _ceiling(score: Score) -> str:
    if score.ceiling is None:
        return "none"
    metric = score.ceiling.provenance.metric or ""
    return metric.replace("_", " ") + (f", {score.ceiling.formula}" if score.ceiling.formula else "")


def _data(score: Score) -> str:
    made = score.provenance
    stimuli = f"{made.details['n_stimuli']} stimuli" if "n_stimuli" in made.details else ""
    return ", ".join(part for part in (stimuli, str(made.data or "")) if part)


def _environment(score: Score) -> str:
    made = score.provenance
    where = f"in {made.dtype} on {made.device}" if made.dtype and made.device else ""
    versions = ", ".join(f"{name} {made.versions[name]}" for name in ("bsjax", "jax") if name in made.versions)
    return "; ".join(part for part in (where, versions) if part)
