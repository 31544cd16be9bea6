"""Centred kernel alignment of two assemblies."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from bsjax.labelled.align import STIMULUS
from bsjax.labelled.settings import refuse_others
from bsjax.labelled.similarity.representational import (
    CrossValidatedSimilarity,
    RepresentationalSimilarity,
    SimilarityError,
)
from bsjax.metrics import cka as unbiased_cka
from bsjax.metrics import cka_between_subjects, cka_bootstraps
from bsjax.metrics import cka_biased as biased_cka
from bsjax.metrics.bounds.similarity import cka_within
from bsjax.metrics.resampling.permutation import cka_permutations
from bsjax.metrics.similarity.cka import cka_and_influence, cka_of_grams
from bsjax.metrics.similarity.similarity import Similarity
from bsjax.metrics.similarity.vectors import cka_vector


def _cka_in_shares(x: Any, y: Any, where: Any, *, shares: int, unbiased: bool) -> Any:
    # Sums over the axis of stimuli, which XLA computes in shares per device.
    return unbiased_cka(x, y, where=where, unbiased=unbiased)


def _similarity(kernel: Callable[..., Any], unbiased: bool) -> Similarity:
    return Similarity(
        kernel,
        min_stimuli=4,
        depends_on="inner products",
        ignores_zero_units=True,
        ignores_scale=True,
        bootstraps=partial(cka_bootstraps, unbiased=unbiased),
        influence=partial(cka_and_influence, unbiased=unbiased),
        permutations=partial(cka_permutations, unbiased=unbiased),
        of_grams=partial(cka_of_grams, unbiased=unbiased),
        in_shares=partial(_cka_in_shares, unbiased=unbiased),
        of_subjects=partial(cka_between_subjects, unbiased=unbiased),
        vector=partial(cka_vector, unbiased=unbiased),
        within=partial(cka_within, unbiased=unbiased),
        zero_by_chance=unbiased,
    )


CKA, CKA_BIASED = _similarity(unbiased_cka, True), _similarity(biased_cka, False)


def cka(
    comparison_coord: str = STIMULUS,
    unbiased: bool = True,
    error: SimilarityError | None = None,
    dtype: str | None = None,
    n_bootstraps: int = 200,
) -> RepresentationalSimilarity:
    """Centred kernel alignment, unbiased unless ``unbiased=False``; stimuli are always matched by ``stimulus_id``."""
    if not unbiased:
        return cka_biased(comparison_coord, error, dtype, n_bootstraps)
    refuse_others({"comparison_coord": comparison_coord}, {"comparison_coord": STIMULUS}, "cka")
    return RepresentationalSimilarity(CKA, "cka", error, dtype, n_bootstraps)


def cka_biased(
    comparison_coord: str = STIMULUS,
    error: SimilarityError | None = None,
    dtype: str | None = None,
    n_bootstraps: int = 200,
) -> RepresentationalSimilarity:
    """Biased centred kernel alignment; stimuli are always matched by ``stimulus_id``."""
    refuse_others({"comparison_coord": comparison_coord}, {"comparison_coord": STIMULUS}, "cka_biased")
    return RepresentationalSimilarity(CKA_BIASED, "cka_biased", error, dtype, n_bootstraps)


def cka_cv(
    comparison_coord: str = STIMULUS,
    crossvalidation_kwargs: Mapping[str, Any] | None = None,
    unbiased: bool = True,
    dtype: str | None = None,
) -> CrossValidatedSimilarity:
    """Centred kernel alignment on random subsets of the stimuli, which are always matched by ``stimulus_id``."""
    refuse_others({"comparison_coord": comparison_coord}, {"comparison_coord": STIMULUS}, "cka_cv")
    settings = {"unbiased": unbiased}
    return CrossValidatedSimilarity(CKA if unbiased else CKA_BIASED, "cka_cv", crossvalidation_kwargs, dtype, settings)
