"""The registry of metrics and ceilings by identifier."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from importlib import import_module
from inspect import Signature, signature
from pkgutil import resolve_name
from typing import Any

from bsjax.core.discovery import forms_of_mapping
from bsjax.core.registry import Registry

REGISTERS_FOR_OTHERS = True
metric_registry = Registry("metric", plugins="metric_registry")
_FORMS = {
    "cross_validated": "cross-validated",
    "on_fixed_split": "on a fixed split",
    "reverse": "from neuroids to model units, cross-validated",
    "reverse_on_fixed_split": "from neuroids to model units, on a fixed split",
    "spanning_time": "weights shared across time bins, cross-validated",
}


def load_metric(identifier: str, *args: Any, **kwargs: Any) -> Any:
    """A metric that is ready to compare two assemblies.

    A score's provenance is enough to load its metric: ``load_metric(made.metric, **made.settings, **made.seeds)``.
    Therefore a metric among the settings may be a dict with its ``identifier`` and settings, the seed of the splits may
    be given separately from ``crossvalidation_kwargs``, and ``"i1.ceiling"`` is the method ``ceiling`` of ``"i1"``.

    Args:
        identifier: one of ``list_metrics()``.
        args, kwargs: settings of the metric, e.g. ``crossvalidation_kwargs``, ``n_components``, ``dtype``.

    Raises:
        KeyError: an unknown identifier; the message suggests the nearest ones.
        TypeError: a setting that this metric does not have; the message names it.
        ValueError: two different seeds of the splits.

    Example:
        >>> load_metric("ridge", alpha=10.0).mapping
        Ridge(alpha=10.0)
        >>> load_metric("ridge", random_state=3).crossvalidation.random_state
        3
    """
    name = str(identifier).removesuffix(".ceiling")
    if name != identifier and name in metric_registry:
        own = kwargs.keys() & signature(metric_registry[name]).parameters
        metric = load_metric(name, *args, **{key: kwargs[key] for key in own})
        return partial(metric.ceiling, **{key: value for key, value in kwargs.items() if key not in own})
    factory = metric_registry[identifier]
    return factory(*args, **settings_taken(factory, kwargs))


def settings_taken(factory: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings from a provenance, in the form that the factory of a metric takes."""
    taken = {name: _taken(value) for name, value in given.items()}
    if "random_state" in taken and "crossvalidation_kwargs" in signature(factory).parameters:
        seed, splits = taken.pop("random_state"), taken.get("crossvalidation_kwargs") or {}
        if splits.get("random_state", seed) != seed:
            raise ValueError(f"two seeds of the splits: {seed!r} and {splits['random_state']!r}; give one random_state")
        taken["crossvalidation_kwargs"] = {**splits, "random_state": seed}
    return taken


def _taken(value: Any) -> Any:
    """A setting in the form that a metric takes: a dict with an identifier is loaded, a name in bsjax resolved."""
    if isinstance(value, dict):
        entries = {name: _taken(entry) for name, entry in value.items()}
        return load_metric(**entries) if "identifier" in entries else entries
    is_name = isinstance(value, str) and value.startswith("bsjax.") and ":" in value
    return resolve_name(value) if is_name else value


def load_ceiling(identifier: str, *args: Any, **kwargs: Any) -> Any:
    """A ceiling that is ready to be estimated; as in Brain-Score, metrics and ceilings share one registry.

    Args:
        identifier: a name of :func:`bsjax.list_ceilings`.
        args: settings of the ceiling, by position.
        kwargs: settings of the ceiling, by name.

    Raises:
        KeyError: the ceiling is unknown; the message names the nearest ones.
        ValueError: the identifier is that of a metric of bsjax without a ceiling.

    Example:
        >>> load_ceiling("internal_consistency").split_coord
        'repetition'
    """
    ceilings = list_ceilings()
    if identifier in metric_registry and metric_registry.is_bsjaxs(identifier) and identifier not in ceilings:
        raise ValueError(f"{identifier!r} is a metric: expected a ceiling, one of {', '.join(ceilings)}")
    return load_metric(identifier, *args, **kwargs)


def list_metrics() -> list[str]:
    """All identifiers of metrics and ceilings.

    Example:
        >>> "pls" in list_metrics()
        True
    """
    return list(metric_registry)


def list_ceilings() -> list[str]:
    """Identifiers of bsjax's ceilings; some metrics also have a ceiling of their own, such as ``"i1.ceiling"``.

    Example:
        >>> list_ceilings()[0], "pls" in list_ceilings()
        ('internal_consistency', False)
    """
    return [identifier for rows in _CEILINGS.values() for identifier in rows]


