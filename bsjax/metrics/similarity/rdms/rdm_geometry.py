"""Comparisons of RDMs as geometries: whitened vectors, and second-moment matrices (Bures, Riemannian).

They take all pairs of the stimuli that count; the result is NaN if one of these pairs does not count.
"""

import math
from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from bsjax.engine.precision import at_full_precision
from bsjax.engine.primitives.row_pairs import matrix_of_pairs, numbers_of_pairs
from bsjax.engine.primitives.triangular import solve_lower
from bsjax.metrics.arrays import Mask, Scalar
from bsjax.metrics.linalg.positive_definite import cholesky_if_well_posed
from bsjax.metrics.linalg.semidefinite import semidefinite_root
from bsjax.metrics.linalg.singular_values import nuclear_norm
from bsjax.metrics.numerics import divide_or_nan, nonzero, safe_sqrt

Pairs = Float[Array, "*batch m"]
PairMask = Bool[Array, "*batch m"]
SecondMoments = Float[Array, "n n"]

# Logarithms of the weight of the identity that are tried first for the Riemannian distance, and number of refinements.
_LEAST, _MOST, _TRIED, _REFINED = -16.0, 16.0, 33, 40
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


def _row_by_row(function: Callable[..., Array], out: str) -> Callable[..., Array]:
    """A function of RDMs ``(m,)`` and a mask of pairs as one of batches, where the mask may be None."""

    def of_batches(first: Array, *rest: Array | None) -> Array:
        *others, where = rest
        where = jnp.ones(first.shape, bool) if where is None else where
        each = ",".join(["(m)"] * (len(rest) + 1))
        return jnp.vectorize(function, signature=f"{each}->{out}")(first, *others, where)

    return of_batches


def _stimuli(where: Bool[Array, " m"]) -> tuple[Mask, Bool[Array, ""]]:
    """The stimuli of the pairs that count, and whether all pairs of these count."""
    n = (1 + math.isqrt(1 + 8 * len(where))) // 2
    left, right = numbers_of_pairs(n)
    seen = jnp.zeros(n, bool).at[left].max(where).at[right].max(where)
    return seen, jnp.all(where == (seen[left] & seen[right]))


@at_full_precision
def _whitened(x: Float[Array, " m"], where: Bool[Array, " m"]) -> Float[Array, " m"]:
    """Dissimilarities times a root of the inverse of their covariance, up to a factor."""
    # Squared distances between n patterns with independent noise of equal variance have the covariance (C C^T)^2
    # (elementwise), where a row of C is the difference of two patterns. It has three eigenspaces: the mean of all
    # pairs, the means of the pairs of each stimulus, and the rest. The roots of its inverse are in the proportions
    # 1 / sqrt(n), sqrt(2 / n) and 1.
    seen, complete = _stimuli(where)
    left, right = numbers_of_pairs(len(seen))
    n = jnp.sum(seen).astype(x.dtype)
    x = jnp.where(where, x, 0.0)
    mean = jnp.sum(x) / nonzero(n * (n - 1.0) / 2.0)
    off = jnp.where(where, x - mean, 0.0)
    of_stimuli = jnp.zeros(len(seen), x.dtype).at[left].add(off).at[right].add(off) / nonzero(n - 2.0)
    n = nonzero(n)
    off = off + (jnp.sqrt(2.0 / n) - 1.0) * (of_stimuli[left] + of_stimuli[right])
    found = jnp.where(where, off + mean / jnp.sqrt(n), 0.0)
    return jnp.where(complete, found, jnp.nan)


@at_full_precision
def _whitened_by(sigma: Float[Array, "n n"], x: Float[Array, " m"], where: Bool[Array, " m"]) -> Float[Array, " k"]:
    """Dissimilarities times a root of the inverse of their covariance, for noise with any covariance of stimuli."""
    # The covariance of squared distances is the elementwise square of C sigma C^T, and products by its inverse are
    # tr(W A W B) of the second moments A = -D / 2, where W is the inverse of sigma, centred by its own weights. No pair
    # of stimuli is left out.
    seen, complete = _stimuli(where)
    if len(seen) != len(sigma):
        raise ValueError(
            f"sigma_k is the covariance of {len(sigma)} stimuli, and {len(seen)} are compared: it takes all of its "
            "stimuli at once, without subsets of them"
        )
    apart = jnp.eye(len(seen), dtype=x.dtype)
    factor, well_posed = cholesky_if_well_posed(jnp.where(seen[:, None] & seen[None], sigma.astype(x.dtype), apart))
    moments = solve_lower(factor, solve_lower(factor, matrix_of_pairs(jnp.where(where, -0.5 * x, 0.0))).T)
    of_mean = solve_lower(factor, seen.astype(x.dtype)[:, None])
    of_mean = of_mean / jnp.sqrt(nonzero(jnp.sum(of_mean**2)))
    centring = apart - of_mean @ of_mean.T
    found = (centring @ moments @ centring).ravel()
    return jnp.where(complete & well_posed, found, jnp.nan)


