"""Forms of a regression: cross-validated, on a fixed split, from target to source, by components, or over time bins."""

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any

import numpy as np
import xarray as xr

from bsjax.labelled.aggregate import NEUROID, SPLIT, coords_on, neuroid_coords
from bsjax.labelled.align import TIME_BIN, at_positions, three_dimensional, two_dimensional
from bsjax.labelled.metric import Metric
from bsjax.labelled.regression.crossvalidation import (
    CrossRegressedCorrelation,
    CrossValidatedRegression,
    ReversePredictivity,
    TrainTestSplitCorrelation,
)
from bsjax.labelled.score import Score
from bsjax.labelled.settings import plain_setting
from bsjax.metrics import PLS, Mapping, cross_validate_by_components, cross_validate_over_time


class SpanTimeCrossRegressedCorrelation(CrossValidatedRegression):
    """Cross-validated regression with one set of weights for all time bins, scored by Pearson correlation in each.

    Every time bin of a stimulus is a sample of the same regression. The score has one value per time bin: the mean over
    splits of the median over neuroids; ``raw`` has one correlation per split, time bin and neuroid.

    Args:
        mapping, identifier, crossvalidation_kwargs, dtype, settings: as in ``CrossRegressedCorrelation``.

    Source: Kar et al. 2019; Brain-Score's ``spantime_pls`` and ``spantime_ridge``.
    """

    called = "spantime_{}"

    def __call__(self, source: xr.DataArray, target: xr.DataArray) -> Score:
        """Scores how well ``source`` predicts ``target`` in each of their time bins.

        Args:
            source, target: (presentation, neuroid, time_bin) with ``stimulus_id`` and the same bins, identified by
                ``time_bin_start`` and ``time_bin_end``.

        Raises:
            ValueError: stimuli or time bins differ, stimuli repeat or are too few, a coordinate is missing, values are
                NaN, or the computation needs more memory than is available.
        """
        source, target = three_dimensional(source, "source"), three_dimensional(target, "target")
        if (order := _order_of_bins(source, target)) is not None:
            source = at_positions(source, {TIME_BIN: order})
        coords = coords_on(target, TIME_BIN, NEUROID)
        return self._over_folds(cross_validate_over_time, source, target, coords, (SPLIT, TIME_BIN, NEUROID))


def _order_of_bins(source: xr.DataArray, target: xr.DataArray) -> list[int] | None:
    """Positions that put the bins of ``source`` in the target's order; None, which saves a copy, if they are."""
    theirs, ours = (list(zip(*_bins(a, what), strict=True)) for a, what in ((target, "target"), (source, "source")))
    if sorted(theirs) != sorted(ours) or len(set(ours)) != len(ours):
        raise ValueError(f"source and target must have the same time bins, once each; source: {ours}, target: {theirs}")
    return None if ours == theirs else [ours.index(interval) for interval in theirs]


def _bins(assembly: xr.DataArray, what: str) -> tuple[list[Any], list[Any]]:
    missing = [name for name in ("time_bin_start", "time_bin_end") if name not in assembly.coords]
    if missing:
        raise ValueError(f"{what} has no coordinate {' and no '.join(missing)} on its time bins")
    return assembly["time_bin_start"].values.tolist(), assembly["time_bin_end"].values.tolist()


COMPONENT = "component"


class PLSByComponents(CrossValidatedRegression):
    """Cross-validated PLS regression, scored by Pearson correlation at every number of components, from one fit.

    The score has one value for each number of components, from 1 to that of the mapping: the mean over splits of the
    median over neuroids. ``raw`` has one correlation per split, number of components and neuroid.

    Args:
        mapping: PLS with the largest number of components.
        identifier, crossvalidation_kwargs, dtype, settings: as in ``CrossRegressedCorrelation``.

    Source: Wold 1975.
    """

    called = "{}_by_components"

    mapping: PLS

    def __call__(self, source: xr.DataArray, target: xr.DataArray) -> Score:
        """Scores how well ``source`` predicts ``target`` with each number of components.

        Args:
            source, target: as for ``CrossRegressedCorrelation``.

        Raises:
            ValueError: as for ``CrossRegressedCorrelation``.
        """
        source, target = two_dimensional(source, "source"), two_dimensional(target, "target")
        coords = neuroid_coords(target) | {COMPONENT: (COMPONENT, np.arange(1, self.mapping.n_components + 1))}
        return self._over_folds(cross_validate_by_components, source, target, coords, (SPLIT, COMPONENT, NEUROID))


# The class of each form, and whether it predicts the source from the target.
FORMS: dict[str, tuple[Any, bool]] = {
    "cross_validated": (CrossRegressedCorrelation, False),
    "on_fixed_split": (TrainTestSplitCorrelation, False),
    "reverse": (CrossRegressedCorrelation, True),
    "reverse_on_fixed_split": (TrainTestSplitCorrelation, True),
    "spanning_time": (SpanTimeCrossRegressedCorrelation, False),
    "by_components": (PLSByComponents, False),
    "reverse_by_components": (PLSByComponents, True),
}
_SPLITS = "crossvalidation_kwargs"


def regression(
    form: str, make: Callable[..., Mapping], name: str, /, *args: Any, dtype: str | None = None, **settings: Any
) -> Metric:
    """A metric of a form, with the mapping that a factory makes.

    Args:
        form: one of ``FORMS``.
        make: the factory of the mapping.
        name: identifier of the metric.
        *args: ``crossvalidation_kwargs`` first, for forms with splits, then settings of the mapping.
        dtype: precision of the metric.
        **settings: the same by name.
    """
    kind, reverse = FORMS[form]
    own: dict[str, Any] = {"dtype": dtype}
    if form not in ("on_fixed_split", "reverse_on_fixed_split"):
        own[_SPLITS], args = args[0] if args else settings.pop(_SPLITS, None), args[1:]
    mapping, bound = make(*args, **settings), signature(make).bind(*args, **settings)
    bound.apply_defaults()
    said, kept = dict(zip(bound.signature.parameters, bound.args, strict=False)) | bound.kwargs, plain_setting(mapping)
    said |= {each: kept[each] for each in said if isinstance(kept, dict) and each in kept}
    metric = kind(mapping, name, settings=said, **own)
    return ReversePredictivity(metric) if reverse else metric


def own_parameters(form: str) -> list[Parameter]:
    """The parameters of a form besides those of its mapping."""
    parameters = signature(FORMS[form][0]).parameters
    dtype = parameters["dtype"].replace(kind=Parameter.KEYWORD_ONLY)
    return [parameters[_SPLITS], dtype] if _SPLITS in parameters else [dtype]
