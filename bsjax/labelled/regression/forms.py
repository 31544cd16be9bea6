"""The metrics that any mapping makes: cross-validated, on a fixed split, from target to source, with shared weights."""

from collections.abc import Callable
from collections.abc import Mapping as MappingABC
from typing import Any

from bsjax.labelled.regression.crossvalidation import (
    CrossRegressedCorrelation,
    ReversePredictivity,
    ReverseSplitPredictivity,
    TrainTestSplitCorrelation,
)
from bsjax.labelled.regression.span_time import SpanTimeCrossRegressedCorrelation
from bsjax.metrics import Mapping

Make = Callable[..., Mapping]
_CrossValidation = MappingABC[str, Any] | None


def cross_validated(
    make: Make,
    name: str,
    /,
    crossvalidation_kwargs: _CrossValidation = None,
    *,
    dtype: str | None = None,
    **settings: Any,
) -> CrossRegressedCorrelation:
    """Cross-validated.

    Args:
        make: the mapping from its settings.
        name: in a score's provenance.
        crossvalidation_kwargs: arguments of ``CrossValidation``: the splits that are scored.
        dtype: ``"float32"`` or ``"float64"``.
        settings: of the mapping.
    """
    return CrossRegressedCorrelation(make(**settings), name, crossvalidation_kwargs, dtype)


def on_fixed_split(make: Make, name: str, /, *, dtype: str | None = None, **settings: Any) -> TrainTestSplitCorrelation:
    """Fitted on given training stimuli, and scored on given test stimuli."""
    return TrainTestSplitCorrelation(make(**settings), name, dtype)


def reverse(
    make: Make,
    name: str,
    /,
    crossvalidation_kwargs: _CrossValidation = None,
    *,
    dtype: str | None = None,
    **settings: Any,
) -> ReversePredictivity:
    """Cross-validated, from the target onto the source."""
    return ReversePredictivity(cross_validated(make, name, crossvalidation_kwargs, dtype=dtype, **settings))


def reverse_on_fixed_split(
    make: Make, name: str, /, *, dtype: str | None = None, **settings: Any
) -> ReverseSplitPredictivity:
    """On a fixed split, from the target onto the source."""
    return ReverseSplitPredictivity(on_fixed_split(make, name, dtype=dtype, **settings))


def spanning_time(
    make: Make,
    name: str,
    /,
    crossvalidation_kwargs: _CrossValidation = None,
    *,
    dtype: str | None = None,
    **settings: Any,
) -> SpanTimeCrossRegressedCorrelation:
    """Cross-validated, with weights shared by all time bins."""
    return SpanTimeCrossRegressedCorrelation(make(**settings), name, crossvalidation_kwargs, dtype)
