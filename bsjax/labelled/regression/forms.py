"""Forms of a regression: cross-validated, on a fixed split, from target to source, with weights shared over time."""

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any

from bsjax.labelled.metric import Metric
from bsjax.labelled.regression.by_components import PLSByComponents
from bsjax.labelled.regression.crossvalidation import (
    CrossRegressedCorrelation,
    ReversePredictivity,
    TrainTestSplitCorrelation,
)
from bsjax.labelled.regression.span_time import SpanTimeCrossRegressedCorrelation
from bsjax.labelled.settings import plain_setting
from bsjax.metrics import Mapping

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
