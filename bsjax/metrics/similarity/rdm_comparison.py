"""Comparisons of dissimilarity matrices (RDMs), each given as the vector of its pairs of stimuli.

Every comparison but Kendall's is an inner product of two vectors that depend on one RDM each, so that all comparisons
of two sets of RDMs are one matrix product, and an RDM is ranked once, whatever it is compared with.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from bsjax.engine.host_calls import host_call
from bsjax.engine.precision import at_full_precision
from bsjax.metrics.correlation import ranks
from bsjax.metrics.numerics import deviations, divide_or_nan

_LEAST_SPREAD = 0.1

# Rows of the matrix of signs of tau-a that are in memory at a time, away from CPU.
_SIGN_ROWS = 64


@dataclass(frozen=True)
class Comparison:
    """A comparison of RDMs, row by row of ``(..., pairs)``; it has ``factor`` or ``compare``.

    Attributes:
        scaled: ``(x, where)`` to the scale that the comparison sees, e.g. ranks; where False, ``x`` is 0, and stays so.
        factor: ``(scaled, where)`` to vectors whose inner products are the comparison, so that all comparisons of two
            sets of RDMs are one matrix product.
        compare: ``(scaled, scaled, where)`` to the comparisons, where there are no such vectors or a better way.
        ranked: whether the scale is that of ranks.
    """

    scaled: Callable[[Array, Array | None], Array] = lambda x, where: x
    factor: Callable[[Array, Array | None], Array] | None = None
    compare: Callable[[Array, Array, Array | None], Array] | None = None
    ranked: bool = False

    def __post_init__(self) -> None:
        if self.factor is None and self.compare is None:
            raise ValueError("a comparison of RDMs needs factor= or compare=")


def comparison_named(method: str | Comparison) -> Comparison:
    """An entry of ``COMPARISONS``.

    Raises:
        ValueError: there is none of this name; those that there are.

    Example:
        >>> comparison_named("tau-a").ranked
        True
    """
    if isinstance(method, Comparison):
        return method
    if method not in COMPARISONS:
        raise ValueError(f"unknown comparison of RDMs {method!r}; there are: {', '.join(COMPARISONS)}")
    return COMPARISONS[method]


@at_full_precision
def compare_rdm_vectors(
    a: Float[Array, "*batch m"],
    b: Float[Array, "*batch m"],
    *,
    method: str | Comparison = "spearman",
    where: Bool[Array, "*batch m"] | None = None,
) -> Float[Array, "*batch"]:
    r"""How similar the RDMs in ``a`` are to those in ``b``, row by row.

    ======== ======================================================================================================
    corr     Pearson correlation
    cosine   cosine of the angle between the vectors
    spearman Pearson correlation of the ranks, ties averaged
    rho-a    :math:`12 \sum_i (R_i - \bar R)(S_i - \bar S) / (m^3 - m)` of the ranks: Spearman's without its correction
             for ties, so that a tie counts like a random order
    tau-a    Kendall's: (concordant - discordant) pairs of dissimilarities over all :math:`m (m - 1) / 2` pairs
    ======== ======================================================================================================

    Args:
        a, b: dissimilarities of the same pairs of stimuli, ``(..., pairs)``, as ``rdm_pairs`` gives them.
        method: which comparison. ``"rho-a"`` and ``"tau-a"`` are for models that predict ties (categories): the others
            favour them over models that predict the detail.
        where: True where a pair counts; all if None.

    Returns:
        ``(...)`` in the dtype of the inputs, in [-1, 1]. NaN where a dissimilarity that counts is NaN, where fewer than
        two pairs count, and where an RDM is constant (for the cosine: zero), save for rho-a and tau-a, by whose
        definition a constant RDM has 0. Comparisons of ranks are piecewise constant: their gradient is zero.

    Source: Nili et al. 2014 (tau-a); Schütt et al. 2023 (rho-a).

    Example:
        >>> import jax.numpy as jnp
        >>> from bsjax.metrics import compiled
        >>> a, b = jnp.array([1.0, 2.0, 3.0, 4.0]), jnp.array([1.0, 1.0, 2.0, 2.0])
        >>> print(*(f"{compiled(compare_rdm_vectors, method=m)(a, b):.3f}" for m in ("corr", "rho-a", "tau-a")))
        0.894 0.800 0.667
    """
    (a, bad), (b, also_bad) = _cleaned(a, where), _cleaned(b, where)
    result = compare_scaled(scaled(a, where, method), scaled(b, where, method), where, method)
    return jnp.where(bad | also_bad, jnp.nan, result)


@at_full_precision
def compare_all_rdm_vectors(
    a: Float[Array, "k m"], b: Float[Array, "s m"], *, method: str | Comparison = "spearman"
) -> Float[Array, "k s"]:
    """``compare_rdm_vectors`` of every row of ``a`` with every row of ``b``, e.g. of models with subjects.

    Example:
        >>> import jax.numpy as jnp
        >>> from bsjax.metrics import compiled
        >>> models = jnp.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
        >>> print(compiled(compare_all_rdm_vectors)(models, models[:1]).round(3).ravel())
        [ 1. -1.]
    """
    (a, bad), (b, also_bad) = _cleaned(a, None), _cleaned(b, None)
    comparison = comparison_named(method)
    a, b = scaled(a, None, comparison), scaled(b, None, comparison)
    if comparison.factor is not None:
        result = jnp.clip(comparison.factor(a, None) @ comparison.factor(b, None).T, -1.0, 1.0)
    else:
        result = jax.vmap(lambda row: compare_scaled(jnp.broadcast_to(row, b.shape), b, None, comparison))(a)
    return jnp.where(bad[:, None] | also_bad[None, :], jnp.nan, result)


def scaled(
    x: Float[Array, "*batch m"], where: Bool[Array, "*batch m"] | None, method: str | Comparison
) -> Float[Array, "*batch m"]:
    """The RDMs on the scale that a comparison sees: standardised, of unit length, or ranked; 0 what does not count.

    The mean of several RDMs on this scale is the RDM that is most similar to all of them.
    """
    return comparison_named(method).scaled(x if where is None else jnp.where(where, x, 0.0), where)


def compare_scaled(
    a: Float[Array, "*batch m"],
    b: Float[Array, "*batch m"],
    where: Bool[Array, "*batch m"] | None,
    method: str | Comparison,
) -> Float[Array, "*batch"]:
    """``compare_rdm_vectors`` of RDMs that ``scaled`` has brought to scale over the same pairs."""
    comparison = comparison_named(method)
    if comparison.compare is not None:
        return comparison.compare(a, b, where)
    factor: Any = comparison.factor
    return jnp.clip(jnp.sum(factor(a, where) * factor(b, where), axis=-1), -1.0, 1.0)


def _standardised(x: Array, where: Array | None) -> Array:
    return _unit_length(deviations(x, where, axis=-1).values)


def _ranked(x: Array, where: Array | None) -> Array:
    if where is None:
        return ranks(x)
    # What does not count sorts behind everything, so that it moves no rank that counts.
    return jnp.where(where, ranks(jnp.where(where, x, jnp.inf)), 0.0)


def _spearman(a: Array, b: Array, where: Array | None) -> Array:
    # Sums of products of what is cheap to compute anew: millions of centred ranks are then in no memory.
    a, b = _centred_ranks(a, where), _centred_ranks(b, where)
    lengths, undefined = zip(*(_length_of_ranks(jnp.sum(side**2, axis=-1)) for side in (a, b)), strict=True)
    r = jnp.sum(a * b, axis=-1) / (lengths[0] * lengths[1])
    return jnp.where(undefined[0] | undefined[1], jnp.nan, jnp.clip(r, -1.0, 1.0))


def _by_own_spread(x: Array, where: Array | None) -> Array:
    centred = _centred_ranks(x, where)
    length, undefined = _length_of_ranks(jnp.sum(centred**2, axis=-1, keepdims=True))
    return jnp.where(undefined, jnp.nan, centred / length)


def _by_spread_without_ties(x: Array, where: Array | None) -> Array:
    count = _count(x, where)
    undefined = count < 2.0
    length = jnp.sqrt(jnp.where(undefined, 1.0, (count - 1.0 / jnp.maximum(count, 1.0)) / 12.0))
    return jnp.where(undefined, jnp.nan, _centred_ranks(x, where) / length)


def _centred_ranks(x: Array, where: Array | None) -> Array:
    """Ranks without their mean, which is known, between -1/2 and 1/2: squares of millions have no digits in float32."""
    count = jnp.maximum(_count(x, where), 1.0)
    centred = x / count - 0.5 * (1.0 + 1.0 / count)
    return centred if where is None else jnp.where(where, centred, 0.0)


def _length_of_ranks(squares: Array) -> tuple[Array, Array]:
    """The length of centred ranks from their sum of squares, and whether they are constant."""
    # A single rank that differs from all others makes the sum 1/8 or more.
    constant = squares < _LEAST_SPREAD
    return jnp.sqrt(jnp.where(constant, 1.0, squares)), constant


def _unit_length(x: Array) -> Array:
    # Large dissimilarities are scaled first: their squares may overflow in float32.
    largest = jnp.max(jnp.abs(x), axis=-1, keepdims=True)
    zero = largest == 0
    x = x / jax.lax.stop_gradient(jnp.where(zero, 1.0, largest))
    squares = jnp.sum(x**2, axis=-1, keepdims=True)
    length = jnp.sqrt(jnp.where(zero, 1.0, squares)) + jnp.zeros_like(x)
    return divide_or_nan(x, length, zero & jnp.ones(x.shape, bool))


def _count(x: Array, where: Array | None) -> Array:
    if where is None:
        return jnp.full_like(x[..., :1], x.shape[-1])
    return jnp.sum(where, axis=-1, keepdims=True).astype(x.dtype)


def _cleaned(x: Array, where: Array | None) -> tuple[Array, Array]:
    """``x`` with 0 for NaN, and which rows held a NaN that counts."""
    missing = jnp.isnan(x)
    bad = missing if where is None else missing & where
    return jnp.where(missing, 0.0, x), jnp.any(bad, axis=-1)


def _tau_a(a: Array, b: Array, where: Array | None) -> Array:
    """Kendall's tau-a of ranks, row by row. On CPU sorting counts the pairs, in O(m log m); elsewhere all signs do."""
    # Twice a rank is a whole number, and a host call takes 32 bits an element.
    codes = [jax.lax.stop_gradient(2.0 * x).astype(jnp.int32) for x in (a, b)]
    where = jnp.ones(a.shape, bool) if where is None else where
    net = jnp.vectorize(_concordance, excluded=(3,), signature="(m),(m),(m)->()")(*codes, where, a.dtype)
    count = _count(a, where)[..., 0]
    return divide_or_nan(net, count * (count - 1.0) / 2.0, count < 2)


