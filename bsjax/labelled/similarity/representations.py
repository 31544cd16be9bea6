"""Similarities of whole representations besides CKA and RDMs, as metrics of two assemblies."""

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, Literal

from bsjax import metrics
from bsjax.labelled.settings import finite_number, proportion, whole_number
from bsjax.labelled.similarity.representational import RepresentationalSimilarity
from bsjax.metrics.similarity.similarity import Similarity

SimilarityError = Literal["jackknife", "bootstrap"]

# Properties of similarities that count units or match them, and of those by pairs of stimuli.
_BY_UNIT = {"depends_on": "features", "ignores_zero_units": False, "ignores_means": True}
_BY_PAIRS = {"depends_on": "features", "compares_pairs": True}


def _metric(
    identifier: str,
    kernel: Callable[..., Any],
    how: tuple[SimilarityError | None, str | None, int],
    settings: Mapping[str, Any] | None = None,
    **properties: Any,
) -> RepresentationalSimilarity:
    """A metric of a kernel with these settings, properties of a ``Similarity``, and error, dtype and draws."""
    settings = dict(settings or {})
    similarity = _similarity(kernel, tuple(settings.items()), tuple(properties.items()))
    return RepresentationalSimilarity(similarity, identifier, *how, settings=settings)


@cache
def _similarity(
    kernel: Callable[..., Any], settings: tuple[tuple[str, Any], ...], properties: tuple[tuple[str, Any], ...]
) -> Similarity:
    """The same object for equal settings, so that its programs are compiled once."""
    defaults = {"min_stimuli": 3, "depends_on": "inner products", "ignores_zero_units": True, "zero_by_chance": False}
    made: Any = partial(kernel, **dict(settings)) if settings else kernel
    return Similarity(made, ignores_scale=True, **defaults | dict(properties))


def procrustes(
    error: SimilarityError | None = None, dtype: str | None = None, n_bootstraps: int = 200
) -> RepresentationalSimilarity:
    """Cosine of the angle between two representations after the best rotation; see ``bsjax.metrics.shape_similarity``.

    Args:
        error: ``"jackknife"`` or ``"bootstrap"`` for a standard error over stimuli, see
            :class:`~bsjax.labelled.similarity.representational.RepresentationalSimilarity`; None for none.
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.
        n_bootstraps: number of draws of the bootstrap.
    """
    return _metric("procrustes", metrics.shape_similarity, (error, dtype, n_bootstraps))


def shape(
    alpha: float = 0.5, error: SimilarityError | None = None, dtype: str | None = None, n_bootstraps: int = 200
) -> RepresentationalSimilarity:
    """Procrustes similarity of partly whitened responses; see ``bsjax.metrics.shape_similarity``.

    Args:
        alpha: from 0 (whitened: any linear map is allowed) to 1 (a rotation).
        error, dtype, n_bootstraps: as for ``procrustes``.
    """
    return _metric(
        "shape", metrics.shape_similarity, (error, dtype, n_bootstraps), {"alpha": proportion(alpha, "alpha")}
    )


def permutation_shape(
    error: SimilarityError | None = None, dtype: str | None = None, n_bootstraps: int = 200
) -> RepresentationalSimilarity:
    """Cosine of the angle after the best permutation of units; see ``bsjax.metrics.permutation_shape_similarity``.

    Settings as for ``procrustes``.
    """
    kernel = metrics.permutation_shape_similarity
    return _metric("permutation_shape", kernel, (error, dtype, n_bootstraps), **_BY_UNIT)


def cca(
    error: SimilarityError | None = None, dtype: str | None = None, n_bootstraps: int = 200
) -> RepresentationalSimilarity:
    """Mean canonical correlation; see ``bsjax.metrics.cca``. Settings as for ``procrustes``."""
    return _metric("cca", metrics.cca, (error, dtype, n_bootstraps))


def svcca(
    variance: float = 0.99, error: SimilarityError | None = None, dtype: str | None = None, n_bootstraps: int = 200
) -> RepresentationalSimilarity:
    """Mean canonical correlation of the leading principal components; see ``bsjax.metrics.cca``.

    Args:
        variance: the share of the variance of each side that its components must have.
        error, dtype, n_bootstraps: as for ``procrustes``.
    """
    return _metric("svcca", metrics.cca, (error, dtype, n_bootstraps), {"variance": proportion(variance, "variance")})


def pwcca(
    error: SimilarityError | None = None, dtype: str | None = None, n_bootstraps: int = 200
) -> RepresentationalSimilarity:
    """Canonical correlations, weighted by their part in the source; see ``bsjax.metrics.pwcca``.

    Settings as for ``procrustes``.
    """
    how = error, dtype, n_bootstraps
    return _metric("pwcca", metrics.pwcca, how, depends_on="features", ignores_means=True, symmetric=False)


