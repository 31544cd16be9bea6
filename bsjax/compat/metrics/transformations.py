"""Transformations that divide assemblies into parts and apply a metric to each, for metrics of plugins."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import xarray as xr
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit

from bsjax.compat.metrics.coords import subset, unique_ordered
from bsjax.compat.score import Score

Apply = Callable[..., Any]
_RAW = Score.RAW_VALUES_KEY


def apply_aggregate(aggregate_fnc: Callable[[Any], Any], values: Any) -> Any:
    """Aggregate values by a function, and keep the unaggregated ones in ``attrs["raw"]``."""
    score = aggregate_fnc(values)
    score.attrs.setdefault(_RAW, values.attrs.get(_RAW, values))
    return score


def standard_error_of_the_mean(values: Any, dim: str) -> Any:
    """The standard deviation along a dimension, divided by the square root of its length."""
    return values.std(dim) / math.sqrt(values.sizes[dim])


def enumerate_done(values: Sequence[Any]) -> Iterator[tuple[int, Any, bool]]:
    """Iterate over number, value, and whether it is the last.

    Example:
        >>> list(enumerate_done("ab"))
        [(0, 'a', False), (1, 'b', True)]
    """
    for number, value in enumerate(values):
        yield number, value, number == len(values) - 1


class Transformation:
    """Divides assemblies into parts, applies a function to each part, and combines the results.

    A subclass defines ``pipe(*assemblies)``, a generator. It obtains each result by ``yield from
    self._get_result(*parts, done=...)``, with ``done=True`` for the last, and finally yields the combined result.
    """

    def __call__(self, *args: Any, apply: Apply, aggregate: Callable[[Any], Any] | None = None, **kwargs: Any) -> Any:
        """The aggregate of the results of ``apply`` for each part."""
        values = self._run_pipe(*args, apply=apply, **kwargs)
        score = values if aggregate is None else apply_aggregate(aggregate, values)
        return apply_aggregate(self.aggregate, score)

    def _run_pipe(self, *args: Any, apply: Apply, **kwargs: Any) -> Any:
        parts = self.pipe(*args, **kwargs)
        for each in parts:
            if parts.send(apply(*each)):
                break
        return next(parts)

    def pipe(self, *args: Any, **kwargs: Any) -> Generator[Any, Any, None]:
        """Yield the parts, and finally the combined result."""
        raise NotImplementedError(f"{type(self).__name__} has no pipe(*assemblies)")

    def _get_result(self, *args: Any, done: bool) -> Generator[Any, Any, Any]:
        result = yield args
        yield done
        return result

    def aggregate(self, score: Any) -> Any:
        """Aggregate the combined result."""
        return Score(score)


class Alignment(Transformation):
    """Aligns a source to a target by a coordinate, and sorts both.

    Args:
        order_dimensions: dimensions to put first.
        alignment_dim: coordinate to match.
        repeat: whether a row is repeated as often as it occurs in the target.
    """

    def __init__(
        self,
        order_dimensions: Sequence[str] = ("presentation", "neuroid"),
        alignment_dim: str = "stimulus_id",
        repeat: bool = False,
    ) -> None:
        self._order_dimensions, self._alignment_dim, self._repeat = order_dimensions, alignment_dim, repeat

    def pipe(self, source_assembly: Any, target_assembly: Any) -> Generator[Any, Any, None]:
        """Yield the aligned assemblies."""
        source = self.sort(self.align(source_assembly, target_assembly))
        yield (yield from self._get_result(source, self.sort(target_assembly), done=True))

    def align(self, source_assembly: Any, target_assembly: Any) -> Any:
        """The rows of the source that occur in the target."""
        source = source_assembly.transpose(*self._order_dimensions, ...)
        return subset(source, target_assembly, [self._alignment_dim], repeat=self._repeat)

    def sort(self, assembly: Any) -> Any:
        """The assembly, sorted by the coordinate."""
        return assembly.sortby(self._alignment_dim)


class CartesianProduct(Transformation):
    """Divides an assembly into parts, one for each combination of values of some coordinates.

    Args:
        dividers: names of the coordinates.
    """

    def __init__(self, dividers: Iterable[str] = ()) -> None:
        self._dividers = tuple(dividers or ())

    def dividers(self, assembly: Any, dividing_coords: Iterable[str]) -> list[dict[str, Any]]:
        """Coordinate -> value, for each combination.

        Raises:
            ValueError: a coordinate is missing, or is not on exactly one dimension.
        """
        missing = [name for name in dividing_coords if name not in assembly.coords]
        if missing:
            raise ValueError(
                f"no coordinates {', '.join(missing)} to divide by; there are {', '.join(assembly.coords)}"
            )
        for name in dividing_coords:
            if len(assembly[name].dims) != 1:
                raise ValueError(f"a coordinate to divide by lies on one dimension, {name!r} on {assembly[name].dims}")
        choices = {name: unique_ordered(assembly[name].values) for name in dividing_coords}
        return [dict(zip(choices, values, strict=True)) for values in itertools.product(*choices.values())]

    def pipe(self, assembly: Any) -> Generator[Any, Any, None]:
        """Yield the parts."""
        scores = []
        for _, divider, done in enumerate_done(self.dividers(assembly, self._dividers)):
            part = assembly.multisel(**divider)
            for name in divider:
                (dim,) = assembly[name].dims
                if part.sizes.get(dim) == 1:
                    part = part.squeeze(dim)
            result = yield from self._get_result(part, done=done)
            for name, value in divider.items():
                raw = getattr(result, "attrs", {}).get(_RAW)
                own = {"_apply_raw": False} if name in getattr(raw, "coords", ()) else {}
                result = result.expand_dims(name, **own)
                result.__setitem__(name, [value], **own)
            scores.append(result)
        yield Score.merge(*scores)


class Split:
    """Random splits of the rows of an assembly, identical to Brain-Score's for the same arguments.

    Args:
        splits: number of splits.
        train_size, test_size: proportions; 0.9 for training if neither is given.
        split_coord: coordinate whose values are split.
        stratification_coord: coordinate to stratify by; None for no stratification.
        kfold: whether to use ``splits`` folds, so that each row is tested once.
        unique_split_values: whether to split distinct values.
        random_state: seed.
        preprocess_indices: ``(train, test, assembly) -> (train, test)``, applied to each split.
    """

    class Defaults:
        """Default values of arguments."""

        splits = 10
        train_size = 0.9
        split_coord = "stimulus_id"
        stratification_coord = "object_name"
        unique_split_values = False
        random_state = 1

    def __init__(
        self,
        splits: int = Defaults.splits,
        train_size: float | None = None,
        test_size: float | None = None,
        split_coord: str = Defaults.split_coord,
        stratification_coord: str | None = Defaults.stratification_coord,
        kfold: bool = False,
        unique_split_values: bool = Defaults.unique_split_values,
        random_state: int = Defaults.random_state,
        preprocess_indices: Callable[..., Any] | None = None,
    ) -> None:
        if train_size is None and test_size is None:
            train_size = self.Defaults.train_size
        if kfold and (test_size is not None or train_size != self.Defaults.train_size):
            raise ValueError(f"folds have the size that {splits} of them have: leave out train_size and test_size")
        kinds: Any = (StratifiedKFold, StratifiedShuffleSplit) if stratification_coord else (KFold, ShuffleSplit)
        if kfold:
            self._split = kinds[0](n_splits=splits, shuffle=True, random_state=random_state)
        else:
            self._split = kinds[1](splits, train_size=train_size, test_size=test_size, random_state=random_state)
        self._split_coord = split_coord
        self._stratification_coord = stratification_coord
        self._unique_split_values = unique_split_values
        self._preprocess_indices = preprocess_indices

    @property
    def do_stratify(self) -> bool:
        """Whether splits are stratified."""
        return bool(self._stratification_coord)

    def build_splits(self, assembly: Any) -> tuple[xr.DataArray, list[tuple[np.ndarray, np.ndarray]]]:
        """The values to split, and the training and test rows of each split."""
        values, rows = extract_coord(assembly, self._split_coord, unique=self._unique_split_values)
        balanced = [assembly[self._stratification_coord].values[rows]] if self.do_stratify else []
        splits = list(self._split.split(np.zeros(len(rows)), *balanced))
        if self._preprocess_indices is not None:
            splits = [self._preprocess_indices(train, test, assembly) for train, test in splits]
        return values, splits

    @classmethod
    def aggregate(cls, values: Any) -> Any:
        """The mean over splits, with its standard error."""
        score = apply_aggregate(lambda scores: scores.mean("split"), values)
        score.attrs["error"] = standard_error_of_the_mean(values, "split")
        return score


def extract_coord(assembly: Any, coord: str, unique: bool = False) -> tuple[xr.DataArray, Any]:
    """The values of a coordinate as an array, and their rows; with ``unique``, distinct values only."""
    values = assembly[coord].values
    rows: Any = list(range(len(values)))
    if unique:
        values, rows = np.unique(values, return_index=True)
    (dim,) = assembly[coord].dims
    return xr.DataArray(values, {coord: (dim, values)}, [dim]), rows


class _InSplits(Transformation):
    """Applies a function to each split, and joins the results along the dimension ``split``."""

    _split: Split

    def _over_splits(self, splits: Sequence[Any], parts_of: Callable[..., tuple[Any, ...]]) -> Generator[Any, Any, Any]:
        scores = []
        for number, (train, test), done in enumerate_done(splits):
            score = yield from self._get_result(*parts_of(train, test), done=done)
            score = score.expand_dims("split")
            score["split"] = [number]
            scores.append(score)
        return Score.merge(*scores)

    def aggregate(self, score: Any) -> Any:
        """The mean over splits, with its standard error."""
        return self._split.aggregate(score)


class CrossValidationSingle(_InSplits):
    """Cross-validation of one assembly; arguments are those of :class:`Split`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._split = Split(*args, **kwargs)

    def pipe(self, assembly: Any) -> Generator[Any, Any, None]:
        """Yield the training and test rows of each split."""
        values, splits = self._split.build_splits(assembly)

        def parts(*rows: np.ndarray) -> tuple[Any, ...]:
            return tuple(subset(assembly, values[each], dims_must_match=False) for each in rows)

        yield (yield from self._over_splits(splits, parts))


