"""The metrics and ceilings by identifier."""

from typing import Any

from bsjax.registry import Registry

metric_registry = Registry("metric")


def load_metric(identifier: str, *args: Any, **kwargs: Any) -> Any:
    """A metric, ready to compare two assemblies.

    Args:
        identifier: one of ``list_metrics()``.
        args, kwargs: settings of the metric, e.g. ``crossvalidation_kwargs``, ``n_components``, ``dtype``.

    Raises:
        KeyError: an unknown identifier; the message gives the nearest ones.
        TypeError: a setting that this metric does not have, by name.

    Example:
        >>> load_metric("ridge", alpha=10.0).mapping
        Ridge(alpha=10.0)
    """
    return metric_registry[identifier](*args, **kwargs)


def load_ceiling(identifier: str, *args: Any, **kwargs: Any) -> Any:
    """A ceiling, ready to be estimated from an assembly; as in Brain-Score, metrics and ceilings share one registry.

    Example:
        >>> load_ceiling("internal_consistency").split_coord
        'repetition'
    """
    return load_metric(identifier, *args, **kwargs)


def list_metrics() -> list[str]:
    """All identifiers of metrics and ceilings.

    Example:
        >>> "pls" in list_metrics()
        True
    """
    return list(metric_registry)


_CROSS_VALIDATED = {
    "pls": "partial least squares, 25 components",
    "ridge": "ridge regression, alpha 1",
    "linear_predictivity": "ordinary least squares",
    "neuron_to_neuron": "the best single feature",
    "reverse_pls": "partial least squares from neuroids to model units",
}
for _name, _words in _CROSS_VALIDATED.items():
    for _identifier in (_name, f"{_name}_cv"):
        metric_registry.register(_identifier, f"bsjax.labelled.factories:{_name}", summary=f"{_words}, cross-validated")
    metric_registry.register(
        f"{_name}_split", f"bsjax.labelled.factories:{_name}_split", summary=f"{_words}, on a fixed split"
    )
for _identifier, _words in {
    "cka": "centred kernel alignment, unbiased",
    "cka_biased": "centred kernel alignment, biased",
    "cka_cv": "centred kernel alignment on random subsets of the stimuli",
    "rdm": "Spearman correlation of dissimilarity matrices",
    "rdm_cv": "Spearman correlation of dissimilarity matrices on random subsets of the stimuli",
    "internal_consistency": "ceiling: split-half reliability over repetitions",
}.items():
    metric_registry.register(_identifier, f"bsjax.labelled.factories:{_identifier}", summary=_words)
