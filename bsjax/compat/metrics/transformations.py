"""Cross-validation of assemblies by any function of their parts, for metrics of plugins."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from bsjax.compat.score import Score
from bsjax.labelled.splits import CrossValidation as Splits

_RAW = Score.RAW_VALUES_KEY


def apply_aggregate(aggregate_fnc: Callable[[Any], Any], values: Any) -> Any:
    """Aggregate values by a function, and keep the unaggregated ones in ``attrs["raw"]``."""
    score = aggregate_fnc(values)
    score.attrs.setdefault(_RAW, values.attrs.get(_RAW, values))
    return score


class CrossValidationSingle:
    """Cross-validation of one assembly; arguments are those of :class:`bsjax.labelled.splits.CrossValidation`.

    Raises:
        ValueError: an argument is unknown or invalid, or an assembly has not the coordinates of the splits.
    """

    def __init__(self, **settings: Any) -> None:
        self._splits = Splits.from_kwargs(settings)

    def __call__(
        self, *assemblies: Any, apply: Callable[..., Any], aggregate: Callable[[Any], Any] | None = None
    ) -> Any:
        """The mean over splits of ``apply(train, test)``, with its standard error.

        Args:
            *assemblies: the assemblies to split.
            apply: function of the parts of a split.
            aggregate: function of the merged scores, e.g. the median over neuroids.
        """
        scores = []
        for number, parts in enumerate(self._parts(*assemblies)):
            score = apply(*parts).expand_dims("split")
            score["split"] = [number]
            scores.append(score)
        values = Score.merge(*scores)
        return apply_aggregate(self.aggregate, apply_aggregate(aggregate, values) if aggregate else values)

    def aggregate(self, values: Any) -> Any:
        """The mean over splits, with its standard error."""
        score = apply_aggregate(lambda scores: scores.mean("split"), values)
        score.attrs["error"] = values.std("split") / math.sqrt(values.sizes["split"])
        return score

    def _parts(self, *assemblies: Any) -> Iterator[tuple[Any, ...]]:
        """The training rows of each assembly, and the test rows of each, for each split."""
        coord, target = self._splits.split_coord, assemblies[-1]
        values = target[coord].values
        for split in self._splits.of(target):
            yield tuple(_with_values(each, coord, values[rows]) for rows in split for each in assemblies)


class CrossValidation(CrossValidationSingle):
    """Cross-validation of a source and a target with the same values; arguments are those of the base.

    It is called with both, and ``apply`` takes ``(source_train, target_train, source_test, target_test)``.

    Raises:
        ValueError: when called, the values of source and target differ.
    """

    def _parts(self, *assemblies: Any) -> Iterator[tuple[Any, ...]]:
        """The training rows of source and target, and their test rows, for each split."""
        for name in self._splits.coords:
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


def _with_values(assembly: Any, name: str, values: np.ndarray) -> Any:
    """The rows of an assembly with these values of a coordinate; of a matrix, also the columns."""
    (dim,) = assembly[name].dims
    return assembly.isel({dim: np.flatnonzero(pd.Index(assembly[name].values).isin(values))})
