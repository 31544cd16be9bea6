"""Comparisons of dissimilarity matrices (RDMs), each given as the vector of its pairs of stimuli.

Every comparison except Kendall's tau-a is an inner product of two vectors, each computed from one RDM. A single matrix
product therefore compares two sets of RDMs, and each RDM is ranked only once.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from bsjax.engine.precision import at_full_precision
from bsjax.engine.primitives.concordance import net_concordance
from bsjax.engine.primitives.ranks import ranks, ranks_of_pairs
from bsjax.metrics.numerics import deviations, divide_or_nan, unit_length
from bsjax.metrics.similarity.rdms.dissimilarities import entry_named
from bsjax.metrics.similarity.rdms.rdm_geometry import (
    bures_similarity,
    negative_riemannian_distance,
    whitened_vectors,
    whitened_vectors_by,
)

Rdms = Float[Array, "*batch m"]
PairMask = Bool[Array, "*batch m"]
Errors = Float[Array, "*batch n"]
"""Rounding errors of stimuli, see ``ranks``."""

# Least squared length of centred ranks between -1/2 and 1/2 if a single one differs from all others.
LEAST_SPREAD = 0.1


@dataclass(frozen=True)
class Comparison:
    """A comparison of RDMs, row by row of ``(..., pairs)``; it needs ``factor`` or ``compare``.

    Attributes:
        scaled: function from ``(x, where)`` to the scale of the comparison, e.g. ranks. Entries outside ``where`` are 0
            before and after.
        factor: function from ``(scaled, where)`` to vectors whose inner products are the comparison.
        compare: function from ``(x, x, where)`` to the comparisons of unscaled RDMs; for comparisons without such
            vectors, or faster than scaling each RDM. Without vectors, it must give the same result for scaled RDMs.
        ranked: whether the scale is that of ranks. ``scaled`` and ``compare`` then also take the rounding errors of the
            dissimilarities, see ``ranks`` and ``ranks_of_pairs``.
        best: upper bound of the mean comparison of an RDM with several others. ``"pool"``: their mean on the scale, as
            an RDM, attains it. ``"length"``: vectors have unit length, and the bound is the length of the mean vector.
            ``"majority"``: the comparison is the mean over pairs of dissimilarities of 1 where both RDMs order them
            alike and -1 where oppositely, and the bound orders each as most RDMs do. None: unknown.
        of_single_pairs: whether pairs are compared one by one, so that their order is of no importance, and stimuli can
            be weighted. Others need all pairs of the stimuli that count, in the order of ``rdm_pairs``.
        symmetric: whether the two RDMs can be exchanged.
        zero_by_chance: whether unrelated RDMs are compared as 0 on average.
    """

    scaled: Callable[..., Array] = lambda x, where: x
    factor: Callable[[Array, Array | None], Array] | None = None
    compare: Callable[..., Array] | None = None
    ranked: bool = False
    best: Literal["pool", "length", "majority"] | None = None
    of_single_pairs: bool = True
    symmetric: bool = True
    zero_by_chance: bool = True

    def __post_init__(self) -> None:
        if self.factor is None and self.compare is None:
            raise ValueError("a comparison of RDMs needs factor= or compare=")


Method = str | Comparison
"""A comparison, or the name of an entry of ``COMPARISONS``."""


def comparison_named(method: Method) -> Comparison:
    """Looks up a comparison in ``COMPARISONS``; a ``Comparison`` is returned as it is.

    Raises:
        ValueError: an unknown name; the message lists the known ones.

    Example:
        >>> comparison_named("tau-a").ranked
        True
    """
    return entry_named(method, Comparison, COMPARISONS, "comparison of RDMs")


@at_full_precision
def compare_rdm_vectors(
    a: Rdms, b: Rdms, *, method: Method = "spearman", where: PairMask | None = None
) -> Float[Array, "*batch"]:
    r"""Similarity of the RDMs in ``a`` to those in ``b``, row by row.

    ======== ======================================================================================================
    corr     Pearson correlation
    cosine   cosine of the angle between the vectors
    spearman Pearson correlation of the ranks, ties averaged
    rho-a    :math:`12 \sum_i (R_i - \bar R)(S_i - \bar S) / (m^3 - m)` of the ranks: Spearman's rho without correction
             for ties; a tie counts as a random order
    tau-a    Kendall's tau-a: (concordant - discordant) pairs of dissimilarities over all :math:`m (m - 1) / 2` pairs
    ======== ======================================================================================================

    Four take the RDM as a geometry, of squared distances with or without bias (``"sqeuclidean"``, ``"crossnobis"``):

    =============== ===============================================================================================
    whitened_corr   ``corr`` with the inverse covariance of dissimilarities that share stimuli as weights
    whitened_cosine ``cosine`` with these weights; about 0 for crossnobis of noise alone
    bures           :math:`\|A^{1/2} B^{1/2}\|_* / \sqrt{\mathrm{tr} A\, \mathrm{tr} B}` of the centred second moments
    neg_riemannian  minus the Riemannian distance of :math:`\alpha A + \beta I` from B, with the best
                    :math:`\alpha, \beta > 0`; at most 0, and not symmetric
    =============== ===============================================================================================

    Args:
        a, b: dissimilarities of the same pairs of stimuli, ``(..., pairs)``, as returned by ``rdm_pairs``.
        method: which comparison. Use ``"rho-a"`` or ``"tau-a"`` if some models predict ties (categories): the others
            favour such models over those that predict details.
        where: True where a pair counts; all if None.

    Returns:
        ``(...)`` in the dtype of the inputs, in [-1, 1], except for ``neg_riemannian``. NaN where a dissimilarity that
        counts is NaN, where fewer than two pairs count, and where an RDM is constant (for the cosine: zero). Exceptions
        are rho-a and tau-a, which are 0 for a constant RDM by definition. Comparisons of ranks are piecewise constant,
        with a zero gradient. The comparisons of geometries need all pairs of the stimuli that count, and are NaN
        otherwise; ``neg_riemannian`` also if B is not of full rank, as with fewer units than stimuli - 1.

    Source: Nili et al. 2014 (tau-a); Schütt et al. 2023 (rho-a); Diedrichsen et al. 2021 (whitened); Bures 1969;
    Shahbazi et al. 2021 (Riemannian).

    Example:
        >>> import jax.numpy as jnp
        >>> from bsjax.metrics import compiled
        >>> a, b = jnp.array([1.0, 2.0, 3.0, 4.0]), jnp.array([1.0, 1.0, 2.0, 2.0])
        >>> print(*(f"{compiled(compare_rdm_vectors, method=m)(a, b):.3f}" for m in ("corr", "rho-a", "tau-a")))
        0.894 0.800 0.667
    """
    (a, bad), (b, also_bad) = cleaned(a, where), cleaned(b, where)
    return jnp.where(bad | also_bad, jnp.nan, compare_complete(a, b, where, method))


def compare_complete(
    a: Rdms, b: Rdms, where: PairMask | None, method: Method, errors: tuple[Errors, Errors] | None = None
) -> Float[Array, "*batch"]:
    """``compare_rdm_vectors`` for RDMs without NaN; ``errors`` are the rounding errors of stimuli, see ``ranks``."""
    comparison = comparison_named(method)
    if comparison.compare is not None:
        return comparison.compare(a, b, where, *((errors,) if comparison.ranked else ()))
    of_a, of_b = errors or (None, None)
    return compare_scaled(scaled(a, where, method, of_a), scaled(b, where, method, of_b), where, method)


@at_full_precision
def compare_all_rdm_vectors(
    a: Float[Array, "k m"], b: Float[Array, "s m"], *, method: Method = "spearman"
) -> Float[Array, "k s"]:
    """``compare_rdm_vectors`` for every row of ``a`` with every row of ``b``, e.g. models with subjects.

    Args:
        a: ``(rdms, pairs)``.
        b: ``(others, pairs)``.
        method: as for ``compare_rdm_vectors``.

    Returns:
        ``(rdms, others)`` in the dtype of the inputs; NaN where ``compare_rdm_vectors`` is NaN.

    Source: Kriegeskorte, Mur & Bandettini 2008.

    Example:
        >>> import jax.numpy as jnp
        >>> from bsjax.metrics import compiled
        >>> models = jnp.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
        >>> print(compiled(compare_all_rdm_vectors)(models, models[:1]).round(3).ravel())
        [ 1. -1.]
    """
    (a, bad), (b, also_bad) = cleaned(a, None), cleaned(b, None)
    comparison = comparison_named(method)
    a, b = scaled(a, None, comparison), scaled(b, None, comparison)
    if comparison.factor is not None:
        result = jnp.clip(comparison.factor(a, None) @ comparison.factor(b, None).T, -1.0, 1.0)
    else:
        result = jax.vmap(lambda row: compare_scaled(jnp.broadcast_to(row, b.shape), b, None, comparison))(a)
    return jnp.where(bad[:, None] | also_bad[None, :], jnp.nan, result)


def scaled(x: Rdms, where: PairMask | None, method: Method, errors: Errors | None = None) -> Rdms:
    """RDMs on the scale of a comparison: standardised, of unit length, or ranked; 0 outside ``where``.

    ``rdm_noise_ceiling(pooling="matched")`` averages RDMs on this scale.
    """
    comparison = comparison_named(method)
    x = x if where is None else jnp.where(where, x, 0.0)
    return comparison.scaled(x, where, *((errors,) if comparison.ranked else ()))


def compare_scaled(a: Rdms, b: Rdms, where: PairMask | None, method: Method) -> Float[Array, "*batch"]:
    """``compare_rdm_vectors`` for RDMs that were ``scaled`` over the same pairs."""
    comparison = comparison_named(method)
    if comparison.factor is None:
        compare: Any = comparison.compare
        return compare(a, b, where)
    # An undefined side is NaN, which the gradient of a product would pass to the other side.
    (a, bad), (b, also_bad) = (cleaned(comparison.factor(x, where), None) for x in (a, b))
    return jnp.where(bad | also_bad, jnp.nan, jnp.clip(jnp.sum(a * b, axis=-1), -1.0, 1.0))


def _standardised(x: Array, where: Array | None) -> Array:
    return _unit_length(deviations(x, where, axis=-1).values)


def _whitened(x: Array, where: Array | None) -> Array:
    return _unit_length(whitened_vectors(x, where))


def whitened_by(method: str, sigma_k: Float[Array | np.ndarray, "*stimuli"]) -> Comparison:
    r"""A whitened comparison for noise whose covariance between stimuli is known.

    The cosine (of centred vectors for ``"whitened_corr"``) with :math:`V^{-1}` as weights, where

    .. math:: V = (C \Sigma_k C^T) \circ (C \Sigma_k C^T)

    is the covariance of squared distances between patterns with noise of covariance :math:`\Sigma_k` over stimuli; a
    row of C is the difference of two stimuli. It matters if stimuli have different numbers of trials, or were estimated
    by one regression. The identity gives the comparison without ``sigma_k``.

    Args:
        method: ``"whitened_cosine"`` or ``"whitened_corr"``.
        sigma_k: covariance ``(stimuli, stimuli)``, or variances ``(stimuli,)``; positive definite, on any scale. All of
            its stimuli must be in the RDMs, in its order.

    Returns:
        For ``method=`` of ``compare_rdm_vectors``; a NumPy array gives the same object every time. Comparisons are NaN
        if the covariance is singular.

    Raises:
        ValueError: another comparison, or another shape.

    Source: Diedrichsen et al. 2021, "Comparing representational geometries using whitened unbiased-distance-matrix
    similarity". Equal to rsatoolbox for a matrix; for a vector of variances, rsatoolbox centres without weights, which
    is not the inverse of V.

    Example:
        >>> a, b = jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 1.0, 2.0])
        >>> noisy_third = whitened_by("whitened_cosine", np.array([1.0, 1.0, 4.0]))
        >>> print(*(f"{compare_rdm_vectors(a, b, method=m):.3f}" for m in ("whitened_cosine", noisy_third)))
        0.968 0.964
    """
    if method not in ("whitened_cosine", "whitened_corr"):
        raise ValueError(f"sigma_k is for the comparisons whitened_cosine and whitened_corr, not for {method!r}")
    if sigma_k.ndim not in (1, 2) or len(set(sigma_k.shape)) > 1:
        raise ValueError(f"sigma_k must have the shape (stimuli,) or (stimuli, stimuli), got {sigma_k.shape}")
    if isinstance(sigma_k, np.ndarray):
        return _whitened_by_known(method, sigma_k.astype(float).tobytes(), sigma_k.shape)
    return _whitened_by(method, sigma_k)


@lru_cache(64)
def _whitened_by_known(method: str, values: bytes, shape: tuple[int, ...]) -> Comparison:
    return _whitened_by(method, np.frombuffer(values).reshape(shape))


def _whitened_by(method: str, sigma: Any) -> Comparison:
    named = COMPARISONS[method]

    def vector(x: Array, where: Array | None) -> Array:
        return _unit_length(whitened_vectors_by(named.scaled(x, where), where, sigma=jnp.asarray(sigma, x.dtype)))

    def compare(a: Array, b: Array, where: Array | None) -> Array:
        return jnp.clip(jnp.sum(vector(a, where) * vector(b, where), axis=-1), -1.0, 1.0)

    return replace(named, factor=None, compare=compare, best=None)


def _spearman(a: Array, b: Array, where: Array | None, errors: tuple[Array, Array] | None = None) -> Array:
    a, b = ranks_of_pairs(a, b, where, errors)
    where = None if where is None else a > 0
    return jnp.clip(jnp.sum(_by_own_spread(a, where) * _by_own_spread(b, where), axis=-1), -1.0, 1.0)


def _by_own_spread(x: Array, where: Array | None) -> Array:
    centred = _centred_ranks(x, where)
    squares = jnp.sum(centred**2, axis=-1, keepdims=True)
    constant = squares < LEAST_SPREAD
    return jnp.where(constant, jnp.nan, centred / jnp.sqrt(jnp.where(constant, 1.0, squares)))


def _by_spread_without_ties(x: Array, where: Array | None) -> Array:
    count = _count(x, where)
    undefined = count < 2.0
    length = jnp.sqrt(jnp.where(undefined, 1.0, (count - 1.0 / jnp.maximum(count, 1.0)) / 12.0))
    return jnp.where(undefined, jnp.nan, _centred_ranks(x, where) / length)


def _centred_ranks(x: Array, where: Array | None) -> Array:
    """Centred ranks, scaled to between -1/2 and 1/2: squared ranks of millions of pairs exceed float32 precision."""
    count = jnp.maximum(_count(x, where), 1.0)
    centred = x / count - 0.5 * (1.0 + 1.0 / count)
    return centred if where is None else jnp.where(where, centred, 0.0)


def _unit_length(x: Array) -> Array:
    return jnp.where(jnp.all(x == 0, axis=-1, keepdims=True), jnp.nan, unit_length(x))


def _count(x: Array, where: Array | None) -> Array:
    if where is None:
        return jnp.full_like(x[..., :1], x.shape[-1])
    return jnp.sum(where, axis=-1, keepdims=True).astype(x.dtype)


def cleaned(x: Array, where: Array | None) -> tuple[Array, Array]:
    """``x`` with 0 for NaN, and a mask of rows with a NaN that counts."""
    missing = jnp.isnan(x)
    bad = missing if where is None else missing & where
    return jnp.where(missing, 0.0, x), jnp.any(bad, axis=-1)


def _tau_a(a: Array, b: Array, where: Array | None, errors: tuple[Array, Array] | None = None) -> Array:
    where_all = jnp.ones(a.shape, bool) if where is None else where
    given = a, b, where_all, *(errors or ())
    signature = ",".join(["(m)"] * 3 + ["(n)"] * (len(given) - 3)) + "->()"
    of_one = jnp.vectorize(lambda a, b, where, *off: net_concordance(a, b, where, off or None), signature=signature)
    count = _count(a, where)[..., 0]
    return divide_or_nan(of_one(*given), count * (count - 1.0) / 2.0, count < 2)


COMPARISONS: dict[str, Comparison] = {
    "corr": Comparison(_standardised, factor=lambda x, where: x, best="length"),
    "cosine": Comparison(
        lambda x, where: _unit_length(x), factor=lambda x, where: x, best="length", zero_by_chance=False
    ),
    "spearman": Comparison(ranks, _by_own_spread, _spearman, ranked=True, best="length"),
    "rho-a": Comparison(ranks, _by_spread_without_ties, ranked=True, best="pool"),
    "tau-a": Comparison(ranks, compare=_tau_a, ranked=True, best="majority"),
    "whitened_corr": Comparison(_standardised, factor=_whitened, best="length", of_single_pairs=False),
    "whitened_cosine": Comparison(
        lambda x, where: _unit_length(x), factor=_whitened, best="length", of_single_pairs=False, zero_by_chance=False
    ),
    "bures": Comparison(compare=bures_similarity, of_single_pairs=False, zero_by_chance=False),
    "neg_riemannian": Comparison(
        compare=negative_riemannian_distance, of_single_pairs=False, symmetric=False, zero_by_chance=False
    ),
}
"""Comparisons by name, see ``compare_rdm_vectors``; an added entry is available wherever RDMs are compared."""
