"""Agreement between subjects: of every pair of subjects, and of each subject with all others."""

import math
from typing import Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from bsjax.engine.precision import at_full_precision
from bsjax.metrics.numerics import deviations, divide_or_nan, safe_sqrt
from bsjax.metrics.similarity.cka import centred_hsic, cka_ratio
from bsjax.metrics.similarity.rdms.rdm_comparison import Method, compare_all_rdm_vectors

How = Literal["pairwise", "leave_one_out"]


class PairMean(NamedTuple):
    """The mean over pairs of subjects, with its standard error.

    Attributes:
        mean: mean over all ordered pairs of different subjects that have a value.
        pseudo_values: jackknife pseudo-values ``(subjects,)``: S times the mean, minus S - 1 times the mean without
            the subject. Where all pairs have a value, the mean of the pseudo-values is the mean over pairs.
        standard_error: standard error of the mean of the pseudo-values.
    """

    mean: Float[Array, ""]
    pseudo_values: Float[Array, " s"]
    standard_error: Float[Array, ""]


def mean_over_pairs(similarity: Float[Array, "s s"]) -> PairMean:
    r"""Mean over pairs of subjects, with a jackknife standard error over subjects.

    Pairs that share a subject are not independent. A standard error that treats them as independent is too small, by
    a factor of up to about :math:`\sqrt{S - 1}` where some subjects agree well, or badly, with all others. The
    jackknife leaves out each subject with all its pairs; the squared standard error is

    .. math:: \frac{S - 1}{S} \sum_s \bigl(U_{-s} - \overline{U_{-s}}\bigr)^2

    Args:
        similarity: similarity of each pair of subjects in both directions; the diagonal is ignored. NaN: the pair has
            no value.

    Returns:
        Values in the dtype of the input. A subject without any valid pair has a NaN pseudo-value and is not counted.
        The standard error needs at least three subjects, and a valid pair without each of them; else it is NaN.

    Source: Arvesen 1969, "Jackknifing U-statistics".

    Example:
        >>> import jax.numpy as jnp
        >>> found = mean_over_pairs(jnp.array([[1.0, 0.2, 0.3], [0.2, 1.0, 0.4], [0.3, 0.4, 1.0]]))
        >>> print(f"{found.mean:.3f}, {found.standard_error:.3f}")
        0.300, 0.115
    """
    subjects = similarity.shape[0]
    valued = jnp.isfinite(similarity) & ~jnp.eye(subjects, dtype=bool)
    values = jnp.where(valued, similarity, 0.0)
    counts = valued.astype(similarity.dtype)
    total, pairs = jnp.sum(values), jnp.sum(counts)
    mean = divide_or_nan(total, pairs, pairs == 0)
    left = total - jnp.sum(values, axis=0) - jnp.sum(values, axis=1)
    pairs_left = pairs - jnp.sum(counts, axis=0) - jnp.sum(counts, axis=1)
    takes_part = pairs_left < pairs
    n = jnp.sum(takes_part).astype(similarity.dtype)
    without = divide_or_nan(left, pairs_left, (pairs_left == 0) | ~takes_part)
    pseudo = n * mean - (n - 1.0) * without
    undefined = jnp.any(takes_part & (pairs_left == 0)) | (n < 3)
    squares = jnp.sum(deviations(pseudo, takes_part & ~undefined, 0).values ** 2)
    error = jnp.where(undefined, jnp.nan, safe_sqrt(squares / jnp.maximum(n * (n - 1.0), 1.0)))
    return PairMean(mean, pseudo, error)


def rdms_between_subjects(
    rdms: Float[Array, "s m"], *, method: Method = "spearman", itself: float = math.nan
) -> Float[Array, "s s"]:
    """Compares the RDMs of every two subjects; ``rdm_noise_ceiling`` compares each with the mean of the others.

    Args:
        rdms: dissimilarities ``(subjects, pairs)``, as returned by ``rdm_pairs``.
        method: how two RDMs are compared, see ``compare_rdm_vectors``.
        itself: value on the diagonal.

    Returns:
        ``(subjects, subjects)``, NaN where ``compare_rdm_vectors`` is NaN.

    Source: Nili et al. 2014.

    Example:
        >>> import jax.numpy as jnp
        >>> print(rdms_between_subjects(jnp.array([[1.0, 2.0, 3.0], [1.0, 3.0, 2.0]])).round(3))
        [[nan 0.5]
         [0.5 nan]]
    """
    return _without_themselves(compare_all_rdm_vectors(rdms, rdms, method=method), itself)


