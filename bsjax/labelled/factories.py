"""What the metric registry builds: a kernel with its labelled metric, and the settings that each accepts."""

from collections.abc import Mapping
from typing import Any, Literal

from bsjax.labelled.ceilings import InternalConsistency
from bsjax.labelled.regression import (
    CrossRegressedCorrelation,
    ReversePredictivity,
    ReverseSplitPredictivity,
    TrainTestSplitCorrelation,
)
from bsjax.labelled.similarity import CrossValidatedSimilarity, RepresentationalSimilarity
from bsjax.metrics import PLS, NeuronToNeuron, Ridge, rdm_similarity
from bsjax.metrics import cka as unbiased_cka
from bsjax.metrics import cka_biased as biased_cka

CrossValidationKwargs = Mapping[str, Any] | None
Solver = Literal["converged", "nipals"]
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


def cka(error: Literal["jackknife"] | None = None, dtype: str | None = None) -> RepresentationalSimilarity:
    """Unbiased centred kernel alignment."""
    return RepresentationalSimilarity(unbiased_cka, "cka", _CKA_STIMULI, True, error, dtype)


def cka_biased(error: Literal["jackknife"] | None = None, dtype: str | None = None) -> RepresentationalSimilarity:
    """Biased centred kernel alignment."""
    return RepresentationalSimilarity(biased_cka, "cka_biased", _CKA_STIMULI, True, error, dtype)


def cka_cv(
    crossvalidation_kwargs: CrossValidationKwargs = None, unbiased: bool = True, dtype: str | None = None
) -> CrossValidatedSimilarity:
    """Centred kernel alignment on random subsets of the stimuli."""
    kernel = unbiased_cka if unbiased else biased_cka
    return CrossValidatedSimilarity(kernel, "cka_cv", _CKA_STIMULI, True, crossvalidation_kwargs, dtype)


def rdm(error: Literal["jackknife"] | None = None, dtype: str | None = None) -> RepresentationalSimilarity:
    """Spearman correlation of dissimilarity matrices."""
    return RepresentationalSimilarity(rdm_similarity, "rdm", _RDM_STIMULI, False, error, dtype)


def rdm_cv(crossvalidation_kwargs: CrossValidationKwargs = None, dtype: str | None = None) -> CrossValidatedSimilarity:
    """Spearman correlation of dissimilarity matrices on random subsets of the stimuli."""
    return CrossValidatedSimilarity(rdm_similarity, "rdm_cv", _RDM_STIMULI, False, crossvalidation_kwargs, dtype)


def internal_consistency(
    consistency_metric: RepresentationalSimilarity | None = None,
    split_coord: str = "repetition",
    splits: int = 10,
    random_state: int = 1,
    dtype: str | None = None,
) -> InternalConsistency:
    """Split-half reliability over repetitions."""
    return InternalConsistency(consistency_metric, split_coord, splits, random_state, dtype)


def _pls(n_components: int, solver: str) -> PLS:
    if solver not in ("converged", "nipals"):
        raise ValueError(f"solver must be 'converged' or 'nipals', got {solver!r}")
    if n_components < 1:
        raise ValueError(f"n_components must be at least 1, got {n_components}")
    return PLS(n_components, solver)


def _ridge(alpha: float) -> Ridge:
    if not 0 <= alpha < float("inf"):
        raise ValueError(f"alpha must be a finite number that is not negative, got {alpha}")
    return Ridge(float(alpha))
