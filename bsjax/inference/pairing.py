"""Pairing of scores by the draws or units that they share, as the basis of tests."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from bsjax.core.messages import some
from bsjax.inference.evidence import Evidence, PairedDraws, PairedUnits, Test
from bsjax.labelled.align import coordinate, listed
from bsjax.labelled.normalise import LIMITS
from bsjax.labelled.score import Score
from bsjax.labelled.uncertainty import DRAW, FACTOR, Uncertainty

# Dimension and coordinate of the units in ``Score.raw``.
_UNITS = {"subjects": ("subject", "subject"), "neuroids": ("neuroid", "neuroid_id")}
_ASK = (
    'draw them together: bsjax.compare_models(models, benchmark, over="stimuli"), or score arrays in '
    '`with bsjax.in_draws("stimuli"):`. A benchmark whose compare() calls a metric itself is not drawn: let it return '
    "bsjax.labelled.metric.scored(metric, observed, measured). A ceiling is drawn with the scores as "
    "ceiling_func=bsjax.benchmarks.Ceiling(load_ceiling(...) or metric.ceiling, data)"
)


# The uncertainty of a ceiling that is given as a number.
_EXACT = Uncertainty.of_error(None, "none: an exact number")


class Paired(NamedTuple):
    """Evidence for the differences between some scores.

    Attributes:
        evidence: one column for each score, in order, and one more if ``has_ceiling``.
        over: the factors over which the evidence generalises.
        words: description of the compared values.
        has_ceiling: whether the last column is the lower end of the ceiling.
    """

    evidence: Evidence
    over: tuple[str, ...]
    words: str
    has_ceiling: bool


def paired(
    scores: Mapping[str, Score],
    over: Sequence[str] | None = None,
    test: Test | None = None,
    ceiling: Score | None = None,
) -> Paired:
    """The best evidence that scores share: common draws, else values of subjects, else of neuroids.

    Args:
        scores: by the names of models; none is NaN.
        over: the factors to generalise over; None for the best available.
        test: a test that must be possible; None for any.
        ceiling: for scores that are not normalised by their own.

    Raises:
        ValueError: the scores are of different experiments, or lack the requested draws or units in common.
    """
    check_alike(scores)
    wanted = None if over is None else set(over)
    offers = list(_offers(scores, ceiling))
    there: list[str] = []
    for offered, make in offers:
        if wanted is None or set(offered) == wanted:
            found = make()
            if test is None or test in found.evidence.tests:
                return found
            there += [f"{name!r} over {' and '.join(offered)}" for name in found.evidence.tests]
    if there:
        raise ValueError(f"these scores do not allow the test {test!r}; there are {', '.join(there)}")
    raise ValueError(_why_not(scores, over, [offered for offered, _ in offers]))


def as_ceiling(given: Score | float | None) -> Score | None:
    """A given ceiling as a score; a number is taken as exact."""
    return given if given is None or isinstance(given, Score) else Score(float(given), uncertainty=_EXACT)


def check_alike(scores: Mapping[str, Score]) -> None:
    """Check that scores are of one experiment, so that they differ only by model.

    Raises:
        ValueError: they are not; the message names the differences.
    """
    for name, score in scores.items():
        if score.sizes:
            raise ValueError(
                f"the score of {name} has {', '.join(f'{n} {dim}' for dim, n in score.sizes.items())}: "
                "compare one value of each model, e.g. the mean over time bins"
            )
    for what in ("benchmark", "benchmark_version", "data", "region", "metric", "formula"):
        seen: dict[str, str] = {}
        for name, score in scores.items():
            told = score.formula if what == "formula" else getattr(score.provenance, what)
            if told is not None:
                seen.setdefault(repr(told), name)
        if len(seen) > 1:
            said = some([f"{value} of {name}" for value, name in seen.items()])
            raise ValueError(
                f"scores are compared on one benchmark, its data and its version; these differ in their "
                f"{what.replace('_', ' ')}: {said}. Compare those that agree, or score them again"
            )


def ends_of_ceiling(scores: Mapping[str, Score], ceiling: Score | None) -> tuple[float, float] | None:
    """The lower and upper end of the ceiling on the scale of the scores; None if there is no ceiling.

    Both ends are equal if the ceiling is a single value.
    """
    first = next(iter(scores.values()))
    if first.ceiling is None:
        return None if ceiling is None else _ends(ceiling)
    low, high = _ends(first.ceiling)
    c = float(first.ceiling)
    if not c > 0:
        return None
    if low == c == high:
        return 1.0, 1.0
    power = LIMITS[first.formula].power if first.formula in LIMITS else math.nan
    return None if math.isnan(power) else (max(low / c, 0.0) ** power, max(high / c, 0.0) ** power)


def _ends(ceiling: Score) -> tuple[float, float]:
    raw = ceiling.raw
    if raw is None or "bound" not in raw.dims:
        return float(ceiling), float(ceiling)
    low, high = (float(raw.sel(bound=bound).mean()) for bound in ("lower", "upper"))
    return low, high


def _offers(
    scores: Mapping[str, Score], ceiling: Score | None
) -> Iterator[tuple[tuple[str, ...], Callable[[], Paired]]]:
    known = [score.uncertainty for score in scores.values()]
    drawn = [each for each in known if each is not None and each.is_paired]
    if len(drawn) == len(known) and len({each.plan for each in drawn}) == 1:
        yield drawn[0].over, lambda: _in_draws(scores, drawn, ceiling)
    for name, (dim, _) in _UNITS.items():
        if all(score.raw is not None and dim in score.raw.dims for score in scores.values()):
            yield (name,), lambda units=name: _in_units(scores, units, ceiling)


def _in_draws(scores: Mapping[str, Score], known: list[Uncertainty], ceiling: Score | None) -> Paired:
    values, columns = [float(score) for score in scores.values()], list(known)
    ends = ends_of_ceiling(scores, ceiling)
    of_models = known[0]
    if ceiling is not None and ceiling.uncertainty is not _EXACT and not _is_normalised(scores):
        if ceiling.uncertainty is None or ceiling.uncertainty.plan != of_models.plan:
            raise ValueError(
                "the ceiling was not resampled together with the scores: compute it with the same resampling, "
                "or give its value, float(ceiling), to take it as it is"
            )
        columns.append(ceiling.uncertainty)
    draws = influence = None
    for name, each in zip(scores, known, strict=True):
        if np.isnan(each.standard_error).all() or (each.dof is not None and each.dof < 1):
            raise ValueError(f"the score of {name} cannot be compared: {each.none_because(float(scores[name]))}")
    if all(each.draws is not None for each in columns):
        draws = _stacked([each.draws for each in columns if each.draws is not None])
        draws = draws[:, np.isfinite(draws).all(axis=(0, 2))]
        if draws.shape[1] < 2:
            raise ValueError(
                "fewer than two draws have a score for every model: compare fewer models, or take more draws"
            )
    if all(each.influence is not None for each in columns):
        influence = np.stack([np.asarray(each.influence, float) for each in columns], axis=1)
    if draws is None and influence is None:
        raise ValueError(
            "some scores were resampled and some were not: score all of them again with the same resampling"
        )
    if ends is not None:
        values.append(ends[0])
    if ends is not None and len(columns) == len(known):  # it is fixed, or was resampled with the scores
        draws = None if draws is None else np.pad(draws, [(0, 0), (0, 0), (0, 1)], constant_values=ends[0])
        influence = None if influence is None else np.pad(influence, [(0, 0), (0, 1)])
    sizes = of_models.sizes
    centred = all(each.kind != "t" for each in columns)
    evidence = PairedDraws(np.array(values), draws, influence, of_models.dof, sizes, centred)
    return Paired(evidence, of_models.over, f"scores, {of_models.method}", ends is not None)


def _stacked(draws: list[xr.DataArray]) -> np.ndarray:
    """Draws of all scores as an array, ``(passes, draws, columns)``."""
    whole = [each if FACTOR in each.dims else each.expand_dims(FACTOR) for each in draws]
    return np.stack([np.asarray(each.transpose(FACTOR, DRAW).values, float) for each in whole], axis=-1)


def _in_units(scores: Mapping[str, Score], units: str, ceiling: Score | None) -> Paired:
    by_model = {name: _by_unit(score.raw, units, f"the score of {name}") for name, score in scores.items()}
    limit = _limit_of_units(scores, units, ceiling)
    columns = [*by_model.values(), *([] if limit is None else [limit])]
    ids = columns[0].index
    for name, column in zip([*by_model, "the ceiling"], columns, strict=False):
        if set(column.index) != set(ids):
            differ = sorted(map(str, set(column.index) ^ set(ids)))
            first = next(iter(by_model))
            raise ValueError(f"{first} and {name} were not scored on the same {units}: {listed(differ, 'on one side')}")
    values = np.stack([column.reindex(ids).to_numpy(float) for column in columns], axis=1)
    defined = np.isfinite(values).all(axis=1)
    if defined.sum() < 2:
        raise ValueError(
            f"a comparison needs at least two {units} with a value for every model; of {len(ids)}, {defined.sum()} have"
        )
    words = f"means over {defined.sum()} {units} of their values before normalisation"
    if not _is_normalised(scores):
        words = words.removesuffix(" before normalisation")
    if not defined.all():
        words += f", {(~defined).sum()} left out as undefined for some model"
    return Paired(PairedUnits(values[defined]), (units,), words, limit is not None)


def _by_unit(raw: xr.DataArray | None, units: str, what: str) -> pd.Series:
    """The mean of all values of each unit."""
    dim, coord = _UNITS[units]
    if raw is None or dim not in raw.dims:
        raise ValueError(f"{what} has no value for each of the {units}")
    others = [other for other in raw.dims if other != dim]
    return pd.Series(np.asarray(raw.mean(others), float), coordinate(raw, coord, dim, what))


def _limit_of_units(scores: Mapping[str, Score], units: str, ceiling: Score | None) -> pd.Series | None:
    """The value of each unit at the ceiling; None if it is not known."""
    first = next(iter(scores.values()))
    ids = _by_unit(first.raw, units, "the score").index
    normalised = _is_normalised(scores)
    by = first.ceiling if normalised else ceiling
    if by is not None and by.uncertainty is _EXACT:
        return pd.Series(float(by), ids)
    if by is None or by.raw is None or _UNITS[units][0] not in by.raw.dims:
        return None
    low = by.raw.sel(bound="lower") if "bound" in by.raw.dims else by.raw
    found = _by_unit(low, units, "the ceiling")
    if not normalised:
        return found
    if first.formula not in LIMITS:
        return None
    limit, known = LIMITS[first.formula], found.where(found > 0)
    if limit.by_neuroid:
        return known / known
    return pd.Series(limit.before(known.to_numpy(float)), found.index)


def _is_normalised(scores: Mapping[str, Score]) -> bool:
    return next(iter(scores.values())).ceiling is not None


def _why_not(scores: Mapping[str, Score], over: Sequence[str] | None, offered: list[tuple[str, ...]]) -> str:
    wanted = "" if over is None else f" over {' and '.join(over)}"
    plans = {name: score.uncertainty for name, score in scores.items()}
    without = [name for name, known in plans.items() if known is None or not known.is_paired]
    if without:
        why = f"{some(without)} were scored without resampling"
    elif len({known.plan for known in plans.values() if known is not None}) > 1:
        why = "they have different splits, resamples or stimuli"
    else:
        why = "they were resampled over something else"
    others = "" if not offered else f", or compare them over {' or '.join(' and '.join(each) for each in offered)}"
    return f"these scores cannot be paired{wanted}: {why}. To pair them, {_ASK}{others}"
