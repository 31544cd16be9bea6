r"""Ridge regression and ordinary least squares: a single factorisation of all stimuli serves every fold.

Omitting stimuli from a ridge fit is equivalent to replacing their targets by the predictions from the other stimuli.
With the smoother :math:`H` of all stimuli, the held-out residuals of a fold solve the small system
:math:`(I - H - 1/n)_{oo}\,c = (y - \hat y)_o`, and the predictions of the fold are :math:`y_o - c` (Allen's PRESS for
several rows). Ordinary least squares is alpha = 0, with the minimum-norm solution for rank-deficient data.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from bsjax.engine.batches import batched_map
from bsjax.engine.primitives.triangular import solve_with_cholesky
from bsjax.engine.programs.fallbacks import with_fallback
from bsjax.engine.tolerances import CANCELLED, LEFT_OF_SQUARES, rounding
from bsjax.metrics.arrays import Features, HeldOut, HeldOutMask, PerStimulus, Scalar, Targets
from bsjax.metrics.linalg.positive_definite import cholesky_if_well_posed, least_curvature
from bsjax.metrics.numerics import inverse_root, nonzero
from bsjax.metrics.regression.mapping import Traits, with_leaves
from bsjax.metrics.regression.ridge_system import (
    Fold,
    PreparedRidge,
    RidgeMapping,
    held_out_residuals,
    minimum_norm,
    residuals_of_stimuli,
    weighted,
    without,
)

# Largest squared feature (or stimulus) relative to the penalty, below which rounding errors of residuals hide the fit.
_LEAST_FIT = 0.01
# Steps of refinement; each reduces the error of a solution by its condition number times the rounding error.
_REFINEMENTS = 4


class RidgeParams(NamedTuple):
    """Weights of the embedding's coordinates, and intercept, of every fold."""

    weights: Float[Array, "folds d q"]
    intercept: Float[Array, "folds q"]


