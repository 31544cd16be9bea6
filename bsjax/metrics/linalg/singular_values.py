"""Functions of the singular values of a matrix, differentiable also for repeated and for zero singular values."""

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from bsjax.engine.precision import at_full_precision
from bsjax.engine.primitives.decompositions import singular_values, svd
from bsjax.engine.primitives.products import matmul_t, symmetric_product, transposed
from bsjax.engine.primitives.triangular import cholesky, solve_lower
from bsjax.engine.programs.fallbacks import with_fallback
from bsjax.engine.tolerances import WHITENED_POWER, rounding
from bsjax.metrics.arrays import Flag, Scalar
from bsjax.metrics.linalg.positive_definite import cholesky_if_well_posed
from bsjax.metrics.numerics import nonzero

Singular = Float[Array, " d"]


def polar_factor(x: Float[Array, "n p"], share: Scalar | float = 1.0) -> Float[Array, "n p"]:
    r"""The matrix with the same singular vectors, and singular values of 1: :math:`U V^T` of :math:`X = U S V^T`.

    Its columns span those of ``x``, or those of its leading components with the given ``share`` of the sum of squares.

    Example:
        >>> print(polar_factor(jnp.array([[3.0, 0.0], [0.0, 0.0], [0.0, 2.0]])).round(3))
        [[1. 0.]
         [0. 0.]
         [0. 1.]]
    """
    return singular_power(x, share, 0)


def singular_power(
    x: Float[Array, "n p"], share: Scalar | float, power: int, components: int | None = None, rcond: float | None = None
) -> Float[Array, "n p"]:
    r"""Replaces the leading singular values by a power of them, and the others by 0.

    The derivative is that at a fixed number of components.

    Args:
        x: any matrix.
        share: keep the leading components that are just enough for this share of the sum of squares; no derivative.
        power: 0 for the polar factor, 1 for the best approximation of low rank, -1 for its transposed pseudo-inverse.
        components: the largest number of components to keep; None for the rank.
        rcond: singular values of at most this share of the largest count as zero, which decides the rank; None for the
            rounding errors of a decomposition, ``eps * n``.

    Source: Higham 2008, "Functions of Matrices", chapter 8; Daleckii & Krein 1965 (derivatives).

    Example:
        >>> print(singular_power(jnp.array([[4.0, 0.0], [0.0, 2.0]]), 1.0, -1, components=1))
        [[0.25 0.  ]
         [0.   0.  ]]
    """
    found = _of_tall(_tall(x), jnp.asarray(share, x.dtype), power, components, rcond)
    return found if x.shape[0] >= x.shape[1] else found.T


@partial(jax.custom_jvp, nondiff_argnums=(2, 3, 4))
@at_full_precision
def _of_tall(x: Float[Array, "n d"], share: Scalar, power: int, components: int | None, rcond: float | None) -> Array:
    left, values, right = svd(x)
    return (left * _powers(values, _kept(values, share, components, len(x), rcond), power)[None]) @ right.T


@_of_tall.defjvp
@at_full_precision
def _of_tall_jvp(
    power: int, components: int | None, rcond: float | None, primals: tuple, tangents: tuple
) -> tuple[Array, Array]:
    (x, share), change = primals, tangents[0]
    left, values, right = svd(x)
    kept = _kept(values, share, components, len(x), rcond)
    powers = _powers(values, kept, power)
    inner = left.T @ change @ right
    s, t, f, g = values[:, None], values[None], powers[:, None], powers[None]
    both, either = kept[:, None] & kept[None], kept[:, None] | kept[None]
    mixed = either & ~both
    slopes = (f - g) / jnp.where(mixed, s - t, 1.0)
    # Of two that are kept, the divided difference of the power, without a difference that would cancel.
    exact = {0: jnp.zeros_like(f * g), 1: jnp.ones_like(f * g), -1: -f * g}[power]
    slopes = jnp.where(both, exact, jnp.where(mixed, slopes, 0.0))
    turns = jnp.where(either, (f + g) / nonzero(s + t), 0.0)
    turned = 0.5 * (slopes * (inner + inner.T) + turns * (inner - inner.T))
    beyond = (change @ right - left @ inner) * (powers / nonzero(values))[None]
    return (left * powers[None]) @ right.T, (left @ turned + beyond) @ right.T


@jax.custom_jvp
@at_full_precision
def orthonormal_basis(x: Float[Array, "n d"]) -> Float[Array, "n d"]:
    """An orthonormal basis of the columns, zeros in place of superfluous ones; up to a rotation, as for its derivative.

    Its columns span those of ``polar_factor``, which takes longer and is needed only where columns are dependent.

    Source: Yamamoto et al. 2015 (Cholesky factors, twice, for the accuracy of reflections).

    Example:
        >>> basis = orthonormal_basis(jnp.array([[3.0, 3.0], [0.0, 1.0], [4.0, 4.0]]))
        >>> print((basis.T @ basis).round(3))
        [[1. 0.]
         [0. 1.]]
    """
    if x.shape[1] >= x.shape[0]:
        return polar_factor(x)
    once, well_posed = _orthonormalised(x)
    return with_fallback(~well_posed, lambda: _orthonormalised(once)[0], lambda: polar_factor(x))


