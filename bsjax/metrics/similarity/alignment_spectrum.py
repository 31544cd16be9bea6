r"""Spectrum of a representation, its alignment with targets, and the predicted error of ridge regression.

For centred features :math:`X`, let :math:`u_i` be the eigenvectors and :math:`n\lambda_i` the eigenvalues of
:math:`X X^T`. Mode i has the share :math:`(u_i^T y)^2 / y^T y` of the variance of a target y. Eigenvalues and shares
determine how fast a regression learns the target: strong modes are learned from few stimuli, weak modes from many.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from bsjax.engine.precision import at_full_precision
from bsjax.engine.primitives.decompositions import as_eigenpairs, svd
from bsjax.engine.primitives.products import matmul_t
from bsjax.engine.tolerances import CONSTANT, rounding
from bsjax.metrics.linalg.participation_ratio import participation_ratio
from bsjax.metrics.numerics import deviations, divide_or_nan

# Bisection steps; more would be below the precision of float64.
_BISECTIONS = 64


class Spectrum(NamedTuple):
    """Modes of a representation in descending order of variance, and the share of each target along them.

    Attributes:
        eigenvalues: variance of the features along each mode; zero where it is within rounding error.
        shares: share of each target's variance along each mode; zero for modes without variance. If the shares of a
            target sum to less than 1, the rest of its variance is outside the span of the features. NaN for a constant
            target.
    """

    eigenvalues: Float[Array, " m"]
    shares: Float[Array, "m q"]


class Prediction(NamedTuple):
    """Theoretical errors of ridge regression, for several numbers of training stimuli.

    Attributes:
        learnability: learned share of each mode, from 0 to 1.
        error: expected squared prediction error for a new stimulus, relative to the variance of the target.
        by_mode: contribution of each mode to the error, averaged over targets.
    """

    learnability: Float[Array, "t m"]
    error: Float[Array, "t q"]
    by_mode: Float[Array, "t m"]


@at_full_precision
def effective_dimensionality(x: Float[Array, "n p"]) -> Float[Array, ""]:
    r"""Effective dimensionality of features: the participation ratio of their principal variances.

    .. math:: D = \frac{(\sum_i \lambda_i)^2}{\sum_i \lambda_i^2} = \frac{(\mathrm{tr} K)^2}{\mathrm{tr} K^2}

    It is computed from the Gram matrix :math:`K` of stimuli or of features, whichever are fewer, without eigenvalues.

    Args:
        x: features ``(stimuli, features)``; they are centred first.

    Returns:
        From 1 to the smaller of the number of features and the number of stimuli minus 1; NaN where no feature varies.

    Source: Gao et al. 2017; for networks and cortex: Elmoznino & Bonner 2024.

    Example:
        >>> print(effective_dimensionality(jnp.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])))
        2.0
    """
    return participation_ratio(_smaller_gram(deviations(x, None, 0).values))


@at_full_precision
def alignment_spectrum(x: Float[Array, "n p"], y: Float[Array, "n q"]) -> Spectrum:
    """The modes of features, and the shares of targets along them.

    Args:
        x: features ``(stimuli, features)``.
        y: targets ``(stimuli, targets)``, rows in the order of ``x``.

    Returns:
        The spectrum, with as many modes as features or stimuli, whichever are fewer. Where eigenvalues are equal, the
        gradient of the shares is undefined, because eigenvectors are (see ``eigh``). Gradients of results computed from
        shares, such as predicted errors, are then NaN, even if these are smooth.

    Source: Canatar, Feather, Wakhloo & Chung 2023, "A spectral theory of neural prediction and alignment".

    Example:
        >>> x = jnp.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
        >>> spectrum = alignment_spectrum(x, jnp.array([[1.0], [-1.0], [1.0], [-1.0]]))
        >>> print(spectrum.eigenvalues.round(3), spectrum.shares[:, 0].round(3))
        [2.  0.5] [0.5 0.5]
    """
    (n, p), values = x.shape, deviations(x, None, 0).values
    eigenvalues, vectors, least = _modes(values)
    positive = eigenvalues > least
    eigenvalues = jnp.where(positive, eigenvalues, jnp.zeros_like(eigenvalues))
    targets = deviations(y, None, 0)
    along = vectors.T @ (targets.values if n <= p else matmul_t(values, targets.values))
    scale = jnp.ones_like(eigenvalues) if n <= p else jnp.where(positive, eigenvalues, jnp.ones_like(eigenvalues))
    squares = jnp.where(positive[:, None], along**2 / scale[:, None], jnp.zeros_like(along))
    total = jnp.broadcast_to(targets.squares, squares.shape)
    return Spectrum(eigenvalues / n, divide_or_nan(squares, total, jnp.broadcast_to(targets.constant, squares.shape)))


def predicted_errors(spectrum: Spectrum, n_train: Float[Array, " t"], alpha: Float[Array, ""]) -> Prediction:
    r"""Expected error of ridge regression on new stimuli, predicted from the spectrum, by number of training stimuli.

    Let P be the number of training stimuli minus one, for the intercept. :math:`\kappa` solves
    :math:`P = \sum_i L_i + \alpha / \kappa`, where :math:`L_i = \lambda_i / (\lambda_i + \kappa)` is the learned share
    of mode i. The error is

    .. math:: E = \frac{P + 1}{P} \frac{\sum_i (1 - L_i)^2 w_i + w_\perp}{1 - \sum_i L_i^2 / P}

    for a target with the share :math:`w_i` of its variance along mode i and :math:`w_\perp` outside all modes,
    including noise. The first factor is due to the error of the intercept.

    The theory holds for many stimuli, drawn from a population with this spectrum. In the spectrum of a sample, small
    eigenvalues are too small and noise lies along all modes. Predictions are therefore accurate only for training sets
    that are small relative to this sample.

    Args:
        spectrum: result of :func:`alignment_spectrum`.
        n_train: numbers of training stimuli, at least 2.
        alpha: penalty, not divided by the number of stimuli; 0 for minimum-norm least squares.

    Returns:
        The prediction; its error is NaN where least squares has exactly as many stimuli (less one) as modes.

    Source: Canatar, Bordelon & Pehlevan 2021; Canatar et al. 2023.

    Example:
        >>> spectrum = Spectrum(jnp.array([1.0, 1.0]), jnp.array([[0.5], [0.5]]))
        >>> print(predicted_errors(spectrum, jnp.array([2.0, 11.0]), jnp.array(0.0)).error.round(2))
        [[1.]
         [0.]]
    """
    eigenvalues, shares = spectrum
    p = (n_train - 1)[:, None]
    kappa = _kappa(eigenvalues[None, :], p, alpha)
    positive = jnp.where(eigenvalues > 0, eigenvalues, jnp.ones_like(eigenvalues))[None, :]
    learned = jnp.where(eigenvalues[None, :] > 0, positive / (positive + kappa), 0.0)
    beyond = 1 - jnp.sum(shares, axis=0)
    left = 1 - jnp.sum(learned**2, axis=1, keepdims=True) / p
    singular = left <= rounding(left, CONSTANT)
    of_mean = n_train[:, None] / p
    inflation = divide_or_nan(of_mean, left, singular)
    missed = (1 - learned) ** 2
    error = missed @ shares + beyond[None, :]
    return Prediction(learned, inflation * error, inflation * missed * jnp.mean(shares, axis=1)[None, :])


def _kappa(eigenvalues: Float[Array, "1 m"], p: Float[Array, "t 1"], alpha: Float[Array, ""]) -> Float[Array, "t 1"]:
    """Solves the equation for kappa by bisection; a final Newton step makes the result differentiable."""

    def excess(kappa: Float[Array, "t 1"]) -> Float[Array, "t 1"]:
        return jnp.sum(eigenvalues / (eigenvalues + kappa), axis=1, keepdims=True) + alpha / kappa - p

    largest = (jnp.sum(eigenvalues) + alpha) / p
    smallest = largest * rounding(p, power=2.0)

    def halve(_: Any, bounds: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = bounds
        middle = jnp.sqrt(low) * jnp.sqrt(high)
        above = excess(middle) > 0
        return jnp.where(above, middle, low), jnp.where(above, high, middle)

    low, high = jax.lax.fori_loop(0, _BISECTIONS, halve, jax.lax.stop_gradient((smallest, largest)))
    found = jnp.sqrt(low) * jnp.sqrt(high)
    slope = -jnp.sum(eigenvalues / (eigenvalues + found) ** 2, axis=1, keepdims=True) - alpha / found**2
    # Least squares with more stimuli than modes has no solution above 0: all modes are learned.
    better = found - excess(found) / jax.lax.stop_gradient(slope)
    return jnp.where(better > 0, better, found)


def _modes(values: Float[Array, "n p"]) -> tuple[Float[Array, " d"], Float[Array, "d d"], Float[Array, ""]]:
    """Eigenvalues of the smaller Gram matrix, descending, its eigenvectors, and the rounding error of eigenvalues."""
    # By a singular value decomposition: in a Gram matrix, squares of strong modes hide weak ones.
    fixed = jax.lax.stop_gradient(values)
    finite = jnp.all(jnp.isfinite(fixed))  # LAPACK may not terminate with NaN
    fixed = jnp.where(finite, fixed, 0.0)
    _, lengths, vectors = svd(fixed.T if values.shape[0] <= values.shape[1] else fixed)
    found = (jnp.where(finite, part, jnp.nan) for part in (lengths**2, vectors))
    eigenvalues, vectors = as_eigenpairs(_smaller_gram(values), *found)
    return eigenvalues, vectors, rounding(values, max(values.shape)) ** 2 * eigenvalues[0]


def _smaller_gram(values: Float[Array, "n p"]) -> Float[Array, "d d"]:
    return values @ values.T if values.shape[0] <= values.shape[1] else matmul_t(values, values)
