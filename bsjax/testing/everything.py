"""The checks of any metric, mapping, ceiling, benchmark or model."""

from typing import Any

from bsjax.labelled import load_metric, metric_registry
from bsjax.labelled.metric import as_metric
from bsjax.metrics import Mapping
from bsjax.models import model_registry
from bsjax.testing.ceilings import ceiling_checks
from bsjax.testing.contract import Check
from bsjax.testing.experiments import benchmark_checks, model_checks
from bsjax.testing.mappings import mapping_checks
from bsjax.testing.metrics import checks


def checks_of(thing: Any, **promised: Any) -> list[Check]:
    """The checks of a mapping, model, benchmark, ceiling or metric.

    Args:
        thing: the object, or its registered identifier.
        **promised: its declared properties: arguments of ``check_mapping``, ``check_metric`` and so on.

    Example:
        >>> [each.name for each in checks_of("pixels")][:2]
        ['protocol', 'answer']
    """
    if isinstance(thing, Mapping):
        return mapping_checks(thing, **promised)
    if isinstance(thing, str) and thing not in metric_registry:
        return (model_checks if thing in model_registry else benchmark_checks)(thing, **promised)
    if hasattr(thing, "look_at"):
        return model_checks(thing, **promised)
    if hasattr(thing, "ceiling") and hasattr(thing, "version"):
        return benchmark_checks(thing, **promised)
    made = load_metric(thing) if isinstance(thing, str) else thing
    if "inputs" not in promised and as_metric(made).sides == 1:
        return ceiling_checks(thing, **promised)
    return checks(thing, **promised)
