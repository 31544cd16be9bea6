"""``compare_models``: scores, or models that are scored here, compared on one benchmark."""

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
    chance: float | Mapping[str, float] = 0.0,
    ceiling: Score | float | None = None,
    progress: bool | None = None,
) -> Comparison:
    """Which models differ on a benchmark, in which ranks, and how they stand to its ceiling and to chance.

    All pairs of models are tested on what they have in common: on the same draws of stimuli, neuroids or subjects, or
    on the values of the same neuroids or subjects. What was drawn is what the statements generalise over: models that
    differ over neuroids were shown the same stimuli, and may not differ on others.

    Args:
        scores_or_models: scores of one benchmark: a dict by the names of models, what :func:`bsjax.score` gives for
            several models, or a list of scores, which are named by their provenance. Or, with a benchmark, models as
            for :func:`bsjax.score`: identifiers, globs, objects, or a list of these. What needs more arguments is
            scored by that function first.
        benchmark: that models are scored on.
        over: what to generalise over: ``"stimuli"``, ``"neuroids"``, ``"subjects"``, or two of them, in a tuple. By
            default what the scores were drawn over, else the stimuli that they were cross-validated by, else the
            subjects, else the neuroids that they have values of. Models that are scored here are compared over
            stimuli: by the splits of a cross-validated metric, whose differences are corrected for the stimuli that
            splits share (Nadeau & Bengio 2003), else by draws. Where models are scored here, also a
            :class:`bsjax.Resampling`, with its number of draws, which cross-validated metrics are fitted to anew.
        test: on splits, ``"t"``. On draws, ``"bootstrap"``, by the share of draws beyond zero, corrected for few units;
            or ``"t"``, with the variance over draws, which is the one for two factors. On values of units,
            ``"sign-flip"``, a permutation test; ``"t"``; or ``"wilcoxon"``. The first by default, but ``"t"`` where
            there are too few units for any flip of signs to be significant.
        correction: for the number of pairs, and of models: ``"holm"``, under which any false claim has the chance
            ``alpha``; ``"fdr"``, under which that is the expected share of false claims (Benjamini & Hochberg 1995);
            ``"none"``.
        alpha: that p values are compared with.
        equivalence: the greatest difference that does not matter. Each pair is then tested for being closer than that
            (two one-sided tests, Schuirmann 1987).
        chance: what guessing scores: a number, or one for each model, such as the means of its scores of shuffled
            stimuli. On values of units, it is on their scale.
        ceiling: of scores that are not normalised by theirs: a score that was drawn with them, or a number.
        progress: True shows how far it is, False does not; by default it is shown on a terminal and in notebooks.

    Returns:
        A :class:`~bsjax.inference.comparison.Comparison`, with tables, statements and a figure.

    Raises:
        KeyError: an unknown identifier; the message names the nearest ones.
        ValueError: scores of different benchmarks, versions or data, scores with nothing in common to pair them by,
            fewer than two, several benchmarks, or an argument that cannot be; the message says what to do.

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
            raise ValueError(f"scores are drawn already: give over={drawn.over!r}, or models and a benchmark")
        scores = _by_model(scores_or_models)
    else:
        found = found_benchmarks(benchmark)
        if len(found) != 1:
            raise ValueError(f"models are compared on one benchmark at a time, got {', '.join(found)}")
        models: Any = list(found_models(scores_or_models).values())  # type: ignore[arg-type]
        if len(models) < 2:
            raise ValueError(f"a comparison takes two models, got {', '.join(found_models(models)) or 'none'}")
        [only] = found.values()
        plan = None if test in _OF_UNITS else drawn or Resampling(_factors(factors))
        of_pairs: Any = {}
        if plan is not None and drawn is None and plan.factors == ("stimuli",) and test in (None, "t"):
            # Splits of the stimuli pair what is cross-validated by them, without a fit to every draw.
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
    """Scores by the names of models."""
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