def compare_responses() -> list[str]:
    """Identifiers of the metrics that compare two matrices of responses to the same stimuli and need no other labels.

    Metrics from plugins are included, because their requirements are unknown.

    Example:
        >>> "pls" in compare_responses(), "pls_split" in compare_responses()
        (True, False)
    """
    return [name for name in metric_registry if compares_responses(name)]


def compares_responses(identifier: str) -> bool:
    """Whether a metric is among ``compare_responses``."""
    return identifier not in _TAKE_MORE


def register_mapping(
    name: str, mapping: str | Callable[..., Any], summary: str = "", *, reverse: bool = False, spantime: bool = False
) -> None:
    """Registers a regression: cross-validated as ``name`` and ``name_cv``, on a fixed split as ``name_split``.

    As far as its traits allow (:class:`bsjax.metrics.regression.mapping.Traits`), it is padded, read in blocks, sharded
    over devices and compared layer by layer. The built-in regressions are registered by this function too.

    Args:
        name: the identifier.
        mapping: a callable, e.g. a class, that makes a ``bsjax.metrics.Mapping`` from its settings; or
            "package.module:attribute".
        summary: a short description for listings.
        reverse: whether to register ``reverse_name``, ``reverse_name_cv`` and ``reverse_name_split``, from the target
            onto the source.
        spantime: whether to register ``spantime_name``, with weights shared by all time bins.

    Raises:
        ValueError: the mapping is neither callable nor a string, or the identifier is bsjax's own.

    Example:
        >>> from bsjax.metrics import Ridge
        >>> register_mapping("weak_ridge", lambda: Ridge(1e-3), "ridge regression, alpha 0.001")
        >>> load_metric("weak_ridge_cv").mapping, "weak_ridge_split" in list_metrics()
        (Ridge(alpha=0.001), True)
        >>> for form in ("weak_ridge", "weak_ridge_cv", "weak_ridge_split"):
        ...     del metric_registry[form]
    """
    if not isinstance(mapping, str) and not callable(mapping):
        raise ValueError(f"mapping {name!r}: expected what makes a Mapping, e.g. `lambda: Ridge(1.0)`, got {mapping!r}")
    for form, identifiers in forms_of_mapping(name, reverse=reverse, spantime=spantime).items():
        words = ", ".join(filter(None, (summary, _FORMS[form])))
        factory = _Regression(mapping, form, identifiers[0])
        for identifier in identifiers:
            metric_registry.register(identifier, factory, summary=words)
        if form not in ("cross_validated", "reverse"):
            _TAKE_MORE.update(identifiers)


@dataclass(frozen=True)
class _Regression:
    """The factory of a metric from a mapping; it imports what it needs when it is called."""

    mapping: str | Callable[..., Any]
    form: str
    identifier: str

    def __call__(self, *args: Any, **settings: Any) -> Any:
        return self._forms.regression(self.form, self.maker, self.identifier, *args, **settings)

    @cached_property
    def __signature__(self) -> Signature:
        """The settings of the metric and of the mapping."""
        made = signature(self.maker).parameters.values()
        theirs = [p if p.kind is p.VAR_KEYWORD else p.replace(kind=p.KEYWORD_ONLY) for p in made]
        return Signature(sorted([*self._forms.own_parameters(self.form), *theirs], key=lambda p: p.kind))

    @property
    def maker(self) -> Callable[..., Any]:
        """The callable that makes the mapping from its settings."""
        return resolve_name(self.mapping) if isinstance(self.mapping, str) else self.mapping

    @property
    def _forms(self) -> Any:
        return import_module("bsjax.labelled.regression.forms")