def _concordance(a: Array, b: Array, where: Array, dtype: np.dtype) -> Array:
    def on_host(a: Array, b: Array, where: Array) -> Array:
        # A 64-bit count leaves the host call as two 32-bit halves.
        halves = host_call(_scipy_concordances, a, b, where, shape=(2,), dtype=np.int32)
        return halves[0].astype(dtype) * 2.0**31 + halves[1].astype(dtype)

    def by_signs(a: Int[Array, " m"], b: Int[Array, " m"], where: Bool[Array, " m"]) -> Array:
        def of_one(row: tuple[Array, Array, Array]) -> Array:
            signs = jnp.sign(row[0] - a) * jnp.sign(row[1] - b)
            return jnp.sum(jnp.where(where & row[2], signs, 0)).astype(dtype)

        return jnp.sum(jax.lax.map(of_one, (a, b, where), batch_size=_SIGN_ROWS)) / 2.0

    return jax.lax.platform_dependent(a, b, where, cpu=on_host, default=by_signs)


def _scipy_concordances(a: np.ndarray, b: np.ndarray, where: np.ndarray) -> np.ndarray:
    """Concordant minus discordant pairs of every two vectors, as (high, low 31 bits)."""
    rows = [x.reshape(-1, x.shape[-1]) for x in (a, b, where)]
    net = np.array([_scipy_concordance(p[kept], q[kept]) for p, q, kept in zip(*rows, strict=True)], np.int64)
    halves = np.stack([net >> 31, net & (2**31 - 1)], axis=-1)
    return halves.astype(np.int32).reshape(*a.shape[:-1], 2)