def mutual_nearest_neighbours(
    k: int = 10,
    cosine: bool = True,
    error: Literal["jackknife"] | None = None,
    dtype: str | None = None,
    n_bootstraps: int = 200,
) -> RepresentationalSimilarity:
    """Share of nearest neighbours in common; see ``bsjax.metrics.mutual_nearest_neighbours``.

    Args:
        k: number of neighbours.
        cosine: whether patterns are scaled to unit length.
        error: ``"jackknife"`` for a standard error over stimuli; None for none. Stimuli are not drawn with
            replacement, because copies of a stimulus would be neighbours.
        dtype, n_bootstraps: as for ``procrustes``.
    """
    settings = {"k": whole_number(k, "k", 1), "cosine": bool(cosine)}
    kernel = metrics.mutual_nearest_neighbours
    return _metric(
        "mutual_nearest_neighbours", kernel, (error, dtype, n_bootstraps), settings, min_stimuli=k + 1, **_BY_PAIRS
    )


def cknna(
    k: int = 10, error: Literal["jackknife"] | None = None, dtype: str | None = None, n_bootstraps: int = 200
) -> RepresentationalSimilarity:
    """Unbiased CKA of nearest neighbours; see ``bsjax.metrics.cknna``.

    Args:
        k: number of neighbours.
        error, dtype, n_bootstraps: as for ``mutual_nearest_neighbours``.
    """
    settings = {"k": whole_number(k, "k", 1)}
    return _metric(
        "cknna", metrics.cknna, (error, dtype, n_bootstraps), settings, min_stimuli=max(k + 1, 4), **_BY_PAIRS
    )


def kernel_cka(
    kernel: Literal["rbf", "laplacian"] = "rbf",
    bandwidth: float = 1.0,
    unbiased: bool = True,
    error: SimilarityError | None = None,
    dtype: str | None = None,
    n_bootstraps: int = 200,
) -> RepresentationalSimilarity:
    """CKA with a kernel of distances; see ``bsjax.metrics.kernel_cka``.

    Args:
        kernel: ``"rbf"`` or ``"laplacian"``.
        bandwidth: in root-mean-square distances between stimuli.
        unbiased: which estimator of HSIC.
        error, dtype, n_bootstraps: as for ``procrustes``.
    """
    settings = {"kernel": kernel, "bandwidth": finite_number(bandwidth, "bandwidth"), "unbiased": bool(unbiased)}
    return _metric(
        "kernel_cka",
        metrics.kernel_cka,
        (error, dtype, n_bootstraps),
        settings,
        min_stimuli=4,
        zero_by_chance=bool(unbiased),
    )


def cka_of_sampled_units(
    error: SimilarityError | None = None, dtype: str | None = None, n_bootstraps: int = 200
) -> RepresentationalSimilarity:
    """Linear CKA corrected for the number of recorded units; see ``bsjax.metrics.cka_of_sampled_units``.

    Its intervals over neuroids are too narrow, because draws hold copies of units, which agree with one another.
    Settings as for ``procrustes``.
    """
    of = metrics.cka_of_sampled_units
    return _metric(
        "cka_of_sampled_units", of, (error, dtype, n_bootstraps), min_stimuli=4, zero_by_chance=True, **_BY_UNIT
    )


def one_to_one(
    error: SimilarityError | None = None, dtype: str | None = None, n_bootstraps: int = 200
) -> RepresentationalSimilarity:
    """Mean correlation of units matched one to one; see ``bsjax.metrics.one_to_one``.

    Settings as for ``procrustes``.
    """
    return _metric("one_to_one", metrics.one_to_one, (error, dtype, n_bootstraps), **_BY_UNIT)


def soft_matching(
    error: SimilarityError | None = None, dtype: str | None = None, n_bootstraps: int = 200
) -> RepresentationalSimilarity:
    """Mean correlation of units matched by optimal transport; see ``bsjax.metrics.soft_matching``.

    Settings as for ``procrustes``.
    """
    return _metric("soft_matching", metrics.soft_matching, (error, dtype, n_bootstraps), **_BY_UNIT)


def semi_matching(
    error: SimilarityError | None = None, dtype: str | None = None, n_bootstraps: int = 200
) -> RepresentationalSimilarity:
    """Mean correlation of each neuroid with the best unit of the source; see ``bsjax.metrics.semi_matching``.

    Settings as for ``procrustes``.
    """
    return _metric("semi_matching", metrics.semi_matching, (error, dtype, n_bootstraps), symmetric=False, **_BY_UNIT)
