"""The metrics that any mapping makes: cross-validated, on a fixed split, from target to source, with shared weights.

Each takes what makes the mapping, the name of the metric, its own settings, and those of the mapping.
"""

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

from bsjax.labelled.regression.crossvalidation import (
    CrossRegressedCorrelation,
    ReversePredictivity,
    ReverseSplitPredictivity,
    TrainTestSplitCorrelation,
)
from bsjax.labelled.regression.span_time import SpanTimeCrossRegressedCorrelation
from bsjax.labelled.settings import plain_setting
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
    mapping, said = _made(make, args, settings)
    return CrossRegressedCorrelation(mapping, name, crossvalidation_kwargs, dtype, said)


def on_fixed_split(
    make: Make, name: str, /, *args: Any, dtype: str | None = None, **settings: Any
) -> TrainTestSplitCorrelation:
    """Fitted on given training stimuli, and scored on given test stimuli."""
    mapping, said = _made(make, args, settings)
    return TrainTestSplitCorrelation(mapping, name, dtype, said)


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
    mapping, said = _made(make, args, settings)
    return SpanTimeCrossRegressedCorrelation(mapping, name, crossvalidation_kwargs, dtype, said)


def _made(make: Make, args: tuple[Any, ...], settings: dict[str, Any]) -> tuple[Regression, dict[str, Any]]:
    """A mapping, and all settings that it is made from, as it keeps them where it does."""
    mapping, bound = make(*args, **settings), signature(make).bind(*args, **settings)
    bound.apply_defaults()
    said, kept = dict(zip(bound.signature.parameters, bound.args, strict=False)) | bound.kwargs, plain_setting(mapping)
    return mapping, said | {name: kept[name] for name in said if isinstance(kept, dict) and name in kept}
