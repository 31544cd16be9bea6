r"""Dimensions of a representation, the alignment of a target with them, and the error of ridge regression by both.

With the centred features :math:`X`, the eigenvectors :math:`u_i` of :math:`X X^T` and eigenvalues :math:`n\lambda_i`,
a target's variance has the share :math:`(u_i^T y)^2 / y^T y` along mode i. How fast a regression learns the target
follows from these shares alone: strong modes are learned from few stimuli, weak ones from many.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from bsjax.engine.precision import at_full_precision
from bsjax.engine.primitives.decompositions import as_eigenpairs, svd
from bsjax.engine.primitives.products import matmul_t
from bsjax.metrics.linalg.participation_ratio import participation_ratio
from bsjax.metrics.numerics import deviations, divide_or_nan

# What is left of one less a sum is rounding below so many rounding errors.
_ROUNDING_ERRORS = 8
# Bisections of what lies between a bound and its rounding, which float64 has no more digits for.
_BISECTIONS = 64


class Spectrum(NamedTuple):
    """Modes of a representation, in descending order, and what of each target lies along them.

    Attributes:
        eigenvalues: variance of the features along each mode, zero where it is rounding.
        shares: of each target's variance along each mode, zero along those without variance; what a target's lack to 1
            is beyond the features. NaN for a constant target.
    """

    eigenvalues: Float[Array, " m"]
    shares: Float[Array, "m q"]


class Prediction(NamedTuple):
    """What the theory of ridge regression says of so many training stimuli.

    Attributes:
        learnability: of each mode, from 0 (nothing of it is predicted) to 1.
        error: expected square of prediction less target for a new stimulus, as a share of the target's variance.
        by_mode: what each mode contributes to it, on average over targets.
    """

    learnability: Float[Array, "t m"]
    error: Float[Array, "t q"]
    by_mode: Float[Array, "t m"]


@at_full_precision
def effective_dimensionality(x: Float[Array, "n p"]) -> Float[Array, ""]:
    r"""The participation ratio of the features' variances: how many dimensions they would fill if these were equal.

    .. math:: D = \frac{(\sum_i \lambda_i)^2}{\sum_i \lambda_i^2} = \frac{(\mathrm{tr} K)^2}{\mathrm{tr} K^2}

    from the Gram matrix :math:`K` of stimuli or of features, whichever are fewer, without its eigenvalues.

    Args:
        x: features ``(stimuli, features)``, centred here.

    Returns:
        From 1 to the smaller of features and stimuli less 1; NaN where no feature varies.

    Source: Gao et al. 2017; of networks and cortex: Elmoznino & Bonner 2024.

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
        The spectrum, with as many modes as there are features or stimuli, whichever are fewer. Where eigenvalues are
        equal, shares have no gradient, and what depends on them has one of NaN, as predicted errors, though these are
        smooth: shares do not tell how the features turn their modes (see ``eigh``).

    Source: Canatar, Feather, Wakhloo & Chung 2023, "A spectral theory of neural prediction and alignment".

    Example:
        >>> x = jnp.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
        >>> spectrum = alignment_spectrum(x, jnp.array([[1.0], [-1.0], [1.0], [-1.0]]))
        >>> print(spectrum.eigenvalues.round(3), spectrum.shares[:, 0].round(3))
        [2.  0.5] [0.5 0.5]
    """
    (n, p), values = x.shape, deviations(x, None, 0).values
    eigenvalues, vectors, rounding = _modes(values)
    positive = eigenvalues > rounding
    eigenvalues = jnp.where(positive, eigenvalues, jnp.zeros_like(eigenvalues))
    targets = deviations(y, None, 0)
    along = vectors.T @ (targets.values if n <= p else matmul_t(values, targets.values))
    scale = jnp.ones_like(eigenvalues) if n <= p else jnp.where(positive, eigenvalues, jnp.ones_like(eigenvalues))
    squares = jnp.where(positive[:, None], along**2 / scale[:, None], jnp.zeros_like(along))
    total = jnp.broadcast_to(targets.squares, squares.shape)
    return Spectrum(eigenvalues / n, divide_or_nan(squares, total, jnp.broadcast_to(targets.constant, squares.shape)))


def predicted_errors(spectrum: Spectrum, n_train: Float[Array, " t"], alpha: Float[Array, ""]) -> Prediction:
    r"""The expected error of ridge regression on new stimuli, from the spectrum alone, for numbers of training stimuli.

    With P training stimuli (less one for the intercept), :math:`\kappa` solves :math:`P = \sum_i L_i + \alpha / \kappa`
    where :math:`L_i = \lambda_i / (\lambda_i + \kappa)` is how much of mode i is learned. Then

    .. math:: E = \frac{P + 1}{P} \frac{\sum_i (1 - L_i)^2 w_i + w_\perp}{1 - \sum_i L_i^2 / P}

    for a target with the share :math:`w_i` of its variance along mode i and :math:`w_\perp` beyond all modes, noise
    too; the first factor is the error of the intercept.
    It holds for many stimuli that are drawn from a population with this spectrum. Of a sample's own spectrum, small
    eigenvalues are too small and noise lies along all modes, so that few training stimuli, against those that the
    spectrum is of, are predicted well.

    Args:
        spectrum: of :func:`alignment_spectrum`.
        n_train: numbers of training stimuli, from 2.
        alpha: penalty, not divided by their number; 0 for least squares of minimum norm.

    Returns:
        The prediction; its error is NaN where least squares has exactly as many stimuli as modes.

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
    singular = left <= _ROUNDING_ERRORS * float(jnp.finfo(left.dtype).eps)
    of_mean = n_train[:, None] / p
    inflation = divide_or_nan(of_mean, left, singular)
    missed = (1 - learned) ** 2
    error = missed @ shares + beyond[None, :]
    return Prediction(learned, inflation * error, inflation * missed * jnp.mean(shares, axis=1)[None, :])


