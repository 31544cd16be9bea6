r"""Multinomial logistic regression on standardised features, solved along their principal axes.

The penalty on the weights is invariant to rotations of the features, and the optimal weights lie in the span of the
training stimuli. The fit therefore runs along the principal axes of the standardised features, whose number is at most
that of the stimuli. Each axis is scaled by the curvature of the objective, so a few dozen steps suffice for any number
of features.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from bsjax.engine.precision import at_full_precision
from bsjax.engine.primitives.products import matmul_t
from bsjax.engine.tolerances import rounding
from bsjax.metrics.arrays import Features, Mask, Scalar
from bsjax.metrics.behaviour.softmax_decoder import DecoderParams
from bsjax.metrics.numerics import deviations, inverse_root
from bsjax.metrics.optimisation.lbfgs import minimise

# The score of a class without training stimuli: its probability is zero in every dtype.
_ABSENT = -1e30
_MOST_CONJUGATE_STEPS = 200

Parameters = tuple[Float[Array, "p c"], Float[Array, " c"]]
"""Weights and intercepts."""


@at_full_precision
def fit_logistic(x: Features, labels: Int[Array, " n"], train: Mask, classes: int, c: float = 1e-3) -> DecoderParams:
    r"""Fits a multinomial logistic regression; ``decode`` computes the class probabilities.

    Features are standardised over the training stimuli; a feature that is constant there becomes 0. With weights
    :math:`W` and intercepts :math:`b`, the objective is

    .. math:: C \sum_i -\log \mathrm{softmax}(z_i W + b)_{y_i} + \tfrac{1}{2} \|W\|^2

    This is the objective of scikit-learn's ``LogisticRegression`` for three or more classes. For two classes
    scikit-learn fits a single weight vector, which gives the same probabilities at ``2 * C``.

    Derivatives with respect to the features are those of the minimum (implicit differentiation), not of the steps.

    Args:
        x: features of all stimuli, float32 or float64; the dtype is kept.
        labels: the class of each stimulus, 0 to ``classes - 1``.
        train: True for the training stimuli. A class without any has probability 0.
        classes: number of classes.
        c: inverse strength of the penalty, scikit-learn's ``C``.

    Source: the decoder of Rajalingham et al. 2018, as in Brain-Score.

    Example:
        >>> from bsjax.metrics import compiled, decode
        >>> x, labels = jnp.array([[1.0], [2.0], [-1.0], [-2.0]]), jnp.array([1, 1, 0, 0])
        >>> params = compiled(fit_logistic, classes=2, c=1.0)(x, labels, jnp.ones(4, bool))
        >>> print(decode(params, x).argmax(axis=1))
        [1 1 0 0]
    """
    mean, scale, z = _standardised(x, train)
    chosen = jax.nn.one_hot(labels, classes, dtype=x.dtype) * (c * train.astype(x.dtype))[:, None]
    weights, intercept = _minimum(z, chosen)
    return DecoderParams(weights, jnp.where(_present(chosen), intercept, _ABSENT), mean, scale)


def _standardised(x: Features, train: Mask) -> tuple[Float[Array, " p"], Float[Array, " p"], Features]:
    """Mean and standard deviation over the training stimuli, and their z-scores; other rows are 0."""
    centred, squares, mean, count, constant = deviations(x, train[:, None], axis=0)
    scale = jnp.where(constant, 1.0, jnp.sqrt(jnp.where(constant, 1.0, squares / count)))
    return mean[0], scale[0], centred / scale


def _principal(z: Features) -> tuple[Float[Array, "n d"], Float[Array, "p d"]]:
    """Coordinates of the stimuli along their principal axes, and the axes: at most ``min(n, p)``."""
    n, p = z.shape
    if p <= n:
        _, axes = jnp.linalg.eigh(matmul_t(z, z))
        return z @ axes, axes
    values, vectors = jnp.linalg.eigh(z @ z.T)
    # Axes spanned by rounding errors alone have no defined direction: they are omitted.
    inverse = inverse_root(values, values > rounding(z, n) * values[-1])[None]
    return vectors * (values[None] * inverse), matmul_t(z, vectors * inverse)


def _present(chosen: Float[Array, "n c"]) -> Bool[Array, " c"]:
    return jnp.any(chosen > 0, axis=0)


def _objective(parameters: Parameters, z: Features, chosen: Float[Array, "n c"]) -> Scalar:
    """The objective; ``chosen`` holds C for the class of a training stimulus, and 0 elsewhere."""
    weights, intercept = parameters
    scores = jnp.where(_present(chosen)[None], z @ weights + intercept[None], _ABSENT)
    return jnp.sum(weights**2) / 2 - jnp.sum(jnp.where(chosen > 0, chosen * jax.nn.log_softmax(scores), 0.0))


@jax.custom_vjp
def _minimum(z: Features, chosen: Float[Array, "n c"]) -> Parameters:
    """The weights and intercepts with the smallest objective."""
    classes = chosen.shape[1]
    rotated, back = _principal(z)
    # The approximate curvature along each axis and in the intercept, where all classes are equally likely.
    across = jnp.sum(rotated**2, axis=0) * jnp.max(chosen) / classes
    shrink = 1 / jnp.sqrt(1 + across)
    spread = jnp.sqrt(classes / jnp.sum(chosen))

    def unpack(flat: Float[Array, " d"]) -> Parameters:
        table = flat.reshape(-1, classes)
        return shrink[:, None] * table[:-1], spread * table[-1]

    start = jnp.zeros((rotated.shape[1] + 1) * classes, z.dtype)
    weights, intercept = unpack(minimise(lambda flat: _objective(unpack(flat), rotated, chosen), start))
    return back @ weights, intercept


def _minimum_forward(z: Features, chosen: Float[Array, "n c"]) -> tuple[Parameters, tuple[Any, ...]]:
    found = _minimum(z, chosen)
    return found, (found, z, chosen)


@at_full_precision
def _minimum_backward(kept: tuple[Any, ...], cotangents: Parameters) -> tuple[Array, Array]:
    """Gradient by the implicit function theorem: the gradient of the objective stays zero at the minimum."""
    found, z, chosen = kept
    slope = jax.grad(_objective)

    def hessian(direction: Parameters) -> Parameters:
        return jax.jvp(lambda parameters: slope(parameters, z, chosen), (found,), (direction,))[1]

    # Adding a constant to all intercepts changes nothing: the system is singular in this direction, but consistent.
    solved = jax.scipy.sparse.linalg.cg(hessian, cotangents, maxiter=_MOST_CONJUGATE_STEPS)[0]
    _, pull = jax.vjp(lambda z: slope(found, z, chosen), z)
    return -pull(solved)[0], jnp.zeros_like(chosen)


_minimum.defvjp(_minimum_forward, _minimum_backward)
