"""Shape metrics: similarity of representations up to a rotation, a linear map, or what lies between."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from bsjax.engine.precision import at_full_precision
from bsjax.metrics.arrays import Features, Mask, Scalar, Targets
from bsjax.metrics.linalg.singular_values import nuclear_norm, polar_factor
from bsjax.metrics.numerics import deviations, divide_or_nan, nonzero, of_order_one, rotated_to_few_columns, safe_sqrt


@at_full_precision
def shape_similarity(x: Features, y: Targets, *, alpha: float = 1.0, where: Mask | None = None) -> Scalar:
    r"""Cosine of the angle between two representations after the best rotation of one to the other.

    .. math:: \cos\theta = \max_{Q^T Q = I} \frac{\langle X_\alpha, Y_\alpha Q \rangle}{\|X_\alpha\| \|Y_\alpha\|}
        = \frac{\|X_\alpha^T Y_\alpha\|_*}{\|X_\alpha\|_F \|Y_\alpha\|_F}

    with centred responses of which each side is partly whitened, in terms of :math:`X = U S V^T`, whose mean squared
    singular value is scaled to 1:

    .. math:: X_\alpha = \alpha X + (1 - \alpha) U V^T

    With ``alpha=1`` this is the Procrustes similarity, invariant to rotations of the units; with ``alpha=0`` it is
    invariant to any invertible linear map of the units, and the sum of canonical correlations over the geometric mean
    of the ranks. The angle :math:`\theta` (:func:`shape_distance`) is a metric: it obeys the triangle inequality.

    Args:
        x: responses ``(stimuli, units)``.
        y: responses ``(stimuli, units)`` to the same stimuli in the same order; units may differ in number.
        alpha: from 0 (whitened) to 1 (not whitened).
        where: True where a stimulus counts; all if None.

    Returns:
        A scalar from 0 to 1 in the dtype of the inputs; NaN where a side is constant over stimuli.

    Source: Williams et al. 2021, "Generalized Shape Metrics on Neural Representations".

    Example:
        >>> x = jnp.array([[0.0, 1.0], [1.0, 3.0], [2.0, 0.0], [5.0, 1.0]])
        >>> print(f"{shape_similarity(x, 2.0 * x[:, ::-1]):.3f}")
        1.000
    """
    one, other = (_partly_whitened(side, alpha, where) for side in (x, y))
    lengths = jnp.sum(one**2) * jnp.sum(other**2)
    return divide_or_nan(nuclear_norm(one.T @ other), safe_sqrt(lengths), lengths <= 0)


def shape_distance(x: Features, y: Targets, *, alpha: float = 1.0, where: Mask | None = None) -> Scalar:
    r"""The angle :math:`\theta` of :func:`shape_similarity` in radians, from 0 to :math:`\pi/2`: a metric.

    Args:
        x, y, alpha, where: as for ``shape_similarity``.

    Returns:
        A scalar in the dtype of the inputs; NaN where a side is constant over stimuli. Its gradient is zero where the
        angle is.

    Source: Williams et al. 2021, "Generalized Shape Metrics on Neural Representations".

    Example:
        >>> x = jnp.array([[0.0, 1.0], [1.0, 3.0], [2.0, 0.0], [5.0, 1.0]])
        >>> print(f"{shape_distance(x, x**2):.3f}")
        0.314
    """
    return angle(shape_similarity(x, y, alpha=alpha, where=where))


def angle(cosine: Float[Array, "*pairs"]) -> Float[Array, "*pairs"]:
    r"""The angle of a similarity that is a cosine, in radians: a distance that obeys the triangle inequality.

    It applies to :func:`shape_similarity`, and to ``permutation_shape_similarity`` and ``stochastic_shape_similarity``.

    Args:
        cosine: similarities, from -1 to 1.

    Returns:
        Angles from 0 to :math:`\pi`, in the shape and dtype of the cosines; NaN where they are. The gradient is zero
        where the angle is.

    Source: Williams et al. 2021, "Generalized Shape Metrics on Neural Representations".

    Example:
        >>> print(angle(jnp.array([1.0, 0.5])).round(2))
        [0.   1.05]
    """
    equal = cosine >= 1.0
    return jnp.where(equal, 0.0, jnp.arccos(jnp.where(equal, 0.0, cosine)))


def _partly_whitened(x: Features, alpha: float, where: Mask | None) -> Float[Array, "n d"]:
    """Centred responses in at most as many columns as stimuli, partly whitened."""
    if not 0.0 <= alpha <= 1.0:
        raise ValueError(f"alpha must be from 0 (whitened) to 1 (not whitened), and is {alpha}")
    centred = centred_to_few_columns(x, where)
    if alpha == 1.0:
        return centred
    polar = polar_factor(centred)
    rank = jnp.sum(polar**2)
    return (1.0 - alpha) * polar + alpha * jnp.sqrt(nonzero(rank)) * centred


def centred_to_few_columns(x: Features, where: Mask | None) -> Float[Array, "n d"]:
    """Centred responses of unit Frobenius norm, in at most as many columns as stimuli; zeros if constant."""
    return rotated_to_few_columns(centred_to_unit_norm(x, where))


def centred_to_unit_norm(x: Features, where: Mask | None) -> Features:
    """Centred responses of unit Frobenius norm; zeros if constant."""
    return to_unit_norm(deviations(x, None if where is None else where[:, None], axis=0).values)


def to_unit_norm(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """An array divided by its Frobenius norm, without overflow; zeros if it is zero."""
    scaled = of_order_one(x)
    return scaled / jnp.sqrt(nonzero(jnp.sum(scaled**2)))
