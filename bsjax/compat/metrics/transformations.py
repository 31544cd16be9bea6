"""Cross-validation of assemblies by any function of their parts, for metrics of plugins."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import xarray as xr
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit

from bsjax.compat.metrics.coords import subset
from bsjax.compat.score import Score

_RAW = Score.RAW_VALUES_KEY


def apply_aggregate(aggregate_fnc: Callable[[Any], Any], values: Any) -> Any:
    """Aggregate values by a function, and keep the unaggregated ones in ``attrs["raw"]``."""
    score = aggregate_fnc(values)
    score.attrs.setdefault(_RAW, values.attrs.get(_RAW, values))
    return score


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
    ) -> None:
        if train_size is None and test_size is None:
            train_size = self.Defaults.train_size
        if kfold and (test_size is not None or train_size != self.Defaults.train_size):
            raise ValueError(
                f"train_size and test_size must not be given with kfold=True: the number of folds, {splits}, sets them"
            )
        kinds: Any = (StratifiedKFold, StratifiedShuffleSplit) if stratification_coord else (KFold, ShuffleSplit)
        if kfold:
            self._split = kinds[0](n_splits=splits, shuffle=True, random_state=random_state)
        else:
            self._split = kinds[1](splits, train_size=train_size, test_size=test_size, random_state=random_state)
        self.split_coord = split_coord
        self.stratification_coord = stratification_coord
        self._unique_split_values = unique_split_values

    def build_splits(self, assembly: Any) -> tuple[xr.DataArray, list[tuple[np.ndarray, np.ndarray]]]:
        """The values to split, and the training and test rows of each split."""
        values = assembly[self.split_coord].values
        rows = np.arange(len(values))
        if self._unique_split_values:
            values, rows = np.unique(values, return_index=True)
        strata = [assembly[self.stratification_coord].values[rows]] if self.stratification_coord else []
        splits = list(self._split.split(np.zeros(len(rows)), *strata))
        (dim,) = assembly[self.split_coord].dims
        return xr.DataArray(values, {self.split_coord: (dim, values)}, [dim]), splits

    @classmethod
    def aggregate(cls, values: Any) -> Any:
        """The mean over splits, with its standard error."""
        score = apply_aggregate(lambda scores: scores.mean("split"), values)
        score.attrs["error"] = values.std("split") / math.sqrt(values.sizes["split"])
        return score


class CrossValidationSingle:
    """Cross-validation of one assembly; arguments are those of :class:`Split`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._split = Split(*args, **kwargs)

    def __call__(
        self, *assemblies: Any, apply: Callable[..., Any], aggregate: Callable[[Any], Any] | None = None
    ) -> Any:
        """The mean over splits of ``apply(train, test)``, with its standard error.

        Args:
            *assemblies: what is split.
            apply: function of the parts of one split.
            aggregate: function of the results of all splits, along ``split``, before they are averaged.
        """
        scores = []
        for number, parts in enumerate(self._parts(*assemblies)):
            score = apply(*parts).expand_dims("split")
            score["split"] = [number]
            scores.append(score)
        values = Score.merge(*scores)
        return apply_aggregate(self._split.aggregate, apply_aggregate(aggregate, values) if aggregate else values)

    def _parts(self, *assemblies: Any) -> Iterator[tuple[Any, ...]]:
        """The training rows of each assembly, and the test rows of each, for each split."""
        values, splits = self._split.build_splits(assemblies[-1])
        for split in splits:
            yield tuple(subset(each, values[rows], dims_must_match=False) for rows in split for each in assemblies)


class CrossValidation(CrossValidationSingle):
    """Cross-validation of a source and a target with the same values; arguments are those of :class:`Split`.

    It is called with both, and ``apply`` takes ``(source_train, target_train, source_test, target_test)``.

    Raises:
        ValueError: when called, the values of source and target differ.
    """

    def _parts(self, *assemblies: Any) -> Iterator[tuple[Any, ...]]:
        """The training rows of source and target, and their test rows, for each split."""
        for name in filter(None, (self._split.split_coord, self._split.stratification_coord)):
            if any(name not in each.coords for each in assemblies):
                raise ValueError(f"source and target must have the coordinate {name!r} to be cross-validated by it")
            source, target = (np.sort(each[name].values) for each in assemblies)
            if not np.array_equal(source, target):
                raise ValueError(f"source and target must have the same values of {name!r} to be cross-validated")
        return super()._parts(*assemblies)


class TestOnlyCrossValidation(CrossValidation):
    """Cross-validation with only the test rows, ``apply(source_test, target_test)``; arguments as for the base."""

    __test__ = False  # the name would make pytest collect it

    def __call__(self, *assemblies: Any, apply: Callable[..., Any], **kwargs: Any) -> Any:
        """The mean over splits of ``apply(source_test, target_test)``, with its standard error."""
        return super().__call__(*assemblies, apply=lambda *parts: apply(*parts[2:]), **kwargs)
