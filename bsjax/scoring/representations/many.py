"""``score_many``: a metric applied to many pairs of plain arrays, by few calls of one compiled program."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence, Sized
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import xarray as xr

from bsjax.engine.batches import batched_map
from bsjax.engine.padding import padded, padded_width
from bsjax.engine.precision import precision
from bsjax.engine.programs.compilation import compiled
from bsjax.engine.sharding import devices_in_use
from bsjax.engine.transfers import to_host
from bsjax.labelled.align import aligned_values
from bsjax.labelled.metric import Metric, OfPairs
from bsjax.labelled.resampling.plans import any_plan
from bsjax.scoring.arrays import assemblies_of, loaded, matrix, score_arrays

if TYPE_CHECKING:
    from bsjax.labelled import Score

# Bytes of both sides that are computed in one call; a single pair that takes more gains nothing.
_BLOCK = 16 << 20
# Bytes of a pair up to which a CPU computes several at once; more do not stay in its cache.
_TOGETHER = 96 << 10


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
    for of, rows in [] if alone else _groups(made, sides):
        _fill(found, made, of, sides, rows, level)
    for row in np.flatnonzero(np.isnan(found["score"])):
        try:
            score = score_arrays(*sides[row], made)
        except ValueError as error:
            raise ValueError(f"pair {row}: {error}") from None
        for name, value in zip(found, _numbers(score, level), strict=True):
            found[name][row] = value
    known = json.dumps(made.provenance().to_dict())
    return xr.Dataset({name: ("pair", values) for name, values in found.items()}, attrs={"provenance": known})


def _sides(pairs: Any) -> list[tuple[Any, Any]]:
    """The arrays of each pair."""
    if isinstance(pairs, tuple) and len(pairs) == 2 and [np.ndim(side) for side in pairs] == [3, 3]:
        if len(pairs[0]) != len(pairs[1]):
            raise ValueError(f"both arrays need the same pairs along their first axis: {list(map(np.shape, pairs))}")
        pairs = list(zip(*pairs, strict=True))
    sides = list(pairs)
    for row, pair in enumerate(sides):
        if not isinstance(pair, Sized) or isinstance(pair, str | Mapping) or len(pair) != 2:
            raise ValueError(
                f"pair {row} is a {type(pair).__name__}, where (X, Y) is expected: give a list of such pairs, or two "
                "arrays of shape (pairs, stimuli, units)"
            )
    return [_values(row, x, y) for row, (x, y) in enumerate(sides)]


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


def _numbers(score: Score, level: float) -> tuple[Any, ...]:
    """The score, its error and the ends of its interval; NaN where there are none."""
    interval = score.interval(level)
    ends = (np.nan, np.nan) if interval is None else (interval.low, interval.high)
    return score.value, np.nan if score.error is None else score.error, *ends


def _groups(metric: Metric, sides: Sequence[tuple[Any, Any]]) -> list[tuple[OfPairs, list[int]]]:
    """The pairs that one program computes, with their comparison; without those that are scored alone."""
    by_size: dict[tuple[int, ...], list[int]] = {}
    for row, (x, y) in enumerate(sides):
        by_size.setdefault((*x.shape, y.shape[1]), []).append(row)
    groups: dict[Any, tuple[OfPairs, list[int]]] = {}
    for (n, *widths), rows in by_size.items():
        if (of := metric.of_pairs(n, widths[0])) is not None:
            size = n, *widths
            # A size of its own is not padded if it fills a block.
            if len(rows) * sum(widths) * n * 8 < _BLOCK:
                size = n, *(padded_width(n, w) if may else w for w, may in zip(widths, of.may_pad, strict=True))
            groups.setdefault(size, (of, []))[1].extend(rows)
    return list(groups.values())


def _fill(
    found: dict[str, np.ndarray],
    metric: Metric,
    of: OfPairs,
    sides: Sequence[tuple[Any, Any]],
    rows: list[int],
    level: float,
) -> None:
    """Computes the pairs of one size, in blocks."""
    n = len(sides[rows[0]][0])
    widths = [max(sides[row][side].shape[1] for row in rows) for side in (0, 1)]
    size = min(len(rows), _BLOCK // (8 * n * sum(widths)))
    if size < 2:
        return
    together = of.together and 8 * n * sum(widths) <= _TOGETHER
    program = compiled(_of_each, of=of.kernel, together=together, **of.settings)
    with precision(metric.dtype) as dtype:
        for start in range(0, len(rows), size):
            block = rows[start : start + size]
            # The last block repeats its last pair, so that it needs no program of its own.
            filled = block + block[-1:] * (size - len(block))
            each = [[metric.values_held(sides[row][side])[0] for row in filled] for side in (0, 1)]
            arrays = [_stacked(side, width, dtype) for side, width in zip(each, widths, strict=True)]
            numbers = _numbers(of.score(to_host(program(*arrays, *of.rest))), level)
            sure = np.isfinite(np.asarray(numbers[0]))
            for array in arrays:
                sure &= np.isfinite(to_host(array.sum(axis=(1, 2))))
            for name, values in zip(found, numbers, strict=True):
                found[name][block] = np.where(sure, values, np.nan)[: len(block)]
    for width in sorted({sides[row][0].shape[1] for row in rows if np.isfinite(found["score"][row])}):
        of.warn(width)


def _of_each(x: Any, y: Any, *rest: Any, of: Callable[..., Any], together: bool, **settings: Any) -> Any:
    def one(pair: tuple[Any, Any]) -> Any:
        return of(*pair, *rest, **settings)

    return jax.vmap(one)((x, y)) if together else batched_map(one, (x, y))


def _stacked(values: Sequence[Any], width: int, dtype: np.dtype) -> Any:
    """Arrays of one side padded to a width and stacked; on the device if they are there."""
    arrays = [padded(each, width, dtype) for each in values]
    return (jnp if isinstance(arrays[0], jax.Array) else np).stack(arrays)
