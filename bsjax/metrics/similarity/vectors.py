"""Representations as vectors whose inner products are similarities, to compare all pairs of many."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from bsjax.engine.precision import at_full_precision
from bsjax.engine.tolerances import CANCELLED, rounding
from bsjax.metrics.arrays import Features
from bsjax.metrics.numerics import divide_or_nan, safe_sqrt
from bsjax.metrics.similarity.cka import standardised, u_centred
from bsjax.metrics.similarity.rdms.dissimilarities import Measure
from bsjax.metrics.similarity.rdms.rdm import rdm_to_compare
from bsjax.metrics.similarity.rdms.rdm_comparison import Method, comparison_named, scaled


@at_full_precision
def cka_vector(x: Features, *, unbiased: bool = True) -> Float[Array, " m"]:
    r"""A vector whose inner product with that of other responses to the same stimuli is their CKA.

    It holds the entries of the centred Gram matrix, divided by their norm. For the unbiased estimator the matrix has a
    zero diagonal and is centred without it:

    .. math:: U_{ij} = \tilde K_{ij} - \frac{1}{n-2} (\tilde K 1)_i - \frac{1}{n-2} (\tilde K 1)_j
        + \frac{1^T \tilde K 1}{(n-1)(n-2)},\quad i \ne j

    Args:
        x: responses ``(stimuli, units)``.
        unbiased: which estimator of HSIC, see ``bsjax.metrics.cka``.

    Returns:
        ``(stimuli**2,)`` in the dtype of ``x``, of length 1. NaN where CKA is.

    Source: Székely & Rizzo 2014 (U-centred matrices); Kornblith et al. 2019.

    Example:
        >>> from bsjax.metrics import cka
        >>> x = jnp.array([[0.0, 1.0], [1.0, 3.0], [2.0, 0.0], [5.0, 1.0], [3.0, 4.0]])
        >>> print(jnp.isclose(cka_vector(x) @ cka_vector(x**2), cka(x, x**2)))
        True
    """
    centred, least = standardised(x, None), 0.0
    gram = centred @ centred.T
    if unbiased:
        gram = jnp.where(jnp.eye(len(x), dtype=bool), 0.0, gram)
        least = rounding(x, CANCELLED) * jnp.sum(gram**2)
        gram = u_centred(gram)
    squares = jnp.sum(gram**2)
    undefined = ~(squares > least) | (unbiased and len(x) < 4)
    return gram.ravel() * divide_or_nan(jnp.ones_like(squares), safe_sqrt(squares), undefined)


@at_full_precision
def rdm_vector(
    x: Features, *, method: Method = "spearman", dissimilarity: Measure = "correlation"
) -> Float[Array, " m"]:
    """A vector whose inner product with that of other responses to the same stimuli compares their RDMs.

    Args:
        x: responses ``(stimuli, units)``.
        method: a comparison with such vectors: all but ``"tau-a"``.
        dissimilarity: as for ``bsjax.metrics.rdm``.

    Returns:
        ``(pairs of stimuli,)`` in the dtype of ``x``; NaN where ``rdm_similarity`` is.

    Source: Kriegeskorte, Mur & Bandettini 2008.

    Example:
        >>> from bsjax.metrics import rdm_similarity
        >>> x = jnp.array([[0.0, 1.0, 5.0], [1.0, 3.0, 2.0], [2.0, 0.0, 1.0], [5.0, 1.0, 0.0]])
        >>> print(jnp.isclose(rdm_vector(x) @ rdm_vector(x**2), rdm_similarity(x, x**2)))
        True
    """
    comparison = comparison_named(method)
    if comparison.factor is None:
        raise ValueError(f"the comparison of RDMs {method!r} has no vectors: compare each pair")
    (pairs, errors), lost = rdm_to_compare(x, dissimilarity, comparison)
    return jnp.where(jnp.any(lost), jnp.nan, comparison.factor(scaled(pairs, None, comparison, errors), None))


@at_full_precision
def inner_products(vectors: Float[Array, "k m"]) -> Float[Array, "k k"]:
    """Inner products of all pairs of vectors."""
    return vectors @ vectors.T
