"""Centred kernel alignment of two sets of responses to the same stimuli (linear kernel)."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from bsjax.metrics.numerics import divide_or_nan, masked_mean, matmul_t


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
        as for constant responses, and for fewer than 4 stimuli if unbiased.

    Source: Kornblith et al. 2019; Song et al. 2012 (unbiased HSIC); Murphy et al. 2024.

    Example:
        >>> import jax.numpy as jnp
        >>> x = jnp.array([[0.0, 1.0], [1.0, 3.0], [2.0, 0.0], [5.0, 1.0], [3.0, 4.0]])
        >>> print(f"{cka(x, 2.0 * x[:, ::-1]):.3f}")
        1.000
    """
    sides = []
    for values in (x, y):
        mask = None if where is None else where[:, None]
        mean, _ = masked_mean(values, mask, axis=0)
        centred = values - mean
        if mask is not None:
            centred = jnp.where(mask, centred, jnp.zeros_like(centred))
        # To unit variance, or the fourth powers of large responses overflow in float32.
        scale = jnp.sqrt(jnp.mean(centred**2) + jnp.finfo(centred.dtype).tiny)
        sides.append(centred / scale)
    count = jnp.asarray(x.shape[0], x.dtype) if where is None else jnp.sum(where).astype(x.dtype)
    hsic = _unbiased_hsic if unbiased else _biased_hsic
    both = hsic(sides[0], sides[1], count)
    own = [hsic(side, side, count) for side in sides]
    undefined = ~((own[0] > 0) & (own[1] > 0)) | ((count < 4) & unbiased)
    ones = jnp.ones_like(both)
    norm = jnp.sqrt(jnp.where(undefined, ones, own[0])) * jnp.sqrt(jnp.where(undefined, ones, own[1]))
    return divide_or_nan(both, norm, undefined)


def cka_biased(
    x: Float[Array, "n p"], y: Float[Array, "n q"], *, where: Bool[Array, " n"] | None = None
) -> Float[Array, ""]:
    """``cka`` with the biased estimator of HSIC, as older published scores have it."""
    return cka(x, y, unbiased=False, where=where)


def _biased_hsic(x: Float[Array, "n p"], y: Float[Array, "n q"], count: Float[Array, ""]) -> Float[Array, ""]:
    return _gram_product(x, y) / count**2


def _unbiased_hsic(x: Float[Array, "n p"], y: Float[Array, "n q"], count: Float[Array, ""]) -> Float[Array, ""]:
    # Rows are centred, so the full Gram matrices have zero row sums and what remains are their diagonals.
    k, ell = jnp.sum(x**2, axis=1), jnp.sum(y**2, axis=1)
    off_diagonal = _gram_product(x, y) - jnp.sum(k * ell)
    totals = jnp.sum(k) * jnp.sum(ell) / ((count - 1) * (count - 2))
    return (off_diagonal + totals - 2 * jnp.sum(k * ell) / (count - 2)) / (count * (count - 3))


def _gram_product(x: Float[Array, "n p"], y: Float[Array, "n q"]) -> Float[Array, ""]:
    """Sum over all pairs of stimuli of the products of their similarities in ``x`` and in ``y``."""
    n, p = x.shape
    q = y.shape[1]
    if p * q <= n * (p + q):
        return jnp.sum(matmul_t(x, y) ** 2)
    return jnp.sum((x @ x.T) * (y @ y.T))