# Metrics that take labels, times, or another number of assemblies; regressions add theirs when they are registered.
_TAKE_MORE: set[str] = set()
_MAPPINGS: tuple[tuple[str, str, dict[str, bool]], ...] = (
    ("pls", "partial least squares, 25 components", {"reverse": True, "spantime": True}),
    ("ridge", "ridge regression, alpha 1", {"spantime": True}),
    ("ridgecv", "ridge regression, penalty chosen on the training stimuli", {}),
    ("linear_predictivity", "ordinary least squares", {}),
    ("neuron_to_neuron", "prediction from the single best feature", {}),
    ("pcr", "least squares on 100 principal components", {"reverse": True}),
    ("reduced_rank", "ridge regression with weights of rank 10", {"reverse": True}),
    ("rotation", "the best rotation of features to neuroids (Procrustes)", {"reverse": True}),
    ("elastic_net", "linear regression with sparse weights, elastic net", {"reverse": True}),
    ("lasso", "linear regression with sparse weights, lasso", {"reverse": True}),
    ("nnls", "least squares with weights that are not negative", {"reverse": True}),
    ("kernel_ridge", "ridge regression with a kernel, by default RBF", {"reverse": True}),
    ("banded_ridge", "ridge regression on several feature spaces, each with its own penalty", {"reverse": True}),
    ("multiple_kernel_ridge", "ridge regression with several kernels, each with its own penalty", {"reverse": True}),
    ("stacked_regression", "convex combination of the predictions of several feature spaces", {"reverse": True}),
)
# Modules of metrics of two arrays.
_OF_ARRAYS = ("similarity.cka", "similarity.rdms.rdm", "similarity.rdms.rdm_models", "similarity.representations")
# module -> identifier -> its attribute, and the summary for listings
_OTHERS: dict[str, dict[str, tuple[str, str]]] = {
    "regression.factorised_readout": {
        "mask_regression": ("MaskRegression", "factorised read-out: spatial mask times channel weights"),
    },
    "regression.estimators": {
        "regression": ("EstimatorRegression", "any estimator with fit and predict, cross-validated"),
        "regression_split": ("EstimatorSplitRegression", "any estimator with fit and predict, on a fixed split"),
    },
    "similarity.cka": {
        "cka": ("cka", "centred kernel alignment, unbiased"),
        "cka_biased": ("cka_biased", "centred kernel alignment, biased"),
        "cka_cv": ("cka_cv", "centred kernel alignment on random subsets of the stimuli"),
    },
    "similarity.rdms.rdm": {
        "rdm": ("rdm", "Spearman correlation of dissimilarity matrices"),
        "rdm_cv": ("rdm_cv", "Spearman correlation of dissimilarity matrices on random subsets of the stimuli"),
    },
    "similarity.rdms.trial_rdms": {
        "rdm_of_trials": ("TrialRDM", "dissimilarity matrices of a model and of single trials, crossnobis by default")
    },
    "similarity.rdms.rdm_models": {
        "weighted_rdm": ("WeightedRDM", "weighted sum of the dissimilarity matrices of several feature spaces"),
        "selected_rdm": ("SelectedRDM", "dissimilarity matrix of the feature space that is best in training stimuli"),
        "interpolated_rdm": ("InterpolatedRDM", "dissimilarity matrix between those of neighbouring feature spaces"),
        "feature_reweighted_rdm": ("FeatureReweightedRDM", "dissimilarities predicted by weighted features"),
        "encoding_rdm": ("EncodingRDM", "dissimilarity matrix of cross-validated predictions of the responses"),
    },
    "similarity.representations": {
        "procrustes": ("procrustes", "cosine of the angle between representations after the best rotation"),
        "shape": ("shape", "Procrustes similarity of partly whitened representations"),
        "permutation_shape": ("permutation_shape", "cosine of the angle after the best permutation of units"),
        "cca": ("cca", "mean canonical correlation"),
        "svcca": ("svcca", "mean canonical correlation of the leading principal components"),
        "pwcca": ("pwcca", "canonical correlations, weighted by their part in the source"),
        "kernel_cka": ("kernel_cka", "centred kernel alignment with an RBF or Laplacian kernel"),
        "cka_of_sampled_units": ("cka_of_sampled_units", "centred kernel alignment, corrected for few recorded units"),
        "mutual_nearest_neighbours": ("mutual_nearest_neighbours", "share of nearest neighbours in common"),
        "cknna": ("cknna", "centred kernel alignment of nearest neighbours"),
        "one_to_one": ("one_to_one", "mean correlation of units that are matched one to one"),
        "soft_matching": ("soft_matching", "mean correlation of units that are matched softly, by optimal transport"),
        "semi_matching": ("semi_matching", "mean correlation of each neuroid with the best unit"),
    },
    "similarity.stochastic_shape": {
        "stochastic_shape": ("StochasticShape", "similarity of means and of trial noise after the best rotation")
    },
    "similarity.dynamics": {"dsa": ("DynamicalSimilarity", "dynamical similarity analysis, of responses in time bins")},
    "tuning.distributions": {
        "ks_similarity": ("BootstrapDistributionSimilarity", "distributions of a property of single neurons")
    },
    "tuning.topography": {
        "tuning_smoothness": ("TuningSmoothness", "correlation of differences in tuning with cortical distance"),
        "wiring_economy": ("WiringEconomy", "length of wiring between neuroids that respond alike, relative to any"),
        "pinwheel_density": ("PinwheelDensity", "pinwheels per hypercolumn in a map of preferred orientation"),
    },
    "similarity.dimensionality": {
        "factor_dimensionality": ("Dimensionality", "share of dimensions that encode a stimulus factor")
    },
    "behaviour.object_solution_time": {
        "ost": ("OSTCorrelation", "rank correlation of object solution times, image by image")
    },
    "behaviour.choice_signatures": {
        "i1": ("I1", "d' of each image, compared with human d'"),
        "i2n": ("I2n", "d' of each image and distractor minus the mean of its objects, compared with human d'"),
    },
    "behaviour.accuracy": {"accuracy": ("Accuracy", "proportion of correct answers")},
    "behaviour.agreement": {
        "error_consistency": ("ErrorConsistency", "Cohen's kappa of right and wrong answers to the same trials"),
        "kato_error_consistency": ("KatoErrorConsistency", "error_consistency on the trials that both sides answered"),
        "accuracy_distance": ("AccuracyDistance", "closeness of accuracy to human accuracy"),
        "kato_accuracy_distance": ("KatoAccuracyDistance", "accuracy_distance on the trials that both sides answered"),
    },
    "behaviour.search_asymmetry": {"value_delta": ("ValueDelta", "closeness of two numbers")},
    "behaviour.condition_accuracies": {
        "baker_accuracy_delta": ("BakerAccuracyDelta", "loss of accuracy under an image manipulation, against humans'"),
    },
    "behaviour.confusions": {
        "confusion_similarity": ("ConfusionSimilarity", "correlation of confusions between objects with humans'"),
        "tasks_consistency": ("TasksConsistency", "correlation of accuracies per task with human accuracies"),
    },
    "behaviour.thresholds": {
        "threshold": ("Threshold", "closeness of a psychometric threshold to the human threshold"),
        "threshold_elevation": ("ThresholdElevation", "closeness of the threshold elevation to the human elevation"),
    },
    "ceilings.noise_corrected": {
        "noise_corrected_r2": ("NoiseCorrectedR2", "squared correlation with single trials, corrected for their noise"),
    },
}
_CEILINGS: dict[str, dict[str, tuple[str, str]]] = {
    "ceilings.consistency": {
        "internal_consistency": ("InternalConsistency", "split-half reliability over repetitions"),
        "internal_consistency_temporal": ("TemporalInternalConsistency", "split-half reliability in each time bin"),
        "predictor_consistency": ("SplitHalfPredictorConsistency", "split-half reliability, halves of each image"),
    },
    "ceilings.noise_ceiling": {"rsa_ceiling": ("RSACeiling", "agreement of dissimilarity matrices between subjects")},
    "ceilings.cross_subject": {
        "cross_subject_consistency": ("CrossSubjectConsistency", "how well subjects predict one another"),
    },
    "ceilings.noise_ceiling_snr": {
        "noise_ceiling_snr": ("NoiseCeilingSNR", "reliability of trial averages, from signal and noise"),
    },
    "ceilings.signal_and_noise": {
        "gsn_rsa_ceiling": ("SignalAndNoiseRSACeiling", "similarity of measured and noise-free RDMs, by simulation"),
    },
    "tuning.distributions": {
        "property_ceiling": ("NeuronalPropertyCeiling", "similarity of a property's distribution to draws from it"),
    },
}
for _name, _words, _forms in _MAPPINGS:
    register_mapping(_name, f"bsjax.labelled.regression.mappings:{_name}", _words, **_forms)
