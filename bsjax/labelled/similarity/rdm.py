"""Comparison of the dissimilarity matrices (RDMs) of two assemblies."""

from collections.abc import Mapping
from functools import cache, partial
from typing import Any

from bsjax.labelled.align import STIMULUS
from bsjax.labelled.settings import refuse_others
from bsjax.labelled.similarity.representational import (
    CrossValidatedSimilarity,
    RepresentationalSimilarity,
    SimilarityError,
)
from bsjax.metrics import rdm_bootstraps, rdm_similarity
from bsjax.metrics.resampling.bootstraps import rdm_statistic
from bsjax.metrics.resampling.permutation import rdm_permutations
from bsjax.metrics.resampling.weighted_rdms import METHODS
from bsjax.metrics.similarity.rdms.dissimilarities import DISSIMILARITIES, Dissimilarity, dissimilarity_named
from bsjax.metrics.similarity.rdms.rdm import rdm_similarity_and_influence
from bsjax.metrics.similarity.rdms.rdm_comparison import COMPARISONS, Comparison, comparison_named
from bsjax.metrics.similarity.rdms.sharded_rdm import rdm_similarity_in_shares
from bsjax.metrics.similarity.similarity import Similarity
from bsjax.metrics.similarity.vectors import rdm_vector

_FIXED = {"neuroid_dim": "neuroid", "comparison_coord": STIMULUS}


def rdm(
    neuroid_dim: str = "neuroid",
    comparison_coord: str = STIMULUS,
    error: SimilarityError | None = None,
    dtype: str | None = None,
    n_bootstraps: int = 200,
    dissimilarity: str = "correlation",
    comparison: str = "spearman",
) -> RepresentationalSimilarity:
    """Comparison of dissimilarity matrices; stimuli are always matched by ``stimulus_id``.

    Args:
        neuroid_dim, comparison_coord: Brain-Score's names; only its defaults are accepted.
        error, dtype, n_bootstraps: as in ``RepresentationalSimilarity``; ``"tau-a"`` has no ``"bootstrap"``.
        dissimilarity: a name in ``DISSIMILARITIES`` of ``bsjax.metrics.similarity.rdms.dissimilarities``, e.g.
            ``"euclidean"``.
        comparison: a name in ``COMPARISONS`` of ``bsjax.metrics.similarity.rdms.rdm_comparison``, e.g. ``"tau-a"``.

    Raises:
        ValueError: an unknown dissimilarity or comparison; the message lists the known ones.

    Example:
        >>> from bsjax import load_metric
        >>> load_metric("rdm", dissimilarity="euclidean", comparison="tau-a").settings
        {'dissimilarity': 'euclidean', 'comparison': 'tau-a'}
    """
    refuse_others({"neuroid_dim": neuroid_dim, "comparison_coord": comparison_coord}, _FIXED, "rdm")
    by = {"dissimilarity": dissimilarity, "comparison": comparison}
    return RepresentationalSimilarity(rdm_similarity_by(**by), "rdm", error, dtype, n_bootstraps, by)


def rdm_cv(
    neuroid_dim: str = "neuroid",
    comparison_coord: str = STIMULUS,
    crossvalidation_kwargs: Mapping[str, Any] | None = None,
    dtype: str | None = None,
    dissimilarity: str = "correlation",
    comparison: str = "spearman",
) -> CrossValidatedSimilarity:
    """Comparison of dissimilarity matrices on random subsets of the stimuli; settings as in ``rdm``."""
    refuse_others({"neuroid_dim": neuroid_dim, "comparison_coord": comparison_coord}, _FIXED, "rdm_cv")
    by = {"dissimilarity": dissimilarity, "comparison": comparison}
    return CrossValidatedSimilarity(rdm_similarity_by(**by), "rdm_cv", crossvalidation_kwargs, dtype, by)


def rdm_similarity_by(
    dissimilarity: str | Dissimilarity = "correlation", comparison: str | Comparison = "spearman"
) -> Similarity:
    """The similarity of two representations by their RDMs.

    Args:
        dissimilarity: an entry of ``DISSIMILARITIES``, or its name.
        comparison: an entry of ``COMPARISONS``, or its name. All but Kendall's support the bootstrap.

    Raises:
        ValueError: an unknown name; the message lists the known ones.

    Example:
        >>> rdm_similarity_by("euclidean", "corr").depends_on
        'inner products'
        >>> rdm_similarity_by(comparison="pearson")
        Traceback (most recent call last):
        ...
        ValueError: unknown comparison of RDMs 'pearson'; there are: corr, cosine, spearman, rho-a, tau-a
    """
    return _similarity(dissimilarity_named(dissimilarity), comparison_named(comparison))


@cache
def _similarity(dissimilarity: Dissimilarity, comparison: Comparison) -> Similarity:
    def by_pair(x: Any, y: Any, *, where: Any = None) -> Any:
        return rdm_similarity(x, y, where=where, method=comparison, dissimilarity=dissimilarity)

    default = comparison is COMPARISONS["spearman"] and dissimilarity is DISSIMILARITIES["correlation"]
    named = [name for name in METHODS if COMPARISONS[name] is comparison]
    by: dict[str, Any] = {} if default or not named else {"dissimilarity": dissimilarity, "method": named[0]}
    return Similarity(
        rdm_similarity if default else by_pair,
        min_stimuli=3,
        depends_on=dissimilarity.depends_on,
        ignores_zero_units=dissimilarity.ignores_zero_units,
        bootstraps=partial(rdm_bootstraps, **by) if named else None,
        influence=partial(rdm_similarity_and_influence, **by) if named else None,
        statistic=partial(rdm_statistic, **by) if named else None,
        permutations=partial(rdm_permutations, method=comparison, dissimilarity=dissimilarity),
        vector=None
        if comparison.factor is None
        else partial(rdm_vector, method=comparison, dissimilarity=dissimilarity),
        compares_pairs=True,
        in_shares=rdm_similarity_in_shares if default else None,
        varied_patterns=dissimilarity.varied_patterns,
    )
