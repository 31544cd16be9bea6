"""Centred kernel alignment of two sets of responses to the same stimuli (linear kernel)."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from bsjax.engine.precision import at_full_precision
from bsjax.engine.primitives.grams import sums_of_gram_products
from bsjax.metrics.numerics import CANCELLED, deviations, divide_or_nan

# Which of the two responses an HSIC is of: both, and each with itself.
SIDES = ((0, 1), (0, 0), (1, 1))


@at_full_precision
def cka(
    x: Float[Array, "n p"],
    y: Float[Array, "n q"],
    *,
    unbiased: bool = True,
    where: Bool[Array, " n"] | None = None,
) -> Float[Array, ""]:
    r"""Linear CKA: the alignment of two similarity structures over the same stimuli.

    .. math:: \mathrm{CKA}(X, Y) = \frac{\mathrm{HSIC}(K, L)}{\sqrt{\mathrm{HSIC}(K, K)\,\mathrm{HSIC}(L, L)}},
        \quad K = X X^T,\ L = Y Y^T

    Unbiased, HSIC is the estimator of Song et al.: with :math:`\tilde K` the Gram matrix with zeros on its diagonal,

    .. math:: \mathrm{HSIC} = \frac{1}{n(n-3)} \Bigl[\sum_{ij} \tilde K_{ij} \tilde L_{ij}
        + \frac{1^T \tilde K 1\, 1^T \tilde L 1}{(n-1)(n-2)} - \frac{2}{n-2} 1^T \tilde K \tilde L 1 \Bigr]

    whose value is 0 on average for unrelated responses, and may be negative. Biased, it is the sum of products of the
    centred Gram matrices, which is large for unrelated responses of many units to few stimuli. Either is evaluated
    through the feature cross-products or through the Gram matrices, whichever costs less.

    Args:
        x: responses ``(stimuli, units)``.
        y: responses ``(stimuli, units)`` to the same stimuli in the same order; units may differ in number.
        unbiased: which estimator of HSIC.
        where: True where a stimulus counts; all if None.

    Returns:
        A scalar in the dtype of the inputs, at most 1 if biased; NaN where a side has no (positive) HSIC with itself,
        as for constant responses (if unbiased, also for responses to one stimulus alone), and for fewer than 4 stimuli
        if unbiased.

    Source: Kornblith et al. 2019; Song et al. 2012 (unbiased HSIC); Murphy et al. 2024.

    Example:
        >>> import jax.numpy as jnp
        >>> x = jnp.array([[0.0, 1.0], [1.0, 3.0], [2.0, 0.0], [5.0, 1.0], [3.0, 4.0]])
        >>> print(f"{cka(x, 2.0 * x[:, ::-1]):.3f}")
        1.000
    """
    sides = standardised(x, where), standardised(y, where)
    count = jnp.asarray(x.shape[0], x.dtype) if where is None else jnp.sum(where).astype(x.dtype)
    hsic = _unbiased_hsic if unbiased else _biased_hsic
    # What a side adds on the diagonal of its Gram matrix.
    norms = [jnp.einsum("np,np->n", side, side) for side in sides]
    products = sums_of_gram_products(*sides)
    found = [hsic(product, norms[a], norms[b], count) for product, (a, b) in zip(products, SIDES, strict=True)]
    return cka_ratio(jnp.stack(found), jnp.stack(products), (count < 4) & unbiased)


@at_full_precision
def cka_biased(
    x: Float[Array, "n p"], y: Float[Array, "n q"], *, where: Bool[Array, " n"] | None = None
) -> Float[Array, ""]:
    """``cka`` with the biased estimator of HSIC, as older published scores have it."""
    return cka(x, y, unbiased=False, where=where)


def standardised(values: Float[Array, "n p"], where: Bool[Array, " n"] | None) -> Float[Array, "n p"]:
    """Responses without the mean of the stimuli that count, of unit variance as a whole.

    Zero where a stimulus does not count, and where a unit is constant.
    """
    centred = deviations(values, None if where is None else where[:, None], axis=0).values
    # To unit variance, or the fourth powers of large responses overflow in float32.
    return centred / jnp.sqrt(jnp.mean(centred**2) + jnp.finfo(centred.dtype).tiny)


def cka_ratio(
    hsic: Float[Array, "3 ..."], terms: Float[Array, "3 ..."], bad: Bool[Array, "..."]
) -> Float[Array, "..."]:
    """CKA from the HSIC of both sides and of each with itself.

    Args:
        hsic: of the ``SIDES``.
        terms: how large the largest of the terms is that each is a sum of.
        bad: where it is NaN in any case.

    Returns:
        NaN as well where the HSIC of a side with itself is no more than rounding of its terms.
    """
    both, of_x, of_y = hsic
    rounding = CANCELLED * jnp.finfo(hsic.dtype).eps * terms
    undefined = ~((of_x > rounding[1]) & (of_y > rounding[2])) | bad
    ones = jnp.ones_like(both)
    norm = jnp.sqrt(jnp.where(undefined, ones, of_x)) * jnp.sqrt(jnp.where(undefined, ones, of_y))
    return divide_or_nan(both, norm, undefined)


def _biased_hsic(
    product: Float[Array, ""], k: Float[Array, " n"], ell: Float[Array, " n"], count: Float[Array, ""]
) -> Float[Array, ""]:
    return product


def _unbiased_hsic(
    product: Float[Array, ""], k: Float[Array, " n"], ell: Float[Array, " n"], count: Float[Array, ""]
) -> Float[Array, ""]:
    # Rows are centred, so the full Gram matrices have zero row sums and what remains are their diagonals.
    diagonals = jnp.sum(k * ell)
    totals = jnp.sum(k) * jnp.sum(ell) / ((count - 1) * (count - 2))
    return product - diagonals + totals - 2 * diagonals / (count - 2)
