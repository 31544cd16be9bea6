"""The metrics that any mapping makes: cross-validated, on a fixed split, from target to source, with shared weights.

Each takes what makes the mapping, the name of the metric, its own settings, and those of the mapping.
"""

from collections.abc import Callable, Mapping
from typing import Any

from bsjax.labelled.regression.crossvalidation import (
    CrossRegressedCorrelation,
    ReversePredictivity,
    ReverseSplitPredictivity,
    TrainTestSplitCorrelation,
)
from bsjax.labelled.regression.span_time import SpanTimeCrossRegressedCorrelation
from bsjax.metrics import Mapping as Regression

Make = Callable[..., Regression]
_CrossValidation = Mapping[str, Any] | None


def cross_validated(
    make: Make,
    name: str,
    /,
    crossvalidation_kwargs: _CrossValidation = None,
    *args: Any,
    dtype: str | None = None,
    **settings: Any,
) -> CrossRegressedCorrelation:
    """Cross-validated."""
    return CrossRegressedCorrelation(make(*args, **settings), name, crossvalidation_kwargs, dtype)


def on_fixed_split(
    make: Make, name: str, /, *args: Any, dtype: str | None = None, **settings: Any
) -> TrainTestSplitCorrelation:
    """Fitted on given training stimuli, and scored on given test stimuli."""
    return TrainTestSplitCorrelation(make(*args, **settings), name, dtype)


def reverse(
    make: Make,
    name: str,
    /,
    crossvalidation_kwargs: _CrossValidation = None,
    *args: Any,
    dtype: str | None = None,
    **settings: Any,
) -> ReversePredictivity:
    """Cross-validated, from the target onto the source."""
    return ReversePredictivity(cross_validated(make, name, crossvalidation_kwargs, *args, dtype=dtype, **settings))


def reverse_on_fixed_split(
    make: Make, name: str, /, *args: Any, dtype: str | None = None, **settings: Any
) -> ReverseSplitPredictivity:
    """On a fixed split, from the target onto the source."""
    return ReverseSplitPredictivity(on_fixed_split(make, name, *args, dtype=dtype, **settings))


def spanning_time(
    make: Make,
    name: str,
    /,
    crossvalidation_kwargs: _CrossValidation = None,
    *args: Any,
    dtype: str | None = None,
    **settings: Any,
) -> SpanTimeCrossRegressedCorrelation:
    """Cross-validated, with weights shared by all time bins."""
    return SpanTimeCrossRegressedCorrelation(make(*args, **settings), name, crossvalidation_kwargs, dtype)
