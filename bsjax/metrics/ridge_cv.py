"""Ridge regression that chooses its penalty by leave-one-out errors, for all targets together or for each.

With the eigenvectors of the training stimuli's Gram matrix, the leave-one-out errors of every penalty follow from those
of the whole fit: :math:`e_i = (y_i - \\hat y_i) / (1 - 1/n - h_i)`, with the leverage :math:`h_i` of stimulus i.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from bsjax.metrics.centring import Centred, centre, training_mask, without_constants
from bsjax.metrics.numerics import matmul_t

# Brain-Score's penalties: from 0.01 to 1e7, about evenly spread within each decade.
ALPHAS = (
    *(0.01, 0.1, 0.5, 1.0, 10.0, 32.5, 55.0, 77.5),
    *(step * 50.0 for step in range(2, 20)),
    *(step * 500.0 for step in range(2, 20)),
    *(step * 5_000.0 for step in range(2, 20)),
    *(step * 50_000.0 for step in range(2, 20)),
    *(step * 500_000.0 for step in range(2, 21)),
)


class PreparedRidgeCV(NamedTuple):
    """Centred data; the embedding is the features, or their Gram matrix where the stimuli are fewer."""

    centred: Centred
    embedding: Float[Array, "n d"]


class RidgeCVParams(NamedTuple):
    """Weights on the embedded stimuli, the intercept, and the chosen penalty of every fold."""

    weights: Float[Array, "folds d q"]
    intercept: Float[Array, "folds q"]
    alpha: Float[Array, "folds ..."]


class _Fold(NamedTuple):
    """The system ``(matrix + alpha) w = right`` of one fold in its eigenvectors, and how they give the errors."""

    matrix: Float[Array, "d d"]
    right: Float[Array, "d q"]
    values: Float[Array, " d"]
    vectors: Float[Array, "d d"]
    squared_errors: Callable[[Float[Array, ""]], Float[Array, " q"]]


@dataclass(frozen=True)
class RidgeCV:
    r"""Ridge regression with the penalty of the smallest leave-one-out error on the training stimuli.

    The error is the mean square over stimuli, and over targets unless ``alpha_per_target``; the first of equal ones
    wins. As in scikit-learn's ``RidgeCV``, penalties are not divided by the number of stimuli. The choice is piecewise
    constant in the data: gradients are those of the fit at the chosen penalty.

    Args:
        alphas: the penalties to choose from, all above 0.
        alpha_per_target: choose for each target by itself.

    Source: Golub, Heath & Wahba 1979; per target: Dupré la Tour et al. 2022 (himalaya).
    """

    alphas: tuple[float, ...] = ALPHAS
    alpha_per_target: bool = False
    reported: ClassVar[tuple[str, ...]] = ("alpha",)

    def prepare(self, x: Float[Array, "n p"], y: Float[Array, "n q"]) -> PreparedRidgeCV:
        """Centres, and forms the Gram matrix of the stimuli where they are not more than the features."""
        centred = without_constants(centre(x, y))
        return PreparedRidgeCV(centred, centred.x if _in_features(centred) else centred.x @ centred.x.T)

    def embed(self, prepared: PreparedRidgeCV, x: Float[Array, "m p"]) -> Float[Array, "m d"]:
        """New stimuli as centred features, or as similarities to the prepared stimuli."""
        centred = x - prepared.centred.x_mean
        return centred if _in_features(prepared.centred) else centred @ prepared.centred.x.T

    def fit(
        self, prepared: PreparedRidgeCV, held_out: Int[Array, "folds h"], held_out_mask: Bool[Array, "folds h"]
    ) -> RidgeCVParams:
        """Every fold's own penalty and weights, one fold in memory at a time."""
        x, y = prepared.centred.x, prepared.centred.y
        train = training_mask(x.shape[0], held_out, held_out_mask, x.dtype)
        decompose = _by_features if _in_features(prepared.centred) else _by_stimuli

        def fit_one(train: Float[Array, " n"]) -> tuple[Array, Array, Array]:
            n = jnp.sum(train)
            x_mean, y_mean = (train @ x)[None] / n, (train @ y)[None] / n
            fold = decompose((x - x_mean) * train[:, None], (y - y_mean) * train[:, None], train)
            alpha = self._choose(fold, y.shape[1])
            weights = _solve(fold, alpha)
            offset = (train @ prepared.embedding)[None] @ weights / n
            chosen = alpha if self.alpha_per_target else alpha[0]
            return weights, (prepared.centred.y_mean + y_mean - offset)[0], chosen

        return RidgeCVParams(*jax.lax.map(fit_one, train))

    def predict(self, params: RidgeCVParams, embedded: Float[Array, "folds m d"]) -> Float[Array, "folds m q"]:
        """The targets predicted for embedded stimuli."""
        return embedded @ params.weights + params.intercept[:, None]

    def _choose(self, fold: _Fold, targets: int) -> Float[Array, " q"]:
        alphas = jnp.asarray(self.alphas, fold.right.dtype)
        errors = jax.lax.map(fold.squared_errors, alphas)
        if not self.alpha_per_target:
            errors = jnp.broadcast_to(jnp.sum(errors, axis=1, keepdims=True), (len(self.alphas), targets))
        return jax.lax.stop_gradient(alphas[jnp.argmin(errors, axis=0)])