@orthonormal_basis.defjvp
def _basis_jvp(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    return jax.jvp(polar_factor, primals, tangents)


def _orthonormalised(x: Float[Array, "n d"]) -> tuple[Float[Array, "n d"], Flag]:
    """Columns divided by the Cholesky factor of their Gram matrix, and whether it is well-posed apart from zeros."""
    gram = x.T @ x
    squares = jnp.diagonal(gram)
    factor, well_posed = cholesky_if_well_posed(gram + jnp.diag(jnp.where(squares > 0, 0.0, jnp.max(squares))))
    return solve_lower(factor, x.T).T, well_posed


@jax.custom_jvp
@at_full_precision
def overlap_of_columns(x: Float[Array, "n p"], y: Float[Array, "n q"]) -> tuple[Scalar, Scalar]:
    r"""The nuclear norm of :math:`U_x^T U_y` for orthonormal bases of the columns of both, and the smaller rank.

    Well-conditioned columns need no bases: with the Cholesky factors of :math:`X^T X = L_x L_x^T`, the norm is that of
    :math:`L_x^{-1} X^T Y L_y^{-T}`, whose relative error is the rounding error times their squared condition number.

    Example:
        >>> x = jnp.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
        >>> print(*overlap_of_columns(x, 3.0 * x[:, :1]))
        1.0 1.0
    """
    if max(x.shape[1], y.shape[1]) >= len(x):
        return _by_bases(x, y)
    (one, few_x, fine_x), (other, few_y, fine_y) = map(_whitening, (x, y))

    def overlap() -> tuple[Scalar, Scalar]:
        return nuclear_norm(one @ matmul_t(x, y) @ other.T), jnp.minimum(few_x, few_y)

    return with_fallback(~(fine_x & fine_y), overlap, lambda: _by_bases(x, y))


@overlap_of_columns.defjvp
def _overlap_jvp(primals: tuple, tangents: tuple) -> tuple:
    return jax.jvp(_by_bases, primals, tangents)


def overlap_of_bases(one: Float[Array, "n p"], other: Float[Array, "n q"]) -> tuple[Scalar, Scalar]:
    """The nuclear norm of the inner products of two bases, with zeros for what they lack, and the smaller rank."""
    rank = jnp.round(jnp.minimum(jnp.sum(one**2), jnp.sum(other**2)))
    return nuclear_norm(one.T @ other), jax.lax.stop_gradient(rank)


def _by_bases(x: Float[Array, "n p"], y: Float[Array, "n q"]) -> tuple[Scalar, Scalar]:
    return overlap_of_bases(orthonormal_basis(x), orthonormal_basis(y))


def _whitening(x: Float[Array, "n d"]) -> tuple[Float[Array, "d d"], Scalar, Flag]:
    """The inverse Cholesky factor of the columns' inner products, how many are not zero, and whether it is accurate."""
    gram = symmetric_product(transposed(x))
    squares = jnp.diagonal(gram)
    gram = gram + jnp.diag(jnp.where(squares > 0, 0.0, jnp.max(squares)))
    inverse = solve_lower(cholesky(gram), jnp.eye(len(gram), dtype=x.dtype))
    # Frobenius norms bound the squared condition number of the columns, by which rounding errors grow.
    bound = jnp.sqrt(jnp.sum(gram**2) * jnp.sum(symmetric_product(transposed(inverse)) ** 2))
    fine = bound * rounding(x) < rounding(x, power=WHITENED_POWER)
    return jnp.where(fine, inverse, 0.0), jnp.sum(squares > 0).astype(x.dtype), fine


@jax.custom_jvp
@at_full_precision
def nuclear_norm(x: Float[Array, "p q"]) -> Scalar:
    """The sum of singular values; null directions have a zero derivative, which is one of the subgradients.

    Example:
        >>> print(nuclear_norm(jnp.array([[3.0, 0.0, 0.0], [0.0, -4.0, 0.0]])))
        7.0
    """
    return jnp.sum(singular_values(_tall(x)))


@nuclear_norm.defjvp
@at_full_precision
def _nuclear_jvp(primals: tuple, tangents: tuple) -> tuple[Scalar, Scalar]:
    left, values, right = svd(_tall(primals[0]))
    slopes = (left * _powers(values, _kept(values, 1.0, None, len(left)), 0)[None]) @ right.T
    return jnp.sum(values), jnp.sum(slopes * _tall(tangents[0]))


def _tall(x: Float[Array, "p q"]) -> Float[Array, "m d"]:
    return x if x.shape[0] >= x.shape[1] else x.T


def _powers(values: Singular, kept: Bool[Array, " d"], power: int) -> Singular:
    return jnp.where(kept, jnp.where(kept, values, 1.0) ** power, 0.0)


def _kept(
    values: Singular, share: Scalar | float, components: int | None, terms: int, rcond: float | None = None
) -> Bool[Array, " d"]:
    """Components that are not rounding errors, or above ``rcond``, and needed for the share of the sum of squares."""
    largest = jnp.max(values)
    powers = (values / nonzero(largest)) ** 2
    before = jnp.cumsum(powers) - powers
    needed = before < share * jnp.sum(powers) * (1.0 - rounding(values, terms))
    kept = (values > (rounding(values, terms) if rcond is None else rcond) * largest) & (needed | (share >= 1.0))
    return kept if components is None else kept & (jnp.arange(len(values)) < components)
