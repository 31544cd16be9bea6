"""Splits of the stimuli into training and test, those of scikit-learn's splitters at Brain-Score's seeds."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from bsjax.labelled.align import DRAWN_ROW, STIMULUS, coordinate, listed, origins
from bsjax.labelled.settings import whole_number

Splits = list[tuple[np.ndarray, np.ndarray]]
WITHOUT_STRATA = 'pass crossvalidation_kwargs={"stratification_coord": None} to split without strata'


class WithTarget(NamedTuple):
    """A metric that is prepared for many sources and one target.

    Attributes:
        metric: the metric, with what it computes from the target.
        target: (presentation, neuroid).
        on_folds: maps sources and their scores to a pair per source: the score within each fold's training stimuli,
            ``(folds,)``, and that on its test stimuli, ``(folds, neuroids)`` or ``(folds,)``; None if there are no
            folds.
    """

    metric: Any
    target: xr.DataArray
    on_folds: Callable[[Sequence[xr.DataArray], Sequence[Any]], list[tuple[np.ndarray, np.ndarray]]] | None


@dataclass(frozen=True)
class CrossValidation:
    """How to split an assembly's presentations, with Brain-Score's names and defaults.

    Stimuli that are alike, such as frames of a video or pictures of an object, belong into one group (``group_coord``).
    If neighbours in time are alike, because responses drift or stimuli are successive scenes of a film, test on blocks
    of presentations (``contiguous``), with a ``gap`` as long as the similarity lasts.

    Args:
        splits: number of splits.
        train_size: share (or number) of presentations for training; the rest if None.
        test_size: share (or number) of presentations for testing; the rest if None.
        split_coord: the coordinate whose values are split.
        stratification_coord: the coordinate whose values keep their shares in every split; None for no strata.
        unique_split_values: split the distinct values of ``split_coord`` and take all presentations of each, so that
            single trials or several presentations of a stimulus stay together on one side.
        random_state: seed of the splitter.
        kfold: k folds that partition the presentations, instead of independent random splits.
        preprocess_indices: ``(train rows, test rows, assembly) -> (train rows, test rows)``, applied to each split,
            e.g. to remove training stimuli that are related to test stimuli.
        group_coord: the coordinate whose values define groups that stay whole on one side; sizes then count groups.
            None for single stimuli.
        contiguous: whether to test on runs of successive presentations: True for the order of the rows, or the
            coordinate to order them by, such as the time of the presentation. Repeated presentations of a stimulus
            take the place of its first one.
        gap: for contiguous splits, the number of presentations before and after each test presentation that are left
            out of training.

    Groups and blocks are not stratified by default; only k folds of groups can be.

    Source: groups and blocks: Roberts et al. 2017, "Cross-validation strategies for data with temporal, spatial,
    hierarchical, or phylogenetic structure"; gaps: Burman, Chow & Nolan 1994.
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
    group_coord: str | None = None
    contiguous: bool | str = False
    gap: int = 0

    def __post_init__(self) -> None:
        whole_number(self.splits, "splits", 2 if self.kfold else 1)
        whole_number(self.gap, "gap", 0)
        if self.gap and not self.contiguous:
            raise ValueError(
                f"gap={self.gap} needs blocks of presentations: pass contiguous=True too, or leave gap out"
            )
        if self.contiguous and self.group_coord is not None:
            raise ValueError(
                "contiguous=True makes its own groups, so it cannot be combined with group_coord: give only one of them"
            )
        if self.stratification_coord is not None:
            kept = "cannot keep the shares of strata"
            if self.contiguous:
                raise ValueError(f"blocks of presentations {kept}: {WITHOUT_STRATA}")
            if self.group_coord is not None and not self.kfold:
                raise ValueError(f"random splits of whole groups {kept}: pass kfold=True, or {WITHOUT_STRATA}")
        for name, size in self._sizes.items():
            if size is not None and not (isinstance(size, float) and 0 < size < 1):
                if not isinstance(size, Integral) or isinstance(size, bool) or size < 1:
                    raise ValueError(f"{name} must be a share between 0 and 1, or a number of stimuli, got {size!r}")

    @property
    def coords(self) -> list[str]:
        """The presentation coordinates that the splits depend on."""
        named = (self.split_coord, self.stratification_coord, self.group_coord, self.contiguous)
        return [name for name in named if isinstance(name, str)]

    @property
    def _sizes(self) -> dict[str, Any]:
        """The share, or the number, for training and for testing."""
        return {"train_size": self.train_size, "test_size": self.test_size}

    @classmethod
    def from_kwargs(cls, kwargs: Mapping[str, Any] | None, **defaults: Any) -> "CrossValidation":
        """From ``crossvalidation_kwargs``; ``train_size`` is 0.9 if neither size is given.

        Raises:
            ValueError: an unknown argument (the message lists the known ones), sizes together with ``kfold``, or an
                invalid ``splits`` or size.
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
        if kwargs.get("group_coord") is not None or kwargs.get("contiguous"):
            kwargs.setdefault("stratification_coord", None)
        return cls(**kwargs)

    def kwargs(self) -> dict[str, Any]:
        """Arguments of :meth:`from_kwargs` for the same splits, without options that are off and sizes of k folds.

        Example:
            >>> CrossValidation.from_kwargs({"kfold": True, "stratification_coord": None}).kwargs()
            {'splits': 10, 'split_coord': 'stimulus_id', 'stratification_coord': None, 'random_state': 1, 'kfold': True}
        """
        off = ("train_size", "test_size") if self.kfold else ()
        return {
            field.name: value
            for field in fields(CrossValidation)
            if field.name not in off and ((value := vars(self)[field.name]) or value != field.default)
        }

    def of(self, assembly: xr.DataArray, what: str = "target") -> Splits:
        """Train and test rows of every split of the assembly's presentations.

        Raises:
            ValueError: a coordinate is missing, its values repeat where they must be unique, or there are too few.
        """
        splits = self._rows(assembly, what) if DRAWN_ROW not in assembly.coords else self._of_copies(assembly, what)
        if self.preprocess_indices is None:
            return splits
        return [self.preprocess_indices(train, test, assembly) for train, test in splits]

    def at(self, splits: Splits) -> "CrossValidation":
        """The same settings with these splits, instead of new ones."""
        return _GivenSplits(**{**vars(self), "given": splits})

    def _of_copies(self, assembly: xr.DataArray, what: str) -> Splits:
        """Splits of a draw in the same shares, copies kept together; unstratified if it has too few stimuli."""
        copies = len(pd.unique(coordinate(assembly, self.split_coord, "presentation", what)))
        sizes = {name: size / copies for name, size in self._sizes.items() if isinstance(size, Integral)}
        settings = replace(self, unique_split_values=True, **sizes)
        try:
            return settings._rows(assembly, what)
        except ValueError:
            if self.stratification_coord is None:
                raise
            return replace(settings, stratification_coord=None)._rows(assembly, what)

    def _rows(self, assembly: xr.DataArray, what: str) -> Splits:
        values = origins(assembly, self.split_coord, "presentation", what)
        strata, groups = self._strata(assembly, what), self._groups(assembly, what)
        order = self._order(assembly, what)
        # The first row of each value that is split, and the number of the value in each row.
        first = which = np.arange(len(values))
        if self.unique_split_values:
            _, first, which = np.unique(values, return_index=True, return_inverse=True)
        elif (different := len(pd.unique(values))) < len(values):
            raise ValueError(
                f"{what} repeats values of {self.split_coord!r} ({len(values)} presentations, {different} "
                "values), so that one value would train and test: pass unique_split_values=True"
            )
        if order is not None:
            place = np.full(len(first), len(values))
            np.minimum.at(place, which[order], np.arange(len(values)))
            splits = self._blocks(np.argsort(place), what)
        else:
            if groups is not None and (mixed := groups != groups[first][which]).any():
                raise ValueError(
                    f"{listed(values[first[np.unique(which[mixed])]], self.split_coord)} of {what} belong to several "
                    f"groups of {self.group_coord!r}, so that they would train and test: give each one group"
                )
            strata = strata if strata is None else strata[first]
            splits = self._split(len(first), strata, groups if groups is None else groups[first], what)
        if self.unique_split_values:

            def rows(side: np.ndarray) -> np.ndarray:
                return np.flatnonzero(np.isin(which, side))

            splits = [(rows(train), rows(test)) for train, test in splits]
        return splits if order is None else self._with_gaps(splits, order, what)

    def _strata(self, assembly: xr.DataArray, what: str) -> np.ndarray | None:
        if self.stratification_coord is None:
            return None
        try:
            return coordinate(assembly, self.stratification_coord, "presentation", what)
        except ValueError as missing:
            raise ValueError(f"{missing}. It stratifies the splits: {WITHOUT_STRATA}") from None

    def _groups(self, assembly: xr.DataArray, what: str) -> np.ndarray | None:
        """The number of the group of each presentation."""
        if self.group_coord is None:
            return None
        numbers, _ = pd.factorize(origins(assembly, self.group_coord, "presentation", what))
        return numbers

    def _order(self, assembly: xr.DataArray, what: str) -> np.ndarray | None:
        """The rows in order of presentation, for contiguous splits."""
        if not self.contiguous:
            return None
        if self.contiguous is True:
            return np.arange(assembly.sizes["presentation"])
        return np.argsort(coordinate(assembly, self.contiguous, "presentation", what), kind="stable")

    def _split(self, n: int, strata: np.ndarray | None, groups: np.ndarray | None, what: str) -> Splits:
        if strata is None and groups is None:
            made = _unlabelled(self.splits, self.train_size, self.test_size, self.random_state, self.kfold, n, what)
            return [(train.copy(), test.copy()) for train, test in made]
        return self._labelled(n, strata, groups, what)

    def _labelled(self, n: int, strata: np.ndarray | None, groups: np.ndarray | None, what: str) -> Splits:
        if strata is not None:
            labels, counts = np.unique(strata, return_counts=True)
            few = labels[counts < (self.splits if self.kfold else 2)]
            if len(few):
                raise ValueError(
                    f"too few stimuli to stratify {self.splits} splits by {self.stratification_coord!r}: "
                    f"{listed(few, 'value(s)')}; {WITHOUT_STRATA}"
                )
        from sklearn import model_selection as sk  # takes half a second, and few processes need it

        seed, least = self.random_state, self.splits if self.kfold else 2
        if groups is not None and (number := len(np.unique(groups))) < least:
            raise ValueError(
                f"{what} has {number} group(s) of {self.group_coord!r}, of which {self.splits} splits take at least "
                f"{least}: use fewer folds, or a group_coord of smaller groups"
            )
        if self.kfold:
            grouped = sk.GroupKFold if strata is None else sk.StratifiedGroupKFold
            kind: Any = sk.StratifiedKFold if groups is None else grouped
            splitter = kind(n_splits=self.splits, shuffle=True, random_state=seed)
        else:
            kind = sk.GroupShuffleSplit if strata is None else sk.StratifiedShuffleSplit
            splitter = kind(self.splits, **self._sizes, random_state=seed)
        try:
            return list(splitter.split(np.arange(n), strata, groups))
        except ValueError as error:
            raise self._impossible(n, strata, groups, what) from error

    def _at_random(self, n: int, splits: int, seed: int, what: str) -> Splits:
        """Splits without strata and groups."""
        try:
            return k_folds(n, splits, seed) if self.kfold else shuffles(n, splits, seed, **self._sizes)
        except ValueError as error:
            raise self._impossible(n, None, None, what) from error

    def _impossible(self, n: int, strata: np.ndarray | None, groups: np.ndarray | None, what: str) -> ValueError:
        """The error that there are too few stimuli for the splits, in the terms of this class."""
        number = f"{n} stimuli" if groups is None else f"{len(np.unique(groups))} groups"
        parts = f"train_size={self.train_size} and test_size={self.test_size}"
        remedy = ": use others"
        if strata is not None:
            values = f"{self.stratification_coord!r} has {len(np.unique(strata))} values"
            remedy = f"; {values}, all of which have to train and to test: show more stimuli, or "
            # Correlations take three test stimuli or more.
            share = math.ceil(100 * max(3, len(np.unique(strata))) / n) / 100
            larger = f'test on a larger part: crossvalidation_kwargs={{"test_size": {share:g}}}'
            remedy += larger if share <= 1 / 3 and not self.kfold else WITHOUT_STRATA
        into = f"{self.splits} folds" if self.kfold else parts
        return ValueError(f"{number} of {what} cannot be split into {into}{remedy}")

    def _blocks(self, order: np.ndarray, what: str) -> Splits:
        """Splits that test on runs of ``order``: k consecutive blocks, or blocks at random starts."""
        n = len(order)
        if self.kfold:
            if n < self.splits:
                raise ValueError(f"{n} stimuli are too few for {self.splits} blocks: use fewer folds")
            return [(order[train], order[test]) for train, test in k_folds(n, self.splits, shuffle=False)]
        [(train, test)] = self._at_random(n, 1, 0, what)  # for their sizes
        rng, places = np.random.RandomState(self.random_state), n - len(test) + 1
        starts = np.resize(rng.permutation(places), self.splits)
        blocks = [np.arange(start, start + len(test)) for start in starts]
        others = [rng.permutation(np.setdiff1d(np.arange(n), block))[: len(train)] for block in blocks]
        return [(order[np.sort(rest)], order[block]) for rest, block in zip(others, blocks, strict=True)]

    def _with_gaps(self, splits: Splits, order: np.ndarray, what: str) -> Splits:
        """The splits without training presentations within ``gap`` of a test presentation in ``order``."""
        if not self.gap:
            return splits
        place, kept = np.argsort(order), []
        for train, test in splits:
            near = np.zeros(len(order), bool)
            near[(place[test][:, None] + np.arange(-self.gap, self.gap + 1)).clip(0, len(order) - 1)] = True
            kept.append((train[~near[place[train]]], test))
        if not all(len(train) for train, _ in kept):
            raise ValueError(
                f"a gap of {self.gap} presentations around each block leaves none of {what}'s {len(order)} to train: "
                "use a smaller gap, or fewer blocks"
            )
        return kept


@lru_cache(128, typed=True)
def _unlabelled(
    splits: int, train_size: Any, test_size: Any, random_state: int, kfold: bool, n: int, what: str
) -> Splits:
    """Splits that depend on the number of stimuli alone, made once."""
    settings = CrossValidation(splits, train_size, test_size, random_state=random_state, kfold=kfold)
    return settings._at_random(n, splits, random_state, what)


def k_folds(n: int, folds: int, seed: int | None = None, *, shuffle: bool = True) -> Splits:
    """Train and test rows of each of k folds of ``n`` stimuli, which are random or runs of successive ones.

    The same folds as scikit-learn's ``KFold``, whose import takes half a second.

    Raises:
        ValueError: there are fewer stimuli than folds.

    Example:
        >>> [test.tolist() for _, test in k_folds(5, 2, shuffle=False)]
        [[0, 1, 2], [3, 4]]
    """
    if n < folds:
        raise ValueError(f"{n} stimuli are too few for {folds} folds: use fewer folds")
    order = np.random.RandomState(seed).permutation(n) if shuffle else np.arange(n)
    tests = [np.sort(test) for test in np.array_split(order, folds)]
    return [(np.setdiff1d(order, test), test) for test in tests]


def shuffles(
    n: int, splits: int, seed: int, train_size: float | int | None = None, test_size: float | int | None = None
) -> Splits:
    """Train and test rows of independent random splits of ``n`` stimuli, in random order.

    The same splits as scikit-learn's ``ShuffleSplit``, whose import takes half a second.

    Args:
        n: number of stimuli.
        splits: number of splits.
        seed: seed of the permutations.
        train_size: share (or number) of stimuli for training; the rest if None.
        test_size: share (or number) of stimuli for testing; the rest if None, or a tenth if both are None.

    Raises:
        ValueError: a side has no stimuli, or the two have more than there are.

    Example:
        >>> [(len(train), len(test)) for train, test in shuffles(10, 2, seed=1, train_size=0.75)]
        [(7, 3), (7, 3)]
    """
    if train_size is None and test_size is None:
        test_size = 0.1
    test = math.ceil(test_size * n) if isinstance(test_size, float) else test_size
    train = math.floor(train_size * n) if isinstance(train_size, float) else train_size
    test = n - (train or 0) if test is None else test
    train = n - test if train is None else train
    shares = [size for size in (train_size, test_size) if isinstance(size, float)]
    if min(train, test) < 1 or train + test > n or (len(shares) == 2 and sum(shares) > 1):
        raise ValueError(f"{n} stimuli cannot be split into {train} for training and {test} for testing: use others")
    random = np.random.RandomState(seed)
    orders = [random.permutation(n) for _ in range(splits)]
    return [(order[test : test + train], order[:test]) for order in orders]


@dataclass(frozen=True)
class _GivenSplits(CrossValidation):
    """Cross-validation with given splits."""

    given: Any = ()

    def of(self, assembly: xr.DataArray, what: str = "target") -> Splits:
        return self.given