for _reverse, _more in (("", ""), ("reverse_", ", from neuroids to model units")):
    _name, _words = f"{_reverse}pls_by_components", f"partial least squares at every number of components{_more}"
    _factory = _Regression("bsjax.labelled.regression.mappings:pls", f"{_reverse}by_components", _name)
    metric_registry.register(_name, _factory, summary=_words)
    _TAKE_MORE.add(_name)
for _name in ("ridge_split", "ridgecv_split"):
    _words = f"alias of {_name}, which always solves the smaller linear system"
    metric_registry.register(f"dual_{_name}", metric_registry[_name], summary=_words)
    _TAKE_MORE.add(f"dual_{_name}")
for _kind, _modules in (("", _OTHERS), ("ceiling: ", _CEILINGS)):
    for _module, _rows in _modules.items():
        for _identifier, (_attribute, _words) in _rows.items():
            metric_registry.register(_identifier, f"bsjax.labelled.{_module}:{_attribute}", summary=_kind + _words)
            if _module not in _OF_ARRAYS and _identifier != "regression":
                _TAKE_MORE.add(_identifier)
metric_registry.register_source(
    "brainscore",
    "bsjax.compat.by_name.registries:metric_of_plugin",
    summary="metrics of Brain-Score plugins whose identifiers bsjax uses too",
    form="NAME",
)
