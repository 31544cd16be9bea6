"""``score_many``: a metric applied to many pairs of plain arrays, by few calls of one compiled program."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial, singledispatch
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import xarray as xr
from scipy import special

from bsjax.engine.batches import batched_map
from bsjax.engine.padding import padded, padded_width
from bsjax.engine.precision import precision
from bsjax.engine.programs.compilation import compiled
from bsjax.engine.sharding import devices_in_use
from bsjax.engine.transfers import to_host
from bsjax.labelled.aggregate import nan_median, of_splits
from bsjax.labelled.align import aligned_values
from bsjax.labelled.metric import Metric
from bsjax.labelled.regression.crossvalidation import CrossRegressedCorrelation, check_sizes, warn_of_interpolation
from bsjax.labelled.resampling.plans import any_plan
from bsjax.labelled.similarity.representational import RepresentationalSimilarity
from bsjax.metrics import make_folds
from bsjax.metrics.regression.crossvalidation import cross_validate_and_report
from bsjax.scoring.arrays import assemblies_of, loaded, matrix, score_arrays

if TYPE_CHECKING:
    from bsjax.labelled import Score

# Bytes of both sides that are computed in one call; a single pair that takes more gains nothing.
_BLOCK = 16 << 20
# Below this effective number of stimuli, the error of a similarity does not come from derivatives alone.
_FEW, _OF_MANY = 8, 20
# With an error below this part of the score, it may be rounding.
_SMALL = 1e-6

Result = dict[str, np.ndarray]


class _Batch(NamedTuple):
    """How a metric is computed for many pairs of one size.

    Attributes:
        kernel: function of both sides and the ``rest``.
        settings: settings of the kernel.
        rest: further arguments, the same for all pairs.
        may_pad: whether columns of zeros may be added to either side.
        together: whether a CPU computes a block of pairs faster at once than one by one.
        result: from the kernel's values of a block, and the level, to the score, error and interval of each pair. Pairs
            that need a closer look are NaN; they are scored alone.
    """

    kernel: Callable[..., Any]
    settings: dict[str, Any]
    rest: tuple[Any, ...]
    may_pad: tuple[bool, bool]
    together: bool
    result: Callable[[Any, float], Result]


def score_many(
    pairs: Sequence[tuple[Any, Any]] | tuple[Any, Any],
    metric: str | Callable[..., Score] = "pls",
    crossvalidation_kwargs: Mapping[str, Any] | None = None,
    *,
    level: float = 0.95,
    **metric_kwargs: Any,
) -> xr.Dataset:
    """Score many pairs of arrays: searchlights, layers of a model, subjects, time bins.

    Each number is the one that :func:`bsjax.score_arrays` gives for the pair. Pairs of one size are computed in few
    calls of one compiled program, which saves most of the time of small comparisons; columns are padded where the
    metric allows it, so that pairs of similar width share a program. This holds for similarities and for regressions
    with one penalty, such as ridge. Other metrics, and pairs such as those with constant responses, are scored one by
    one.

    Args:
        pairs: a list of pairs of arrays ``(stimuli, features)`` and ``(stimuli, neuroids)``, of any sizes; or a tuple
            of two arrays with the pairs as leading axis, ``(pairs, stimuli, features)`` and
            ``(pairs, stimuli, neuroids)``.
        metric, crossvalidation_kwargs, metric_kwargs: as for :func:`bsjax.score_arrays`.
        level: the coverage of the intervals.

    Returns:
        The variables ``score``, ``error``, ``low`` and ``high`` (the ends of the interval), each ``(pair,)``; NaN where
        they are undefined. The attribute ``provenance`` holds the metric and its settings as JSON.

    Raises:
        KeyError: the metric is unknown.
        ValueError: an array of a pair is not as :func:`bsjax.score_arrays` needs it; the message names the pair.

    Example:
        >>> import numpy as np
        >>> import bsjax
        >>> rng = np.random.default_rng(0)
        >>> voxels = rng.normal(size=(100, 40, 20))  # searchlights x stimuli x voxels
        >>> layer = rng.normal(size=(40, 30))
        >>> voxels[7] += 3 * layer @ rng.normal(size=(30, 20))
        >>> found = bsjax.score_many([(layer, each) for each in voxels], "cka")
        >>> int(found.score.argmax("pair")), bool(found.low[7] > 0)
        (7, True)
    """
    if not 0 < level < 1:
        raise ValueError(f"the level of an interval must be between 0 and 1, got {level!r}")
    made = loaded(metric, crossvalidation_kwargs, metric_kwargs)
    sides = _sides(pairs)
    found = {name: np.full(len(sides), np.nan) for name in ("score", "error", "low", "high")}
    alone = any_plan() or devices_in_use() > 1
    for (n, *widths), rows in {} if alone else _groups(made, sides).items():
        batch = _batch(made, n, min(widths)) if rows else None
        if batch is not None:
            _fill(found, made, batch, sides, rows, level)
    for row in np.flatnonzero(np.isnan(found["score"])):
        try:
            score = score_arrays(*sides[row], made)
        except ValueError as error:
            raise ValueError(f"pair {row}: {error}") from None
        interval = score.interval(level)
        ends = (np.nan, np.nan) if interval is None else (interval.low, interval.high)
        error = np.nan if score.error is None else score.error
        for name, value in zip(found, (float(score), error, *ends), strict=True):
            found[name][row] = value
    known = json.dumps(made.provenance().to_dict())
    return xr.Dataset({name: ("pair", values) for name, values in found.items()}, attrs={"provenance": known})


def _sides(pairs: Any) -> list[tuple[Any, Any]]:
    """The arrays of each pair."""
    if isinstance(pairs, tuple) and len(pairs) == 2 and [np.ndim(side) for side in pairs] == [3, 3]:
        if len(pairs[0]) != len(pairs[1]):
            raise ValueError(f"both arrays need the same pairs along their first axis: {list(map(np.shape, pairs))}")
        pairs = list(zip(*pairs, strict=True))
    return [_values(row, *pair) for row, pair in enumerate(pairs)]


def _values(row: int, x: Any, y: Any) -> tuple[Any, Any]:
    """Both arrays of a pair with the same stimuli in their rows."""
    try:
        if any(isinstance(side, pd.DataFrame | xr.DataArray) for side in (x, y)):
            source, target = assemblies_of({"X": x, "Y": y})
            return aligned_values(source, target)
        x, y = matrix(x, "X"), matrix(y, "Y")
        if len(x) != len(y):
            raise ValueError(f"X and Y need the same stimuli in their rows: their shapes are {x.shape} and {y.shape}")
    except ValueError as error:
        raise ValueError(f"pair {row}: {error}") from None
    return x, y


def _groups(metric: Metric, sides: Sequence[tuple[Any, Any]]) -> dict[tuple[int, int, int], list[int]]:
    """The pairs of each size ``(stimuli, features, neuroids)``, which are those of the program."""
    by_size: dict[tuple[int, ...], list[int]] = {}
    for row, (x, y) in enumerate(sides):
        by_size.setdefault((*x.shape, y.shape[1]), []).append(row)
    groups: dict[Any, list[int]] = {}
    for (n, *widths), rows in by_size.items():
        size = (n, *widths)
        # A size of its own is not padded if it fills a block.
        if len(rows) * sum(widths) * n * 8 < _BLOCK and (batch := _batch(metric, n, min(widths))) is not None:
            size = n, *(padded_width(n, w) if may else w for w, may in zip(widths, batch.may_pad, strict=True))
        groups.setdefault(size, []).extend(rows)
    return groups


def _fill(
    found: Result, metric: Metric, batch: _Batch, sides: Sequence[tuple[Any, Any]], rows: list[int], level: float
) -> None:
    """Computes the pairs of one size, in blocks."""
    n = len(sides[rows[0]][0])
    widths = [max(sides[row][side].shape[1] for row in rows) for side in (0, 1)]
    size = min(len(rows), _BLOCK // (8 * n * sum(widths)))
    if size < 2:
        return
    program = compiled(_of_each, of=batch.kernel, together=batch.together, **batch.settings)
    with precision(metric.dtype) as dtype:
        for start in range(0, len(rows), size):
            block = rows[start : start + size]
            # The last block repeats its last pair, so that it needs no program of its own.
            filled = block + block[-1:] * (size - len(block))
            arrays = [_stacked([sides[row][side] for row in filled], widths[side], dtype) for side in (0, 1)]
            result = batch.result(to_host(program(*arrays, *batch.rest)), level)
            finite = np.all([np.isfinite(to_host(array.sum(axis=(1, 2)))) for array in arrays], axis=0)
            for name, values in result.items():
                found[name][block] = np.where(finite, values, np.nan)[: len(block)]


def _of_each(x: Any, y: Any, *rest: Any, of: Callable[..., Any], together: bool, **settings: Any) -> Any:
    def one(pair: tuple[Any, Any]) -> Any:
        return of(*pair, *rest, **settings)

    return jax.vmap(one)((x, y)) if together else batched_map(one, (x, y))


def _stacked(values: Sequence[Any], width: int, dtype: np.dtype) -> Any:
    """Arrays of one side padded to a width and stacked; on the device if they are there."""
    arrays = [padded(each, width, dtype) for each in values]
    return (jnp if isinstance(arrays[0], jax.Array) else np).stack(arrays)


@singledispatch
def _batch(metric: Metric, n: int, width: int) -> _Batch | None:
    """How a metric is computed for many pairs of ``n`` stimuli and at least ``width`` units; None if one by one."""
    return None


@_batch.register
def _(metric: RepresentationalSimilarity, n: int, width: int) -> _Batch | None:
    known = metric.similarity
    if n < known.min_stimuli or metric.error not in (None, "influence"):
        return None
    kernel = known.kernel if metric.error is None or known.influence is None else known.influence
    result = _without_error if metric.error is None else _by_influence
    return _Batch(kernel, {}, (), (known.ignores_zero_units, known.ignores_zero_units), False, result)


def _without_error(values: np.ndarray, level: float) -> Result:
    return {"score": values.astype(float)}


def _by_influence(found: tuple[np.ndarray, np.ndarray], level: float) -> Result:
    """Scores with errors from the influence of each stimulus, as of a single pair."""
    values, influences = (each.astype(float) for each in found)
    n, squares = influences.shape[1], influences**2
    units = np.sqrt(n / (n - 1)) * (influences - influences.mean(axis=1, keepdims=True))
    error = np.linalg.norm(units, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        many = squares.sum(axis=1) ** 2 / (squares**2).sum(axis=1) >= max(_FEW, n / _OF_MANY)
    return _with_interval(values, error, error, many, n - 1, level)


def _with_interval(
    values: np.ndarray, error: np.ndarray, standard_error: np.ndarray, usual: np.ndarray, dof: int, level: float
) -> Result:
    reach = special.stdtrit(dof, (1 + level) / 2) * standard_error
    usual = usual & (standard_error > _SMALL * np.abs(values))
    found = {"score": values, "error": error, "low": values - reach, "high": values + reach}
    return {name: np.where(usual, each, np.nan) for name, each in found.items()}


@_batch.register
def _(metric: CrossRegressedCorrelation, n: int, width: int) -> _Batch | None:
    traits = metric.mapping.traits
    # Small systems of stimuli gain from a batch; what works on features, iterates or chooses does not.
    if not traits.fits_targets_alone or traits.depends_on != "inner products" or traits.reported:
        return None
    stimuli = xr.DataArray(np.arange(n), {"stimulus_id": ("presentation", np.arange(n))}, ["presentation"])
    splits = metric.folds_of(stimuli)
    smallest = [min(map(len, side)) for side in zip(*splits, strict=True)]
    check_sizes(metric.mapping, xr.DataArray(np.empty((n, width)), dims=["presentation", "neuroid"]), *smallest)
    warn_of_interpolation(metric.mapping, metric.identifier, width, smallest[0])
    shared = of_splits(splits, np.arange(n))
    return _Batch(
        cross_validate_and_report,
        {"mapping": metric.mapping},
        (make_folds(n, splits),),
        (traits.ignores_zero_features, traits.ignores_zero_targets),
        True,
        partial(_over_splits, times=shared.times),
    )


def _over_splits(found: tuple[np.ndarray, Any], level: float, *, times: float) -> Result:
    """Means over splits of medians over neuroids, with errors as of a single pair."""
    scores = nan_median(found[0].astype(float))
    splits = scores.shape[1]
    error = scores.std(axis=1) / np.sqrt(splits)
    standard_error = np.sqrt(times * scores.var(axis=1, ddof=1))
    usual = np.isfinite(found[0]).all(axis=(1, 2)) & (splits >= 3)
    return _with_interval(scores.mean(axis=1), error, standard_error, usual, splits - 1, level)
