"""Representations as vectors whose inner products are similarities, to compare all pairs of many."""

from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from bsjax.engine.batches import batched_map
from bsjax.engine.precision import at_full_precision
from bsjax.engine.tolerances import CANCELLED, rounding
from bsjax.metrics.arrays import Features, Scalar
from bsjax.metrics.numerics import divide_or_nan, safe_sqrt
from bsjax.metrics.similarity.cka import standardised
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
    n, centred = len(x), standardised(x, None)
    gram = centred @ centred.T
    if not unbiased:
        squares = jnp.sum(gram**2)
        return gram.ravel() * divide_or_nan(jnp.ones_like(squares), safe_sqrt(squares), squares <= 0)
    off = 1.0 - jnp.eye(n, dtype=x.dtype)
    gram = gram * off
    rows = jnp.sum(gram, axis=1)
    means = rows / max(n - 2, 1)
    whole = (gram - means[:, None] - means[None, :] + jnp.sum(rows) / max((n - 1) * (n - 2), 1)) * off
    squares, terms = jnp.sum(whole**2), jnp.sum(gram**2)
    undefined = ~(squares > rounding(x, CANCELLED) * terms) | (n < 4)
    return whole.ravel() * divide_or_nan(jnp.ones_like(squares), safe_sqrt(squares), undefined)


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


Grid = Float[Array, "s t"]


@at_full_precision
def similarities_of_times(
    x: Float[Array, "n p s"],
    y: Float[Array, "n q t"],
    subsets: Int[Array, "g m"],
    *,
    similarity: Callable[..., Scalar],
    vector: Callable[..., Float[Array, " k"]] | None = None,
) -> tuple[Grid, Float[Array, "g s t"]]:
    """The similarity of each time of one side with each time of the other, on all stimuli and on subsets of them.

    With a ``vector``, such as the pairs of an RDM or the entries of a centred Gram matrix, each time is computed once,
    and one matrix product compares all with all.

    Args:
        x: responses ``(stimuli, units, times)``.
        y: responses of the other side to the same stimuli in the same order; units and times may differ in number.
        subsets: indices of the stimuli of each subset, e.g. without one group, for a jackknife; may be empty.
        similarity: function of two ``(stimuli, units)`` arrays, e.g. ``cka``.
        vector: function of one ``(stimuli, units)`` array to a vector of unit length, whose inner product with that of
            another is the similarity, e.g. ``cka_vector``; None if it has none.

    Returns:
        ``(times, times)``, and ``(subsets, times, times)`` for the subsets, in the dtype of the inputs; NaN where the
        similarity is.

    Source: King & Dehaene 2014, "Characterizing the dynamics of mental representations: the temporal generalization
    method"; Cichy, Pantazis & Oliva 2014.

    Example:
        >>> import numpy as np
        >>> from bsjax.metrics import cka
        >>> x = jnp.asarray(np.random.default_rng(0).normal(size=(30, 5, 3)))
        >>> found, _ = similarities_of_times(x, x[..., 1:], jnp.zeros((0, 20), int), similarity=cka)
        >>> print(jnp.argmax(found, axis=0))
        [1 2]
    """
    sides = [jnp.moveaxis(side, 2, 0) for side in (x, y)]

    def among(rows: Int[Array, " m"]) -> Grid:
        ours, theirs = (side[:, rows] for side in sides)
        if vector is not None:
            of_x, of_y = batched_map(vector, ours), batched_map(vector, theirs)
            return jnp.clip(of_x @ of_y.T, -1.0, 1.0)
        return batched_map(lambda one: batched_map(lambda other: similarity(one, other), theirs), ours)

    return among(jnp.arange(len(x))), batched_map(among, subsets)