@with_leaves("alpha")
class Ridge(RidgeMapping):
    r"""Ridge regression with an unpenalised intercept, one ``alpha`` for all targets.

    Minimises :math:`\|y - xw - b\|^2 + \alpha\|w\|^2` (scikit-learn's convention: ``alpha`` is not divided by the
    number of stimuli). ``alpha=0`` is ordinary least squares, with the minimum-norm solution for rank-deficient data.

    The regression is solved in the space of features or of stimuli, whichever are fewer; weights of features x targets
    are only computed in the first case. Rank-deficient folds are solved by an eigendecomposition without the null
    space.

    Args:
        alpha: the penalty, a number or a traced scalar. It may be batched with ``vmap`` in one program, and scores are
            differentiable with respect to it.

    Source: Hoerl & Kennard 1970; held-out residuals: Allen 1974.

    Example:
        >>> import jax, numpy as np
        >>> from bsjax.metrics import cross_validate, make_folds
        >>> x = jnp.asarray(np.random.RandomState(0).randn(40, 3))
        >>> folds = make_folds(40, [(np.arange(30), np.arange(30, 40))])
        >>> def score(alpha):
        ...     return cross_validate(x, x[:, :2] ** 2, folds, mapping=Ridge(alpha))
        >>> jax.vmap(score)(jnp.array([1.0, 10.0, 100.0])).shape
        (3, 1, 2)
    """

    alpha: float | Scalar = 1.0

    @property
    def traits(self) -> Traits:
        """Predictions depend on inner products; targets are independent."""
        return Traits("inner products", True, ignores_zero_features=True, ignores_zero_targets=True)

    def interpolates(self, features: int, stimuli: int) -> bool:
        """True for least squares with at least ``stimuli - 1`` features, the rank of centred stimuli."""
        return features >= stimuli - 1 and not float(self.alpha)

    def fit(self, prepared: PreparedRidge, held_out: HeldOut, held_out_mask: HeldOutMask) -> RidgeParams:
        """Weights and intercept of every fold."""
        return RidgeParams(*batched_map(lambda fold: self._fit(prepared, fold), Fold(held_out, held_out_mask)))

    def predict_held_out(
        self, prepared: PreparedRidge, held_out: HeldOut, held_out_mask: HeldOutMask
    ) -> Float[Array, "folds h q"]:
        """Predicted targets of the held-out stimuli of every fold, up to a constant, by the smaller of two systems.

        A fold with few held-out stimuli solves for their residuals and computes no weights. If the held-out stimuli
        outnumber half of the features, they are subtracted from the Gram matrix, which is then factorised.
        """
        folds, alpha, embedding = Fold(held_out, held_out_mask), self._alpha(prepared.gram), prepared.embedding
        if prepared.cross is not None and 2 * held_out.shape[1] > len(prepared.gram):
            return batched_map(lambda fold: _predicted(embedding, self._fit(prepared, fold)[0], fold), folds)
        # With a large penalty predictions are small relative to the targets, and targets minus residuals would be
        # mostly rounding error; entirely so if no feature varies, or if held-out stimuli resemble no other.
        largest = jnp.max(jnp.diagonal(prepared.gram))
        strong = (largest > _LEAST_FIT * alpha) & (largest > 0)
        residuals, well_posed = held_out_residuals(prepared, alpha, folds)
        y = prepared.centred.y[held_out]
        left = _is_above_rounding(y - residuals, prepared.centred.y, jnp.ones(len(prepared.centred.y), y.dtype), folds)

        def by_weights() -> Float[Array, "folds h q"]:
            return batched_map(lambda fold: _predicted(embedding, minimum_norm(prepared, alpha, fold), fold), folds)

        return with_fallback(~(well_posed & strong & left), lambda: y - residuals, by_weights)

    def predict_weighted(
        self, gram: Float[Array, "n n"], y: Targets, weights: PerStimulus, held_out: HeldOut, held_out_mask: HeldOutMask
    ) -> tuple[Float[Array, "folds h q"], Bool[Array, ""]]:
        """Predicted targets of the held-out stimuli of every fold, up to a constant, with weighted squared errors.

        Args:
            gram: inner products between stimuli, of centred or uncentred features.
            y: targets.
            weights: weights of the stimuli; stimuli of weight 0 are omitted.
            held_out, held_out_mask: as in ``Folds``.

        Returns:
            The predictions, and whether they are as accurate as those of a fit to copies of the stimuli.
        """
        system, alpha, counted = weighted(gram, y, weights), self._alpha(gram), weights > 0
        folds = Fold(held_out, held_out_mask & counted[held_out])
        residuals, well_posed = residuals_of_stimuli(system, alpha, weights, folds)
        scale, right = inverse_root(weights, counted), system.right[held_out]
        predicted = (right - residuals) * scale[held_out][:, :, None]
        largest = jnp.max(jnp.diagonal(system.matrix) * scale**2)
        left = _is_above_rounding(predicted, system.right * scale[:, None], weights, folds)
        return predicted, well_posed & (largest > _LEAST_FIT * alpha) & left

    def weights_within(
        self, x: Features, y: Targets, stimuli: Scalar, working: str
    ) -> tuple[Float[Array, "p q"], Float[Array, " q"]]:
        r"""Weights by a factorisation in the dtype ``working``, refined in float64, and a bound of their distance.

        With fewer features than stimuli, the distance of any weights from the exact ones is at most that of their
        gradient :math:`g = X^T (y - X w) - \alpha w` from zero, divided by :math:`\alpha + \lambda_{\min}(X^T X)`.
        Otherwise :math:`w = X^T c`, and with the residual :math:`\rho = y - X w - \alpha c`, it is

        .. math:: \|X^T (X X^T + \alpha)^{-1} \rho\| \le \|\rho\| / 2 \sqrt\alpha

        because :math:`\sigma / (\sigma^2 + \alpha) \le 1 / 2 \sqrt\alpha` for every singular value. Bounds include the
        rounding errors of gradient and residual.

        Source: Higham 2002, "Accuracy and Stability of Numerical Algorithms", chapter 12 (iterative refinement).
        """
        size, lengths = nonzero(jnp.sqrt(jnp.sum(x**2))), nonzero(jnp.sqrt(jnp.sum(y**2, axis=0)))
        x, y, alpha = x / size, y / lengths[None], jnp.asarray(self.alpha, x.dtype) / size**2
        few, rough = x.shape[1] < len(x), x.astype(working)
        gram = rough.T @ rough if few else rough @ rough.T
        null = jnp.where(jnp.diagonal(gram) > 0, 0.0, 1.0).astype(working)  # stimuli or features of zeros
        factor = jnp.linalg.cholesky(gram + jnp.diag(null + alpha.astype(working)))

        def missed(found: Float[Array, "d q"]) -> tuple[Float[Array, "d q"], Targets]:
            residual = y - x @ (found if few else x.T @ found)
            return (x.T @ residual if few else residual) - alpha * found, residual

        found = jnp.zeros((len(gram), y.shape[1]), x.dtype)
        for _ in range(_REFINEMENTS):
            found = found + solve_with_cholesky(factor, missed(found)[0].astype(working)).astype(x.dtype)
        left, residual, of_found = (jnp.sqrt(jnp.sum(side**2, axis=0)) for side in (*missed(found), found))
        terms = (len(x) + 8) * (residual if few else of_found) + (x.shape[1] + 8) * (1.0 + alpha) * of_found + 8.0
        curvature = alpha + least_curvature(x) if few else 2.0 * jnp.sqrt(alpha)
        scale = lengths / size
        return (found if few else x.T @ found) * scale[None], (left + rounding(x) * terms) / curvature * scale

    def _alpha(self, gram: Float[Array, "d d"]) -> Scalar:
        return jnp.asarray(self.alpha, gram.dtype)

    def _fit(self, prepared: PreparedRidge, fold: Fold) -> tuple[Float[Array, "d q"], Float[Array, " q"]]:
        """Weights and intercept of one fold, by subtracting its held-out rows from the products of all stimuli."""
        system, alpha = without(prepared, fold), self._alpha(prepared.gram)
        cholesky, well_posed = cholesky_if_well_posed(system.penalised(alpha))
        # The remainder after the subtraction may be rounding error only.
        smallest, largest = jnp.min(jnp.diagonal(cholesky)) ** 2, jnp.max(jnp.diagonal(prepared.gram))
        above_rounding = smallest > len(cholesky) * rounding(cholesky) * largest
        weights = with_fallback(
            ~(well_posed & above_rounding),
            lambda: solve_with_cholesky(cholesky, system.right),
            lambda: minimum_norm(prepared, alpha, fold),
        )
        return weights, (prepared.centred.y_mean + system.y_mean - system.x_mean @ weights)[0]