def _by_features(x: Float[Array, "n p"], y: Float[Array, "n q"], train: Float[Array, " n"]) -> _Fold:
    """Eigenvectors of features x features; rows that do not train are zero in ``x`` and ``y``."""
    matrix, right = matmul_t(x, x), matmul_t(x, y)
    values, vectors = _eigh(matrix)
    scores, projected = jax.lax.stop_gradient((x @ vectors, vectors.T @ right))

    def squared_errors(alpha: Float[Array, ""]) -> Float[Array, " q"]:
        weight = 1.0 / (values + alpha)
        residual = y - scores @ (weight[:, None] * projected)
        leverage = scores**2 @ weight
        return _sum_of_squares(residual, 1.0 - 1.0 / jnp.sum(train) - leverage, train)

    return _Fold(matrix, right, values, vectors, squared_errors)


def _by_stimuli(x: Float[Array, "n p"], y: Float[Array, "n q"], train: Float[Array, " n"]) -> _Fold:
    """Eigenvectors of stimuli x stimuli.

    Centring puts the constant vector in the null space, from which an eigensolver would pick any basis. A known weight
    on it makes it an eigenvector of its own, whose share is taken off the diagonal of the inverse again: residual and
    ``1 - 1/n - leverage`` are alpha times the inverse's parts, without the cancellation that their plain forms suffer
    when there are more features than stimuli.
    """
    gram = x @ x.T
    constant = train / jnp.sqrt(jnp.sum(train))
    mean_square = jax.lax.stop_gradient(jnp.trace(gram) / jnp.sum(train))
    shift = jnp.where(mean_square > 0, mean_square, jnp.ones_like(mean_square))
    matrix = gram + shift * constant[:, None] * constant[None, :]
    values, vectors = _eigh(matrix)
    projected = jax.lax.stop_gradient(vectors.T @ y)

    def squared_errors(alpha: Float[Array, ""]) -> Float[Array, " q"]:
        weight = 1.0 / (values + alpha)
        diagonal = vectors**2 @ weight - constant**2 / (shift + alpha)
        return _sum_of_squares(vectors @ (weight[:, None] * projected), diagonal, train)

    return _Fold(matrix, y, values, vectors, squared_errors)


def _eigh(matrix: Float[Array, "d d"]) -> tuple[Float[Array, " d"], Float[Array, "d d"]]:
    values, vectors = jnp.linalg.eigh(jax.lax.stop_gradient(matrix))
    return jnp.maximum(values, 0.0), vectors


def _sum_of_squares(
    residual: Float[Array, "n q"], complement: Float[Array, " n"], train: Float[Array, " n"]
) -> Float[Array, " q"]:
    """Leave-one-out errors of the training stimuli, squared and summed."""
    scale = train / jnp.where(train > 0, complement, jnp.ones_like(complement))
    return jnp.sum((residual * scale[:, None]) ** 2, axis=0)


def _solve(fold: _Fold, alpha: Float[Array, " q"]) -> Float[Array, "d q"]:
    """Weights at the chosen penalties. The derivative is that of the linear system, not of its eigenvectors, which
    have none where eigenvalues repeat."""

    def apply(weights: Float[Array, "d q"]) -> Float[Array, "d q"]:
        return fold.matrix @ weights + alpha[None] * weights

    def solve(_: Callable[..., Array], right: Float[Array, "d q"]) -> Float[Array, "d q"]:
        return fold.vectors @ ((fold.vectors.T @ right) / (fold.values[:, None] + alpha[None]))

    return jax.lax.custom_linear_solve(apply, fold.right, solve, symmetric=True)


def _in_features(centred: Centred) -> bool:
    # With one feature fewer than stimuli, residuals are all but zero: then their other form is the accurate one.
    n, p = centred.x.shape
    return p < n - 1
