"""The metrics and ceilings by identifier."""

from typing import Any

from bsjax.core.registry import Registry

metric_registry = Registry("metric", plugins="metric_registry")


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


_REGRESSIONS = {
    "pls": "partial least squares, 25 components",
    "ridge": "ridge regression, alpha 1",
    "linear_predictivity": "ordinary least squares",
    "neuron_to_neuron": "the best single feature",
    "reverse_pls": "partial least squares from neuroids to model units",
}
_OTHERS = {
    # regressions whose penalty is chosen, whose weights span time, or that are fitted by gradients
    "ridgecv": ("factories:ridgecv", "ridge regression, penalty chosen in training, cross-validated"),
    "ridgecv_split": ("factories:ridgecv_split", "ridge regression, penalty chosen in training, on a fixed split"),
    "dual_ridge_split": ("factories:ridge_split", "the same as ridge_split, which solves the smaller system"),
    "dual_ridgecv_split": ("factories:ridgecv_split", "the same as ridgecv_split, which solves the smaller system"),
    "spantime_pls": ("factories:spantime_pls", "partial least squares, weights shared over time, cross-validated"),
    "spantime_ridge": ("factories:spantime_ridge", "ridge regression, weights shared over time, cross-validated"),
    "mask_regression": (
        "regression.factorised_readout:MaskRegression",
        "a spatial mask times channel weights, cross-validated",
    ),
    # representational similarity
    "cka": ("factories:cka", "centred kernel alignment, unbiased"),
    "cka_biased": ("factories:cka_biased", "centred kernel alignment, biased"),
    "cka_cv": ("factories:cka_cv", "centred kernel alignment on random subsets of the stimuli"),
    "rdm": ("factories:rdm", "Spearman correlation of dissimilarity matrices"),
    "rdm_cv": ("factories:rdm_cv", "Spearman correlation of dissimilarity matrices on random subsets of the stimuli"),
    # single neurons, populations, and time
    "ks_similarity": (
        "tuning.distributions:BootstrapDistributionSimilarity",
        "distributions of a property of single neurons",
    ),
    "factor_dimensionality": ("similarity.dimensionality:Dimensionality", "share of units that a factor takes up"),
    "ost": ("behaviour.object_solution_time:OSTCorrelation", "when objects can be read out, image by image"),
    # behaviour
    "i1": ("behaviour.choice_signatures:I1", "d' of each image, against people's"),
    "i2n": (
        "behaviour.choice_signatures:I2n",
        "d' of each image and distractor without that of the objects, against people's",
    ),
    "accuracy": ("behaviour.accuracy:Accuracy", "share of right answers"),
    "error_consistency": (
        "behaviour.agreement:ErrorConsistency",
        "right and wrong on the same trials as people: Cohen's kappa",
    ),
    "kato_error_consistency": (
        "behaviour.agreement:KatoErrorConsistency",
        "error_consistency on trials both have answered",
    ),
    "accuracy_distance": ("behaviour.agreement:AccuracyDistance", "nearness of accuracy to people's"),
    "kato_accuracy_distance": (
        "behaviour.agreement:KatoAccuracyDistance",
        "accuracy_distance on trials both have answered",
    ),
    "value_delta": ("behaviour.search_asymmetry:ValueDelta", "nearness of two numbers"),
    "baker_accuracy_delta": (
        "behaviour.condition_accuracies:BakerAccuracyDelta",
        "the loss of accuracy by a manipulation, to people's",
    ),
    "confusion_similarity": (
        "behaviour.confusions:ConfusionSimilarity",
        "which objects are taken for which, as by people",
    ),
    "tasks_consistency": ("behaviour.confusions:TasksConsistency", "accuracy by task, against people's"),
    "threshold": ("behaviour.thresholds:Threshold", "nearness of a psychometric threshold to people's"),
    "threshold_elevation": (
        "behaviour.thresholds:ThresholdElevation",
        "nearness of how much a condition raises the threshold, to people's",
    ),
    # ceilings
    "internal_consistency": (
        "ceilings.consistency:InternalConsistency",
        "ceiling: split-half reliability over repetitions",
    ),
    "internal_consistency_temporal": (
        "ceilings.consistency:TemporalInternalConsistency",
        "ceiling: the same in each time bin",
    ),
    "predictor_consistency": (
        "ceilings.predictor_consistency:SplitHalfPredictorConsistency",
        "ceiling: split-half reliability, each image's own repetitions halved",
    ),
    "rsa_ceiling": ("ceilings.noise_ceiling:RSACeiling", "ceiling: agreement of subjects' dissimilarity matrices"),
    "property_ceiling": (
        "tuning.distributions:NeuronalPropertyCeiling",
        "ceiling: a property's distribution, drawn again",
    ),
}
# Those that compare two matrices of responses to the same stimuli, with nothing known of them but their identifiers.
COMPARE_RESPONSES = (
    *(name for regression in _REGRESSIONS for name in (regression, f"{regression}_cv")),
    *("ridgecv", "cka", "cka_biased", "cka_cv", "rdm", "rdm_cv"),
)
for _name, _words in _REGRESSIONS.items():
    for _identifier in (_name, f"{_name}_cv"):
        metric_registry.register(_identifier, f"bsjax.labelled.factories:{_name}", summary=f"{_words}, cross-validated")
    metric_registry.register(
        f"{_name}_split", f"bsjax.labelled.factories:{_name}_split", summary=f"{_words}, on a fixed split"
    )
for _identifier, (_target, _words) in _OTHERS.items():
    metric_registry.register(_identifier, f"bsjax.labelled.{_target}", summary=_words)