def _scipy_concordance(a: np.ndarray, b: np.ndarray) -> int:
    """The same of two vectors."""
    from scipy.stats import kendalltau  # when it is needed: it takes as long to import as all of the kernels

    untied = np.sqrt(float(_untied(a))) * np.sqrt(float(_untied(b)))
    # SciPy gives tau-b, which divides by the pairs that are untied; where all are tied, nothing is concordant.
    result: Any = kendalltau(a, b, method="asymptotic") if untied > 0 else None
    return 0 if result is None else round(result.statistic * untied)


def _untied(x: np.ndarray) -> int:
    counts = np.unique(x, return_counts=True)[1]
    return (len(x) * (len(x) - 1) - int((counts * (counts - 1)).sum())) // 2


COMPARISONS: dict[str, Comparison] = {
    "corr": Comparison(_standardised, factor=lambda x, where: x),
    "cosine": Comparison(lambda x, where: _unit_length(x), factor=lambda x, where: x),
    "spearman": Comparison(_ranked, _by_own_spread, _spearman, ranked=True),
    "rho-a": Comparison(_ranked, _by_spread_without_ties, ranked=True),
    "tau-a": Comparison(_ranked, compare=_tau_a, ranked=True),
}
"""See ``compare_rdm_vectors``; another entry is another comparison for all that compare RDMs."""
