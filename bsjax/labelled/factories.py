"""What the metric registry builds: a kernel with its labelled metric, and the settings that each accepts."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from bsjax.labelled.align import STIMULUS
from bsjax.labelled.regression.crossvalidation import (
    CrossRegressedCorrelation,
    ReversePredictivity,
    ReverseSplitPredictivity,
    TrainTestSplitCorrelation,
)
from bsjax.labelled.regression.span_time import SpanTimeCrossRegressedCorrelation
from bsjax.labelled.settings import finite_number, whole_number
from bsjax.labelled.similarity.representational import (
    CrossValidatedSimilarity,
    RepresentationalSimilarity,
    SimilarityError,
)
from bsjax.metrics import ALPHAS, PLS, NeuronToNeuron, Ridge, RidgeCV, rdm_similarity
from bsjax.metrics import cka as unbiased_cka
from bsjax.metrics import cka_biased as biased_cka

CrossValidationKwargs = Mapping[str, Any] | None
Solver = Literal["converged", "nipals"]
_MATCHED_BY = {"comparison_coord": STIMULUS}
_XARRAY_DEFAULTS = {
    "expected_dims": ("presentation", "neuroid"),
    "neuroid_dim": "neuroid",
    "neuroid_coord": "neuroid_id",
    "stimulus_coord": STIMULUS,
}
# Fewest stimuli for which the unbiased HSIC is defined, and for which two RDMs have pairs to rank.
_CKA_STIMULI, _RDM_STIMULI = 4, 3


def pls(
    crossvalidation_kwargs: CrossValidationKwargs = None,
    n_components: int = 25,
    solver: Solver = "converged",
    dtype: str | None = None,
) -> CrossRegressedCorrelation:
    """Cross-validated partial least squares; ``solver="nipals"`` stops early as Brain-Score does."""
    return CrossRegressedCorrelation(_pls(n_components, solver), "pls", crossvalidation_kwargs, dtype)


def pls_split(
    n_components: int = 25, solver: Solver = "converged", dtype: str | None = None
) -> TrainTestSplitCorrelation:
    """Partial least squares on a fixed split."""
    return TrainTestSplitCorrelation(_pls(n_components, solver), "pls_split", dtype)


def ridge(
    crossvalidation_kwargs: CrossValidationKwargs = None, alpha: float = 1.0, dtype: str | None = None
) -> CrossRegressedCorrelation:
    """Cross-validated ridge regression, one ``alpha`` for all targets."""
    return CrossRegressedCorrelation(_ridge(alpha), "ridge", crossvalidation_kwargs, dtype)


def ridge_split(alpha: float = 1.0, dtype: str | None = None) -> TrainTestSplitCorrelation:
    """Ridge regression on a fixed split."""
    return TrainTestSplitCorrelation(_ridge(alpha), "ridge_split", dtype)


def ridgecv(
    crossvalidation_kwargs: CrossValidationKwargs = None,
    alphas: Sequence[float] = ALPHAS,
    alpha_per_target: bool = False,
    cv: int | None = None,
    dtype: str | None = None,
) -> CrossRegressedCorrelation:
    """Cross-validated ridge regression whose penalty each split chooses on its training stimuli.

    Args:
        crossvalidation_kwargs: arguments of ``CrossValidation``: the splits that are scored.
        alphas, alpha_per_target, cv: as in ``ridgecv_split``.
        dtype: ``"float32"`` or ``"float64"``.

    ``score.raw["alpha"]`` has the choices: one a split, or one a split and neuroid with ``alpha_per_target``.
    """
    return CrossRegressedCorrelation(_ridgecv(alphas, alpha_per_target, cv), "ridgecv", crossvalidation_kwargs, dtype)


def ridgecv_split(
    alphas: Sequence[float] = ALPHAS,
    alpha_per_target: bool = False,
    regression_kwargs: Mapping[str, Any] | None = None,
    xarray_kwargs: Mapping[str, Any] | None = None,
    cv: int | None = None,
    dtype: str | None = None,
) -> TrainTestSplitCorrelation:
    """Ridge regression on a fixed split, with the penalty of the smallest error on training stimuli left out.

    Args:
        alphas: the penalties to choose from.
        alpha_per_target: choose for each neuroid by itself, where Brain-Score chooses one for all.
        regression_kwargs: Brain-Score's way to pass ``alpha_per_target``; other settings are refused.
        xarray_kwargs: Brain-Score's names of dimensions and coordinates; others than its defaults are refused.
        cv: leave one stimulus out at a time, as Brain-Score does (None), or one of so many runs of consecutive
            training stimuli, as himalaya does; see ``bsjax.metrics.RidgeCV``.
        dtype: ``"float32"`` or ``"float64"``.

    ``score.raw["alpha"]`` has the choice.
    """
    _refuse_others(xarray_kwargs, _XARRAY_DEFAULTS, "xarray_kwargs")
    more = {**(regression_kwargs or {})}
    per_target = more.pop("alpha_per_target", alpha_per_target)
    _refuse_others(more, {"fit_intercept": True, "scoring": None, "cv": None}, "regression_kwargs")
    return TrainTestSplitCorrelation(_ridgecv(alphas, per_target, cv), "ridgecv_split", dtype)


def spantime_pls(
    crossvalidation_kwargs: CrossValidationKwargs = None,
    n_components: int = 25,
    solver: Solver = "converged",
    dtype: str | None = None,
) -> SpanTimeCrossRegressedCorrelation:
    """Cross-validated partial least squares with weights shared by all time bins."""
    mapping = _pls(n_components, solver)
    return SpanTimeCrossRegressedCorrelation(mapping, "spantime_pls", crossvalidation_kwargs, dtype)


def spantime_ridge(
    crossvalidation_kwargs: CrossValidationKwargs = None, alpha: float = 1.0, dtype: str | None = None
) -> SpanTimeCrossRegressedCorrelation:
    """Cross-validated ridge regression with weights shared by all time bins."""
    return SpanTimeCrossRegressedCorrelation(_ridge(alpha), "spantime_ridge", crossvalidation_kwargs, dtype)


def linear_predictivity(
    crossvalidation_kwargs: CrossValidationKwargs = None, dtype: str | None = None
) -> CrossRegressedCorrelation:
    """Cross-validated ordinary least squares, of minimum norm where the data are rank-deficient."""
    return CrossRegressedCorrelation(Ridge(0.0), "linear_predictivity", crossvalidation_kwargs, dtype)


def linear_predictivity_split(dtype: str | None = None) -> TrainTestSplitCorrelation:
    """Ordinary least squares on a fixed split."""
    return TrainTestSplitCorrelation(Ridge(0.0), "linear_predictivity_split", dtype)


def neuron_to_neuron(
    crossvalidation_kwargs: CrossValidationKwargs = None, dtype: str | None = None
) -> CrossRegressedCorrelation:
    """Cross-validated one-to-one mapping."""
    return CrossRegressedCorrelation(NeuronToNeuron(), "neuron_to_neuron", crossvalidation_kwargs, dtype)


def neuron_to_neuron_split(dtype: str | None = None) -> TrainTestSplitCorrelation:
    """One-to-one mapping on a fixed split."""
    return TrainTestSplitCorrelation(NeuronToNeuron(), "neuron_to_neuron_split", dtype)


def reverse_pls(
    crossvalidation_kwargs: CrossValidationKwargs = None,
    n_components: int = 25,
    solver: Solver = "converged",
    dtype: str | None = None,
) -> ReversePredictivity:
    """Cross-validated partial least squares from the target onto the source."""
    mapping = _pls(n_components, solver)
    return ReversePredictivity(CrossRegressedCorrelation(mapping, "reverse_pls", crossvalidation_kwargs, dtype))


def reverse_pls_split(
    n_components: int = 25, solver: Solver = "converged", dtype: str | None = None
) -> ReverseSplitPredictivity:
    """Partial least squares from the target onto the source on a fixed split."""
    return ReverseSplitPredictivity(TrainTestSplitCorrelation(_pls(n_components, solver), "reverse_pls_split", dtype))


def cka(
    comparison_coord: str = STIMULUS,
    unbiased: bool = True,
    error: SimilarityError | None = None,
    dtype: str | None = None,
    n_bootstraps: int = 200,
) -> RepresentationalSimilarity:
    """Centred kernel alignment, unbiased unless ``unbiased=False``; stimuli are always matched by ``stimulus_id``."""
    _refuse_others({"comparison_coord": comparison_coord}, _MATCHED_BY, "cka")
    if not unbiased:
        return cka_biased(error=error, dtype=dtype, n_bootstraps=n_bootstraps)
    return RepresentationalSimilarity(unbiased_cka, "cka", _CKA_STIMULI, True, error, dtype, n_bootstraps)


def cka_biased(
    comparison_coord: str = STIMULUS,
    error: SimilarityError | None = None,
    dtype: str | None = None,
    n_bootstraps: int = 200,
) -> RepresentationalSimilarity:
    """Biased centred kernel alignment; stimuli are always matched by ``stimulus_id``."""
    _refuse_others({"comparison_coord": comparison_coord}, _MATCHED_BY, "cka_biased")
    return RepresentationalSimilarity(biased_cka, "cka_biased", _CKA_STIMULI, True, error, dtype, n_bootstraps)


def cka_cv(
    crossvalidation_kwargs: CrossValidationKwargs = None, unbiased: bool = True, dtype: str | None = None
) -> CrossValidatedSimilarity:
    """Centred kernel alignment on random subsets of the stimuli."""
    kernel = unbiased_cka if unbiased else biased_cka
    return CrossValidatedSimilarity(kernel, "cka_cv", _CKA_STIMULI, True, crossvalidation_kwargs, dtype)


def rdm(
    neuroid_dim: str = "neuroid",
    comparison_coord: str = STIMULUS,
    error: SimilarityError | None = None,
    dtype: str | None = None,
    n_bootstraps: int = 200,
) -> RepresentationalSimilarity:
    """Spearman correlation of dissimilarity matrices; stimuli are always matched by ``stimulus_id``."""
    _refuse_others(
        {"neuroid_dim": neuroid_dim, "comparison_coord": comparison_coord},
        {"neuroid_dim": "neuroid"} | _MATCHED_BY,
        "rdm",
    )
    return RepresentationalSimilarity(rdm_similarity, "rdm", _RDM_STIMULI, False, error, dtype, n_bootstraps)


def rdm_cv(crossvalidation_kwargs: CrossValidationKwargs = None, dtype: str | None = None) -> CrossValidatedSimilarity:
    """Spearman correlation of dissimilarity matrices on random subsets of the stimuli."""
    return CrossValidatedSimilarity(rdm_similarity, "rdm_cv", _RDM_STIMULI, False, crossvalidation_kwargs, dtype)


def _pls(n_components: int, solver: str) -> PLS:
    if solver not in ("converged", "nipals"):
        raise ValueError(f"solver must be 'converged' or 'nipals', got {solver!r}")
    return PLS(whole_number(n_components, "n_components", 1), solver)


def _ridgecv(alphas: Sequence[float], alpha_per_target: bool, cv: int | None) -> RidgeCV:
    chosen_from = tuple(float(alpha) for alpha in np.atleast_1d(alphas))
    wrong = [alpha for alpha in chosen_from if not 0 < alpha < float("inf")]
    if wrong or not chosen_from:
        raise ValueError(f"alphas must be finite numbers above 0, got {wrong or 'none'}")
    return RidgeCV(chosen_from, bool(alpha_per_target), None if cv is None else whole_number(cv, "cv", 2))


def _refuse_others(given: Mapping[str, Any] | None, fixed: Mapping[str, Any], what: str) -> None:
    """Settings of the reference that only their default does here."""
    for name, value in (given or {}).items():
        if name not in fixed:
            raise ValueError(f"{what} has no {name!r} here; there are: {', '.join(fixed)}")
        if value != fixed[name]:
            raise ValueError(f"{what}[{name!r}] can only be {fixed[name]!r}, got {value!r}")


def _ridge(alpha: float) -> Ridge:
    return Ridge(finite_number(alpha, "alpha"))
