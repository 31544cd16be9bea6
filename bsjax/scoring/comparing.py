"""``compare_models``: a statistical comparison of models on one benchmark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bsjax.inference.comparison import Comparison, compare
from bsjax.inference.evidence import Test
from bsjax.inference.multiplicity import Correction
from bsjax.labelled.resampling.draws import Resampling
from bsjax.labelled.score import Score
from bsjax.scoring.pair import score
from bsjax.scoring.resolution import BenchmarkLike, ModelLike, found_benchmarks, found_models

if TYPE_CHECKING:
    from bsjax.labelled.resampling.draws import Factor

_OF_UNITS = ("wilcoxon", "sign-flip")


def compare_models(
    scores_or_models: Mapping[Any, Score] | Iterable[Score] | ModelLike | Iterable[ModelLike],
    benchmark: BenchmarkLike | None = None,
    *,
    over: Resampling | Factor | Sequence[Factor] | None = None,
    test: Test | None = None,
    correction: Correction = "holm",
    alpha: float = 0.05,
    equivalence: float | None = None,
    chance: float | Mapping[str, float] | None = None,
    ceiling: Score | float | None = None,
    progress: bool | None = None,
) -> Comparison:
    """Compare models on a benchmark: which differ, how they rank, and how they relate to its ceiling and to chance.

    All pairs of models are tested on what they share: the same draws of stimuli, neuroids or subjects, or the values
    of the same neuroids or subjects. The conclusions generalise over what was resampled. For example, a difference
    found over neuroids holds for the stimuli that were shown, and need not hold for others.

    Args:
        scores_or_models: scores on one benchmark: a dict by model name, what :func:`bsjax.score` returns for several
            models, or a list of scores, which are named by their provenance. Or, with ``benchmark``, models as for
            :func:`bsjax.score`: identifiers, globs, objects, or a list of these. Call that function first if models
            need further arguments.
        benchmark: the benchmark to score models on.
        over: what to generalise over: ``"stimuli"``, ``"neuroids"``, ``"subjects"``, or a tuple of two. The default
            for scores is what they were resampled over, else the stimuli they were cross-validated by, else subjects,
            else neuroids, where there are values for these. The default for models is stimuli: by the splits of a
            cross-validated metric, whose differences are corrected for the stimuli that splits share (Nadeau & Bengio
            2003), else by draws. For models, also a :class:`bsjax.Resampling` with a number of draws; cross-validated
            metrics are refitted in every draw.
        test: on splits, ``"t"``. On draws, ``"bootstrap"``, from the share of draws beyond zero, corrected for small
            numbers of units; or ``"t"``, with the variance over draws, which is required for two factors. On values of
            units, ``"sign-flip"``, a permutation test; ``"t"``; or ``"wilcoxon"``. The default is the first, except
            for draws whose default interval is a t interval, and for too few units for a sign-flip test to reach
            significance, where it is ``"t"``.
        correction: for multiple pairs and models: ``"holm"`` limits the probability of any false claim to ``alpha``;
            ``"fdr"`` limits the expected share of false claims (Benjamini & Hochberg 1995); ``"none"``.
        alpha: significance level.
        equivalence: the largest difference that is considered negligible. Each pair is then also tested for
            equivalence within that margin (two one-sided tests, Schuirmann 1987).
        chance: the score of guessing: a number, or one for each model, such as its mean score on shuffled stimuli. For
            values of units, on their scale. The default is 0; for metrics of bsjax whose score of unrelated responses
            is not 0, such as ``procrustes``, ``cca`` and ``cka_biased``, models are then not tested against chance.
        ceiling: for scores that are not normalised by their own ceiling: a score resampled in the same draws, or a
            number.
        progress: True shows progress, False hides it. By default it is shown on a terminal and in notebooks.

    Returns:
        A :class:`~bsjax.inference.comparison.Comparison`, with tables and statements;
        :func:`bsjax.plots.plot_model_comparison` plots it.

    Raises:
        KeyError: an identifier is unknown; the message names the nearest ones.
        ValueError: the scores are of different benchmarks, versions or data, or share nothing to pair them by; there
            are fewer than two models or several benchmarks; or an argument is invalid. The message says what to do.

    Source: Schütt et al. 2023 (tests of models by bootstraps); Nadeau & Bengio 2003 (by splits); Holm 1979; Klein,
    Wright & Wieczorek 2020 (ranges of ranks).

    Example:
        >>> import numpy as np, xarray as xr
        >>> rng = np.random.default_rng(0)
        >>> def score_of(mean):
        ...     raw = xr.DataArray(mean + 0.05 * rng.normal(size=12), {"subject": np.arange(12)}, ["subject"])
        ...     return Score(float(raw.mean()), raw=raw)
        >>> comparison = compare_models({"a": score_of(0.5), "b": score_of(0.3), "c": score_of(0.31)})
        >>> comparison.over, comparison.models["letters"].to_dict()
        (('subjects',), {'a': 'a', 'c': 'b', 'b': 'b'})
        >>> comparison.table["significant"].tolist()
        [True, True, False]
    """
    drawn, factors = (over, over.over) if isinstance(over, Resampling) else (None, over)
    if benchmark is None:
        if drawn is not None:
            raise ValueError(
                f"finished scores cannot be resampled: give over={drawn.over!r}, or models and a benchmark"
            )
        scores = _by_model(scores_or_models)
    else:
        found = found_benchmarks(benchmark)
        if len(found) != 1:
            raise ValueError(f"models are compared on one benchmark at a time, got {', '.join(found)}")
        models: Any = list(found_models(scores_or_models).values())  # type: ignore[arg-type]
        if len(models) < 2:
            raise ValueError(f"a comparison needs at least two models, got {', '.join(found_models(models)) or 'none'}")
        [only] = found.values()
        plan = None if test in _OF_UNITS else drawn or Resampling(_factors(factors))
        of_pairs: Any = {}
        if plan is not None and drawn is None and plan.factors == ("stimuli",) and test in (None, "t"):
            # Cross-validated scores can be paired by their splits, without refitting in every draw.
            of_pairs = score(models, only, progress=progress)
        known = [one.uncertainty for one in of_pairs.values()]
        if not known or not all(each is not None and each.is_paired for each in known):
            of_pairs = score(models, only, resampling=plan, progress=progress)
        scores = {model: one for (model, _), one in of_pairs.items()}
    return compare(
        scores,
        over=factors,
        test=test,
        correction=correction,
        alpha=alpha,
        equivalence=equivalence,
        chance=chance,
        ceiling=ceiling,
    )


def _factors(over: Factor | Sequence[Factor] | None) -> tuple[Factor, ...]:
    if over is None:
        return ("stimuli",)
    return (over,) if isinstance(over, str) else tuple(over)


def _by_model(given: Any) -> dict[str, Score]:
    """Scores by the names of their models."""
    named: list[tuple[Any, Any]]
    if isinstance(given, Mapping):
        named = [(key[0] if isinstance(key, tuple) else key, one) for key, one in given.items()]
    elif isinstance(given, Iterable) and not isinstance(given, str):
        named = [(getattr(getattr(one, "provenance", None), "model", None), one) for one in given]
    else:
        named = [(None, given)]
    wrong = [type(one).__name__ for _, one in named if not isinstance(one, Score)]
    if wrong:
        raise ValueError(f"expected scores, or models and a benchmark to score them on, got {wrong[0]}")
    if any(name is None for name, _ in named):
        raise ValueError("these scores do not say of which model they are: give a dict, {name: score}")
    names = [str(name) for name, _ in named]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"there are several scores of {', '.join(repeated)}: compare one of each, on one benchmark")
    return dict(zip(names, (one for _, one in named), strict=True))