def _is_above_rounding(
    predicted: Float[Array, "folds h q"], y: Targets, weights: PerStimulus, folds: Fold
) -> Bool[Array, ""]:
    """Whether predictions, differences of targets (of weighted mean 0) and residuals, differ by more than rounding."""
    # Targets that are constant over the training stimuli of a fold, as of neuroids that respond once, do not count.
    held_out, mask = folds
    times, held = jnp.where(mask, weights[held_out], 0.0)[:, :, None], y[held_out]
    squares = jnp.sum(weights[:, None] * y**2, axis=0, keepdims=True)
    trained = nonzero(jnp.sum(weights) - jnp.sum(times, axis=1))
    left = squares - jnp.sum(times * held**2, axis=1) - jnp.sum(times * held, axis=1) ** 2 / trained
    varies = left > rounding(y, LEFT_OF_SQUARES * len(y)) * squares
    terms = jnp.max(jnp.abs(held), axis=1, where=mask[:, :, None], initial=0.0)
    return jnp.all((_spread(predicted, mask) > rounding(y, CANCELLED) * terms) | ~varies)


def _predicted(embedding: Float[Array, "n d"], weights: Float[Array, "d q"], fold: Fold) -> Float[Array, "h q"]:
    """Predictions of held-out stimuli; 0 if they are one value up to rounding, as of stimuli that resemble no other."""
    rows = embedding[fold.held_out]
    predicted = rows @ weights
    longest = jnp.max(jnp.sqrt(jnp.sum(rows**2, axis=1)), where=fold.mask, initial=0.0)
    terms = longest * jnp.sqrt(jnp.sum(weights**2, axis=0))
    one_value = _spread(predicted[None], fold.mask[None])[0] <= rounding(rows, CANCELLED) * terms
    return jnp.where(jax.lax.stop_gradient(one_value)[None], 0.0, predicted)


def _spread(predicted: Float[Array, "folds h q"], mask: HeldOutMask) -> Float[Array, "folds q"]:
    """The range of the predictions for the held-out stimuli of each fold."""
    where = mask[:, :, None]
    return jnp.max(predicted, axis=1, where=where, initial=-jnp.inf) - jnp.min(
        predicted, axis=1, where=where, initial=jnp.inf
    )