def _kappa(eigenvalues: Float[Array, "1 m"], p: Float[Array, "t 1"], alpha: Float[Array, ""]) -> Float[Array, "t 1"]:
    """Where learned modes and penalty come to the number of stimuli: bisected, then differentiable by Newton."""

    def excess(kappa: Float[Array, "t 1"]) -> Float[Array, "t 1"]:
        return jnp.sum(eigenvalues / (eigenvalues + kappa), axis=1, keepdims=True) + alpha / kappa - p

    largest = (jnp.sum(eigenvalues) + alpha) / p
    smallest = largest * float(jnp.finfo(p.dtype).eps) ** 2

    def halve(_: Any, bounds: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = bounds
        middle = jnp.sqrt(low) * jnp.sqrt(high)
        above = excess(middle) > 0
        return jnp.where(above, middle, low), jnp.where(above, high, middle)

    low, high = jax.lax.fori_loop(0, _BISECTIONS, halve, jax.lax.stop_gradient((smallest, largest)))
    found = jnp.sqrt(low) * jnp.sqrt(high)
    slope = -jnp.sum(eigenvalues / (eigenvalues + found) ** 2, axis=1, keepdims=True) - alpha / found**2
    # Least squares of more stimuli than modes has none: all is learned.
    better = found - excess(found) / jax.lax.stop_gradient(slope)
    return jnp.where(better > 0, better, found)


def _modes(values: Float[Array, "n p"]) -> tuple[Float[Array, " d"], Float[Array, "d d"], Float[Array, ""]]:
    """Eigenvalues of the smaller Gram matrix, descending, its eigenvectors, and what is rounding of an eigenvalue.

    By singular vectors: the squares of a strong mode hide those of weak ones.
    """
    fixed = jax.lax.stop_gradient(values)
    finite = jnp.all(jnp.isfinite(fixed))  # LAPACK may not return from NaN
    fixed = jnp.where(finite, fixed, 0.0)
    _, lengths, vectors = svd(fixed.T if values.shape[0] <= values.shape[1] else fixed)
    found = (jnp.where(finite, part, jnp.nan) for part in (lengths**2, vectors))
    eigenvalues, vectors = as_eigenpairs(_smaller_gram(values), *found)
    rounding = max(values.shape) * float(jnp.finfo(values.dtype).eps)
    return eigenvalues, vectors, rounding**2 * eigenvalues[0]


def _smaller_gram(values: Float[Array, "n p"]) -> Float[Array, "d d"]:
    return values @ values.T if values.shape[0] <= values.shape[1] else matmul_t(values, values)