def whitened_vectors_by(
    x: Pairs, where: PairMask | None, *, sigma: Float[Array, "*stimuli"]
) -> Float[Array, "*batch k"]:
    """RDMs to vectors whose cosine is the whitened cosine, for noise with a covariance of stimuli."""
    return _row_by_row(partial(_whitened_by, jnp.diag(sigma) if sigma.ndim == 1 else sigma), "(k)")(x, where)


def _second_moments(x: Float[Array, " m"], seen: Mask) -> tuple[SecondMoments, SecondMoments, Scalar]:
    """The centred second moments of patterns with these squared distances, the centring matrix, and the mean trace."""
    counted = seen.astype(x.dtype)
    size = jnp.sum(counted)
    centring = jnp.diag(counted) - counted[:, None] * counted[None] / nonzero(size)
    moments = centring @ matrix_of_pairs(-0.5 * x) @ centring
    moments = 0.5 * (moments + moments.T)
    return moments, centring, jnp.trace(moments) / nonzero(size - 1.0)


@at_full_precision
def _bures(a: Float[Array, " m"], b: Float[Array, " m"], where: Bool[Array, " m"]) -> Scalar:
    seen, complete = _stimuli(where)
    (a, _, of_a), (b, _, of_b) = (_second_moments(jnp.where(where, x, 0.0), seen) for x in (a, b))
    size = jnp.sum(seen).astype(a.dtype)
    undefined = ~((of_a > 0) & (of_b > 0)) | ~complete
    overlap = nuclear_norm(semidefinite_root(a) @ semidefinite_root(b)) / nonzero(size - 1.0)
    return divide_or_nan(overlap, safe_sqrt(of_a * of_b), undefined)


@at_full_precision
def _riemannian(a: Float[Array, " m"], b: Float[Array, " m"], where: Bool[Array, " m"]) -> Scalar:
    seen, complete = _stimuli(where)
    (a, centring, of_a), (b, _, of_b) = (_second_moments(jnp.where(where, x, 0.0), seen) for x in (a, b))
    size = jnp.sum(seen).astype(a.dtype)
    # Directions that are centred away get the eigenvalue 1, whose logarithm is zero.
    rest = jnp.eye(len(a), dtype=a.dtype) - centring
    factor, well_posed = cholesky_if_well_posed(b / nonzero(of_b) + rest)

    def relative(matrix: SecondMoments) -> SecondMoments:
        return solve_lower(factor, solve_lower(factor, matrix).T)

    model, one, outside = relative(a / nonzero(of_a)), relative(centring), relative(rest)

    def spread(weight: Scalar) -> Scalar:
        """Squared distance for the best scale of the weighted sum."""
        added = jnp.exp(weight)
        # The mean, as the best scale is free: eigenvalues stay near those of the directions that are centred away.
        values = jnp.linalg.eigvalsh((model + added * one) / (1.0 + added) + outside)
        logs = jnp.log(nonzero(values))
        squares = jnp.sum(logs**2) - jnp.sum(logs) ** 2 / nonzero(size - 1.0)
        return jnp.where(jnp.all(values > 0), squares, jnp.inf)

    def refined(_: Array, ends: Float[Array, "2"]) -> Float[Array, "2"]:
        low, high = ends[::-1] + _GOLDEN * (ends - ends[::-1])
        smaller = spread(low) < spread(high)
        return jnp.where(smaller, jnp.stack([ends[0], high]), jnp.stack([low, ends[1]]))

    # At the best weight its derivative is zero, so it needs no gradient.
    tried = jnp.linspace(_LEAST, _MOST, _TRIED, dtype=a.dtype)
    best = tried[jnp.argmin(jax.lax.map(spread, tried))]
    step = tried[1] - tried[0]
    ends = jax.lax.fori_loop(0, _REFINED, refined, jnp.stack([best - step, best + step]))
    squares = spread(jax.lax.stop_gradient(jnp.mean(ends)))
    undefined = ~(well_posed & complete & (of_a > 0) & (of_b > 0) & jnp.isfinite(squares))
    return jnp.where(undefined, jnp.nan, -safe_sqrt(jnp.where(undefined, 0.0, squares)))


whitened_vectors = _row_by_row(_whitened, "(m)")
"""RDMs and a mask of pairs to whitened vectors, whose cosine is the whitened cosine of the RDMs."""
bures_similarity = _row_by_row(_bures, "()")
"""Two RDMs and a mask of pairs to their Bures similarity; negative eigenvalues count as zero."""
negative_riemannian_distance = _row_by_row(_riemannian, "()")
"""Two RDMs and a mask of pairs to their negative Riemannian distance, with the first scaled and lifted to fit best."""
