"""Splits of the stimuli into training and test, by scikit-learn's splitters at Brain-Score's seeds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit

from bsjax.labelled.align import STIMULUS, coordinate, listed
from bsjax.labelled.settings import whole_number

Splits = list[tuple[np.ndarray, np.ndarray]]


class WithTarget(NamedTuple):
    """A metric for many sources and one target.

    Attributes:
        metric: with what the target needs, made once.
        target: (presentation, neuroid).
        on_folds: of sources and their scores, for each source the score of each fold's training stimuli alone,
            ``(folds,)``, and that of its test stimuli, ``(folds, neuroids)`` or ``(folds,)``; None where there are no
            folds.
    """

    metric: Any
    target: xr.DataArray
    on_folds: Callable[[Sequence[xr.DataArray], Sequence[Any]], list[tuple[np.ndarray, np.ndarray]]] | None


@dataclass(frozen=True)
class CrossValidation:
    """How to split an assembly's presentations, with Brain-Score's names and defaults.

    Args:
        splits: how many.
        train_size: share (or number) of presentations that train; the rest if None.
        test_size: share (or number) that tests; the rest if None.
        split_coord: the coordinate whose values are split.
        stratification_coord: the coordinate whose values keep their shares in every split; None for none.
        unique_split_values: split the distinct values of ``split_coord`` and take all presentations of each, so that
            single trials or several presentations of a stimulus train together or test together.
        random_state: seed of the splitter.
        kfold: k folds that partition the presentations, in place of independent random splits.
        preprocess_indices: ``(train rows, test rows, assembly) -> (train rows, test rows)``, which each split goes
            through, e.g. to take stimuli out of training that have something in common with those that test.
    """

    splits: int = 10
    train_size: float | int | None = None
    test_size: float | int | None = None
    split_coord: str = STIMULUS
    stratification_coord: str | None = "object_name"
    unique_split_values: bool = False
    random_state: int = 1
    kfold: bool = False
    preprocess_indices: Callable[[np.ndarray, np.ndarray, Any], tuple[np.ndarray, np.ndarray]] | None = None

    def __post_init__(self) -> None:
        whole_number(self.splits, "splits", 2 if self.kfold else 1)
        for name in ("train_size", "test_size"):
            size = getattr(self, name)
            if size is not None and not (isinstance(size, float) and 0 < size < 1):
                if not isinstance(size, Integral) or isinstance(size, bool) or size < 1:
                    raise ValueError(f"{name} must be a share between 0 and 1, or a number of stimuli, got {size!r}")

    @classmethod
    def from_kwargs(cls, kwargs: Mapping[str, Any] | None, **defaults: Any) -> "CrossValidation":
        """From ``crossvalidation_kwargs``; ``train_size`` is 0.9 where neither size is given.

        Raises:
            ValueError: an argument that does not exist (lists those that do), sizes beside ``kfold``, or ``splits``
                or a size that is no such number.
        """
        kwargs = dict(kwargs or {})
        known = [f.name for f in fields(cls)]
        unknown = [name for name in kwargs if name not in known]
        if unknown:
            raise ValueError(f"unknown crossvalidation_kwargs {', '.join(unknown)}; there are: {', '.join(known)}")
        if kwargs.get("train_size") is None and kwargs.get("test_size") is None:
            kwargs |= defaults or {"train_size": 0.9}
        elif kwargs.get("kfold") and (kwargs.get("train_size"), kwargs.get("test_size")) != (0.9, None):
            raise ValueError("kfold=True takes no train_size and no test_size: the number of splits gives both")
        return cls(**kwargs)

    def of(self, assembly: xr.DataArray, what: str = "target") -> Splits:
        """Train and test rows of every split of the assembly's presentations, in the order of its rows.

        Raises:
            ValueError: a coordinate is missing, its values repeat where they must not, or there are too few.
        """
        splits = self._rows(assembly, what)
        if self.preprocess_indices is None:
            return splits
        return [self.preprocess_indices(train, test, assembly) for train, test in splits]

    def at(self, splits: Splits) -> "CrossValidation":
        """The same settings, with these splits in the place of those that would be drawn."""
        return _GivenSplits(**{**vars(self), "given": splits})

    def _rows(self, assembly: xr.DataArray, what: str) -> Splits:
        values = coordinate(assembly, self.split_coord, "presentation", what)
        if not self.unique_split_values:
            index = pd.Index(values)
            if index.has_duplicates:
                raise ValueError(
                    f"{what} repeats values of {self.split_coord!r} ({len(values)} presentations, {index.nunique()} "
                    "values), so that one value would train and test: pass unique_split_values=True"
                )
            return self._split(np.arange(len(values)), self._strata(assembly, what))
        distinct, first = np.unique(values, return_index=True)
        strata = self._strata(assembly, what)
        by_value = self._split(distinct, None if strata is None else strata[first])
        return [
            (
                np.flatnonzero(np.isin(values, distinct[train])),
                np.flatnonzero(np.isin(values, distinct[test])),
            )
            for train, test in by_value
        ]

    def _strata(self, assembly: xr.DataArray, what: str) -> np.ndarray | None:
        if self.stratification_coord is None:
            return None
        try:
            return coordinate(assembly, self.stratification_coord, "presentation", what)
        except ValueError as missing:
            raise ValueError(
                f"{missing}. It stratifies the splits: pass "
                'crossvalidation_kwargs={"stratification_coord": None} to split without strata'
            ) from None

    def _split(self, values: np.ndarray, strata: np.ndarray | None) -> Splits:
        if strata is not None:
            labels, counts = np.unique(strata, return_counts=True)
            few = labels[counts < (self.splits if self.kfold else 2)]
            if len(few):
                raise ValueError(
                    f"too few stimuli to stratify {self.splits} splits by {self.stratification_coord!r}: "
                    f"{listed(few, 'value(s)')}. Pass crossvalidation_kwargs="
                    '{"stratification_coord": None} to split without strata'
                )
        seed = self.random_state
        if self.kfold:
            kind = KFold if strata is None else StratifiedKFold
            splitter: Any = kind(n_splits=self.splits, shuffle=True, random_state=seed)
        else:
            kind = ShuffleSplit if strata is None else StratifiedShuffleSplit
            splitter = kind(self.splits, train_size=self.train_size, test_size=self.test_size, random_state=seed)
        return list(splitter.split(values, strata))


@dataclass(frozen=True)
class _GivenSplits(CrossValidation):
    """Splits that are there already."""

    given: Any = ()

    def of(self, assembly: xr.DataArray, what: str = "target") -> Splits:
        return self.given
