"""Classes of Brain-Score's metrics that other plugins import: bsjax's metrics, with scores known to plugins."""

from functools import partial
from typing import Any

from bsjax.compat.sides.scores import MetricForPlugins, of_bsjax
from bsjax.labelled.registry import load_metric


def _made(identifier: str, *args: Any, **kwargs: Any) -> MetricForPlugins:
    given = {name: of_bsjax(value) for name, value in kwargs.items()}
    return MetricForPlugins(load_metric(identifier, *map(of_bsjax, args), **given))


InternalConsistency = partial(_made, "internal_consistency")
RDMMetric = partial(_made, "rdm")
RDMCrossValidated = partial(_made, "rdm_cv")
CKAMetric = partial(_made, "cka")
CKACrossValidated = partial(_made, "cka_cv")
I1 = partial(_made, "i1")
I2n = partial(_made, "i2n")