@at_full_precision
def cka_between_subjects(
    responses: Float[Array, "s n p"],
    units: Bool[Array, "s p"] | None = None,
    *,
    how: How = "pairwise",
    unbiased: bool = True,
    itself: float = math.nan,
) -> Float[Array, "..."]:
    r"""CKA of every two subjects, or of each subject with the pooled units of all others.

    HSIC is bilinear in the Gram matrices, and the Gram matrix of pooled units is the sum of those of the subjects. Both
    results therefore follow from the matrix :math:`H_{st} = \mathrm{HSIC}(K_s, K_t)`, a single matrix product:

    .. math:: \frac{H_{st}}{\sqrt{H_{ss} H_{tt}}} \qquad
        \frac{\sum_{t \neq s} H_{st}}{\sqrt{H_{ss} \sum_{t, u \neq s} H_{tu}}}

    Args:
        responses: ``(subjects, stimuli, units)`` to the same stimuli; subjects with fewer units are padded.
        units: False where padded; all if None.
        how: ``"pairwise"`` or ``"leave_one_out"``.
        unbiased: which estimator of HSIC, see ``cka``.
        itself: value on the diagonal of pairs.

    Returns:
        ``(subjects, subjects)`` or ``(subjects,)``; NaN where ``cka`` is NaN.

    Raises:
        ValueError: ``how`` is not known.

    Source: Kornblith et al. 2019; Song et al. 2012.

    Example:
        >>> import jax.numpy as jnp
        >>> x = jnp.array([[0.0, 1.0], [1.0, 3.0], [2.0, 0.0], [5.0, 1.0], [3.0, 4.0]])
        >>> print(cka_between_subjects(jnp.stack([x, 2.0 * x]), how="leave_one_out").round(3))
        [1. 1.]
    """
    if how not in ("pairwise", "leave_one_out"):
        raise ValueError(f"how must be pairwise or leave_one_out, got {how!r}")
    if units is not None:
        responses = jnp.where(units[:, None, :], responses, 0.0)
    centred = deviations(responses, None, axis=1).values
    # CKA of a pair does not depend on the scale of a subject; CKA with pooled units depends on relative scales.
    axes = (1, 2) if how == "pairwise" else None
    variance = jnp.mean(centred**2, axis=axes, keepdims=True)
    centred = centred / jnp.sqrt(variance + jnp.finfo(centred.dtype).tiny)
    grams = jnp.einsum("snp,smp->snm", centred, centred)
    terms = jnp.einsum("snm,tnm->st", grams, grams)
    hsic, n = terms, responses.shape[1]
    if unbiased:
        lengths = jnp.einsum("snn->sn", grams)
        hsic = centred_hsic(terms, lengths[:, None], lengths[None], n)
    compared = _both_ways if how == "pairwise" else products_with_the_others
    similarity = cka_ratio(compared(hsic), compared(terms), unbiased and n < 4)
    return _without_themselves(similarity, itself) if how == "pairwise" else similarity


def _both_ways(products: Float[Array, "s s"]) -> Float[Array, "3 s s"]:
    """Products of each pair, of its first subject with itself, and of its second with itself."""
    own = jnp.broadcast_to(jnp.diagonal(products)[None], products.shape)
    return jnp.stack([products, own.T, own])


def products_with_the_others(products: Float[Array, "s s"]) -> Float[Array, "3 s"]:
    """Products of each subject with the sum of the others, with itself, and of that sum with itself."""
    # A constant: a TPU cannot compile the comparison of two counters within the product of such small matrices.
    apart = jnp.asarray(1.0 - np.eye(len(products)), products.dtype)
    between = jnp.sum(products * apart, axis=1)
    # A sum over the other subjects, not a difference: nothing cancels.
    of_others = jnp.einsum("st,su,tu->s", apart, apart, products)
    return jnp.stack([between, jnp.diagonal(products), of_others])


def _without_themselves(similarity: Float[Array, "s s"], itself: float) -> Float[Array, "s s"]:
    return jnp.where(jnp.eye(similarity.shape[0], dtype=bool), itself, similarity)
