"""Bootstrap variance of a score over two factors, such as subjects and stimuli."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Real

from bsjax.engine.precision import at_full_precision
from bsjax.metrics.arrays import Counts, Values
from bsjax.metrics.numerics import masked_mean
from bsjax.metrics.resampling.weighted_rdms import compare_weighted_rdms


def two_factor_variance(
    both: Values, first: Values, second: Values, *, n_first: int | None = None, n_second: int | None = None
) -> Values:
    r"""Variance of a statistic over new samples of two factors, from its variances over bootstrap draws.

    The variance over draws of both factors is too large: on average, it contains the interaction variance of pairs of
    elements three times. For many elements, the corrected variance is

    .. math:: V = 2 (V_1 + V_2) - V_{12}

    For known numbers of elements, with :math:`f_k = n_k / (n_k - 1)`, it is

    .. math:: V = f_1 V_1 + f_2 V_2 - f_1 f_2 (V_{12} - V_1 - V_2)

    The result is limited to at least the variance over draws of either factor alone (times :math:`f_k` for known
    numbers), and at most the variance over draws of both.

    Args:
        both: variances, or squared standard errors, over draws of both factors.
        first, second: variances over draws of one factor, with the other fixed.
        n_first, n_second: numbers of elements of the factors, at least two. If either is None, the formula for many
            elements is used.

    Returns:
        Variances in the shape and dtype of the inputs; NaN where an input is NaN.

    Raises:
        ValueError: a factor of fewer than two elements.

    Source: Schütt et al. 2023, "Statistical inference on representational geometries".

    Example:
        >>> v = jnp.array(0.5), jnp.array(0.2), jnp.array(0.1)
        >>> print(f"{two_factor_variance(*v):.4f} {two_factor_variance(*v, n_first=10, n_second=50):.4f}")
        0.2000 0.2222
    """
    if n_first is None or n_second is None:
        corrected = 2.0 * (first + second) - both
    else:
        if min(n_first, n_second) < 2:
            raise ValueError(f"both factors must have at least two elements, they have {n_first} and {n_second}")
        of_first, of_second = (n / (n - 1) for n in (n_first, n_second))
        corrected = of_first * first + of_second * second - of_first * of_second * (both - first - second)
        first, second = of_first * first, of_second * second
    return jnp.minimum(jnp.maximum(jnp.maximum(corrected, first), second), both)


@at_full_precision
def two_factor_bootstraps(
    models: Float[Array, "k m"],
    subjects: Float[Array, "s m"],
    stimulus_counts: Counts,
    subject_counts: Real[Array, "draws s"],
    *,
    method: str = "spearman",
) -> Float[Array, "3 draws k"]:
    """Mean similarity of each model's RDM to those of the subjects, in draws of subjects and stimuli.

    The similarities to all subjects in draws of the stimuli are computed once (``compare_weighted_rdms``). Draws of the
    subjects are weighted means of them.

    Args:
        models: RDMs of the models, ``(models, pairs)``, as returned by ``rdm_pairs``.
        subjects: RDMs of the subjects, ``(subjects, pairs)``.
        stimulus_counts: how often each draw contains each stimulus. Copies of a stimulus form no pair.
        subject_counts: how often each draw contains each subject.
        method: ``"spearman"``, ``"rho-a"``, ``"corr"`` or ``"cosine"``, see ``compare_rdm_vectors``.

    Returns:
        ``(3, draws, models)`` in the dtype of ``models``: similarities in draws of both, of subjects only, and of
        stimuli only; :func:`two_factor_variance` takes their variances. NaN where the similarity to a subject of the
        draw is NaN.

    Raises:
        ValueError: as for ``compare_weighted_rdms``.

    Source: Schütt et al. 2023; ``eval_dual_bootstrap`` of rsatoolbox.

    Example:
        >>> from bsjax.metrics import compiled
        >>> models, subjects = jnp.array([[1.0, 2.0, 3.0]]), jnp.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
        >>> found = compiled(two_factor_bootstraps)(models, subjects, jnp.array([[1, 1, 1]]), jnp.array([[2, 0]]))
        >>> print(found.round(3).ravel())
        [1. 1. 0.]
    """
    as_it_is = jnp.ones_like(stimulus_counts[:1])
    found = compare_weighted_rdms(models, subjects, jnp.concatenate([as_it_is, stimulus_counts]), method=method)
    whole, drawn = jnp.broadcast_to(found[:1], found[1:].shape), found[1:]
    weights = subject_counts.astype(models.dtype)[:, None]
    both, of_subjects = (masked_mean(values, None, 2, weights)[0][..., 0] for values in (drawn, whole))
    return jnp.stack([both, of_subjects, jnp.mean(drawn, axis=2)])


def crossed_dof(first: np.ndarray, second: np.ndarray, both: np.ndarray, sizes: tuple[int, int]) -> np.ndarray:
    r"""Degrees of freedom of the variance over new samples of two factors, such as subjects and stimuli.

    The variance is A + B - E, with the variances A and B of the means of each factor and the variance E of the
    interaction. Its approximate degrees of freedom are :math:`(A + B - E)^2 / \bigl(A^2 / (n_1 - 1) + B^2 / (n_2 - 1) +
    E^2 / (n_1 - 1)(n_2 - 1)\bigr)`, and at least those of the smaller factor.

    Args:
        first, second, both: variances over bootstrap draws of each factor, and of both.
        sizes: numbers of elements of the factors.

    Source: Satterthwaite 1946; Clark 1973, "The language-as-fixed-effect fallacy".

    Example:
        >>> of_subjects, of_stimuli = np.array([0.9]), np.array([0.0])
        >>> crossed_dof(of_subjects, of_stimuli, of_subjects, (10, 50))
        array([9.])
    """
    dofs = sizes[0] - 1, sizes[1] - 1
    a, b = (variance * (dof + 1) / dof for variance, dof in zip((first, second), dofs, strict=True))
    e = np.maximum(0.0, both - first - second) * (dofs[0] + 1) * (dofs[1] + 1) / (dofs[0] * dofs[1])
    whole = np.maximum(a + b - e, np.maximum(a, b))
    parts = a**2 / dofs[0] + b**2 / dofs[1] + e**2 / (dofs[0] * dofs[1])
    return np.asarray(np.maximum(min(dofs), whole**2 / np.where(parts > 0, parts, np.inf)))