class CrossValidation(_InSplits):
    """Cross-validation of a source and a target with the same values; arguments are those of :class:`Split`."""

    def __init__(
        self,
        *args: Any,
        split_coord: str = Split.Defaults.split_coord,
        stratification_coord: str | None = Split.Defaults.stratification_coord,
        preprocess_indices: Callable[..., Any] | None = None,
        **kwargs: Any,
    ) -> None:
        self._split_coord, self._stratification_coord = split_coord, stratification_coord
        self._split = Split(*args, split_coord=split_coord, stratification_coord=stratification_coord, **kwargs)
        self._preprocess_indices = preprocess_indices

    def pipe(self, source_assembly: Any, target_assembly: Any) -> Generator[Any, Any, None]:
        """Yield the training rows of source and target, and their test rows, for each split.

        Raises:
            ValueError: the values of source and target differ.
        """
        for name in filter(None, (self._split_coord, self._stratification_coord)):
            if name not in source_assembly.coords or name not in target_assembly.coords:
                raise ValueError(f"source and target must have the coordinate {name!r} to be cross-validated by it")
            source, target = (np.sort(each[name].values) for each in (source_assembly, target_assembly))
            if not np.array_equal(source, target):
                raise ValueError(f"source and target must have the same values of {name!r} to be cross-validated")
        values, splits = self._split.build_splits(target_assembly)

        def parts(train: np.ndarray, test: np.ndarray) -> tuple[Any, ...]:
            if self._preprocess_indices is not None:
                train, test = self._preprocess_indices(train, test, source_assembly)
            found = [
                subset(assembly, values[rows], dims_must_match=False)
                for rows in (train, test)
                for assembly in (source_assembly, target_assembly)
            ]
            for source, target in (found[:2], found[2:]):
                if source[self._split_coord].size != target[self._split_coord].size:
                    raise ValueError(f"source and target do not have the values of {self._split_coord!r} as often")
            return tuple(found)

        yield (yield from self._over_splits(splits, parts))


class TestOnlyCrossValidationSingle:
    """Cross-validation with only the test rows of one assembly; arguments are those of :class:`Split`."""

    __test__ = False  # the name would make pytest collect it
    _of: type[Any] = CrossValidationSingle

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._cross_validation = self._of(*args, **kwargs)

    def __call__(self, *args: Any, apply: Apply, **kwargs: Any) -> Any:
        """The aggregate of ``apply(test)``; with source and target, of ``apply(test_source, test_target)``."""
        return self._cross_validation(*args, apply=lambda *parts: apply(*parts[len(parts) // 2 :]), **kwargs)


class TestOnlyCrossValidation(TestOnlyCrossValidationSingle):
    """Cross-validation with only the test rows of source and target; arguments as :class:`CrossValidation`."""

    _of = CrossValidation
