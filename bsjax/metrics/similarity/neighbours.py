"""Similarities of representations by the nearest neighbours of each stimulus."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from bsjax.engine.precision import at_full_precision
from bsjax.metrics.arrays import Features, Flag, Mask, Scalar, Targets
from bsjax.metrics.numerics import deviations, divide_or_nan, unit_length
from bsjax.metrics.similarity.cka import SIDES, cka_ratio, unbiased_hsic


@at_full_precision
def mutual_nearest_neighbours(
    x: Features, y: Targets, *, k: int = 10, cosine: bool = True, where: Mask | None = None
) -> Scalar:
    r"""Share of the ``k`` nearest neighbours of a stimulus that both representations have in common, over all stimuli.

    .. math:: \frac{1}{n} \sum_i \frac{|N_k^x(i) \cap N_k^y(i)|}{k}

    Neighbours have the largest cosine similarity, or inner product, of response patterns. Unrelated representations
    score :math:`k / (n - 1)`. Of equally similar neighbours the first ones count. The gradient is zero.

    Args:
        x: responses ``(stimuli, units)``.
        y: responses ``(stimuli, units)`` to the same stimuli in the same order; units may differ in number.
        k: number of neighbours.
        cosine: whether patterns are scaled to unit length.
        where: True where a stimulus counts; all if None.

    Returns:
        A scalar from 0 to 1 in the dtype of the inputs; NaN where a side is constant over stimuli, or for fewer than
        ``k + 1`` stimuli.

    Source: Huh et al. 2024, "The Platonic Representation Hypothesis".

    Example:
        >>> x = jnp.array([[0.0, 1.0], [0.1, 1.0], [1.0, 0.0], [1.0, 0.1]])
        >>> print(mutual_nearest_neighbours(x, x[:, ::-1], k=1))
        1.0
    """
    n = _counted(x, where)
    grams = [_gram(side, cosine) for side in (x, y)]
    near_x, near_y = (_nearest(gram, k, where) for gram in grams)
    shared = jnp.sum(near_x & near_y).astype(x.dtype)
    return divide_or_nan(shared, k * n, _undefined((x, y), where, n, k + 1))


@at_full_precision
def cknna(x: Features, y: Targets, *, k: int = 10, where: Mask | None = None) -> Scalar:
    r"""Centred kernel nearest-neighbour alignment: unbiased CKA of the entries of both nearest neighbours.

    The Gram matrix of each side, of patterns of unit length, keeps the entries :math:`K_{ij}` for which :math:`j` is
    among the ``k`` nearest neighbours of :math:`i` on both sides; for the HSIC of a side with itself, on that side.
    With ``k = n - 1`` it is the unbiased CKA of these patterns. It is differentiable where no neighbours change.

    Args:
        x: responses ``(stimuli, units)``.
        y: responses ``(stimuli, units)`` to the same stimuli in the same order; units may differ in number.
        k: number of neighbours.
        where: True where a stimulus counts; all if None.

    Returns:
        A scalar in the dtype of the inputs; NaN where a side is constant over stimuli, for fewer than 4 or ``k + 1``
        stimuli, or where the HSIC of a side with itself is not positive.

    Source: Huh et al. 2024, "The Platonic Representation Hypothesis", appendix.

    Example:
        >>> x = jnp.array([[0.0, 1.0], [0.1, 1.0], [1.0, 0.0], [1.0, 0.1], [0.5, 0.6]])
        >>> print(f"{cknna(x, x[:, ::-1], k=2):.3f}")
        1.000
    """
    n = _counted(x, where)
    grams = [_gram(side, True) for side in (x, y)]
    near = [_nearest(gram, k, where) for gram in grams]
    products, hsic = [], []
    for a, b in SIDES:
        both = near[a] & near[b]
        first, second = (jnp.where(both, grams[side], 0.0) for side in (a, b))
        products.append(jnp.sum(first * second))
        hsic.append(unbiased_hsic(products[-1], jnp.sum(first, axis=0), jnp.sum(second, axis=1), n))
    return cka_ratio(jnp.stack(hsic), jnp.stack(products), _undefined((x, y), where, n, max(k + 1, 4)))


def _counted(x: Features, where: Mask | None) -> Scalar:
    return jnp.asarray(len(x), x.dtype) if where is None else jnp.sum(where).astype(x.dtype)


def _gram(x: Features, cosine: bool) -> Float[Array, "n n"]:
    patterns = unit_length(x) if cosine else x
    return patterns @ patterns.T


def _nearest(gram: Float[Array, "n n"], k: int, where: Mask | None) -> Bool[Array, "n n"]:
    """Whether stimulus j is among the k nearest neighbours of stimulus i; never itself."""
    n = len(gram)
    if not 1 <= k:
        raise ValueError(f"k must be at least 1 neighbour, and is {k}")
    others = ~jnp.eye(n, dtype=bool) if where is None else ~jnp.eye(n, dtype=bool) & where[None, :] & where[:, None]
    near = jax.lax.top_k(jnp.where(others, jax.lax.stop_gradient(gram), -jnp.inf), min(k, n))[1]
    return jnp.zeros((n, n), bool).at[jnp.arange(n)[:, None], near].set(True) & others


def _undefined(sides: tuple[Array, Array], where: Mask | None, n: Scalar, least: int) -> Flag:
    counted = None if where is None else where[:, None]
    constant = [jnp.all(deviations(side, counted, axis=0).constant) for side in sides]
    return constant[0] | constant[1] | (n < least)
