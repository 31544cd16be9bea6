r"""Ridge and ordinary least squares: one factorisation of all stimuli serves every fold.

Leaving stimuli out of a ridge fit changes it as if their targets were replaced by what the rest predicts for them. With
the smoother :math:`H` of all stimuli, the held-out residuals of a fold solve the small system
:math:`(I - H - 1/n)_{oo}\,c = (y - \hat y)_o`, and the fold predicts :math:`y_o - c` for them (Allen's PRESS for many
rows). Least squares is alpha = 0, with its minimum-norm solution where the data leave a choice.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from bsjax.engine.batches import batched_map
from bsjax.engine.primitives.triangular import solve_with_cholesky
from bsjax.engine.programs.fallbacks import with_fallback
from bsjax.engine.tolerances import rounding
from bsjax.metrics.linalg.positive_definite import cholesky_if_well_posed
from bsjax.metrics.numerics import inverse_root
from bsjax.metrics.regression.mapping import Mapping, Traits
from bsjax.metrics.regression.ridge_system import (
    Fold,
    PreparedRidge,
    held_out_residuals,
    minimum_norm,
    prepared_for_ridge,
    residuals_of_stimuli,
    weighted,
    without,
)

# The largest square of a feature (or stimulus) as a share of the penalty, below which residuals hide the fit.
_LEAST_FIT = 0.01


class RidgeParams(NamedTuple):
    """Weights on the embedded stimuli and the intercept of every fold."""

    weights: Float[Array, "folds d q"]
    intercept: Float[Array, "folds q"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Ridge(Mapping):
    r"""Ridge regression with an unpenalised intercept, one ``alpha`` for all targets.

    Minimises :math:`\|y - xw - b\|^2 + \alpha\|w\|^2` (scikit-learn's convention: ``alpha`` is not divided by the
    number of stimuli). With ``alpha=0`` it is ordinary least squares, of minimum norm where the data are
    rank-deficient.

    It is solved on the side of features or of stimuli, whichever are fewer; weights of features x targets are formed
    only in the first case. Folds that prove to be rank-deficient are solved by an eigendecomposition, with the null
    space left out.

    Args:
        alpha: the penalty, a number or a traced scalar: of many penalties under ``vmap`` there is one program, and the
            score has a derivative in it.

    Source: Hoerl & Kennard 1970; held-out residuals: Allen 1974.

    Example:
        >>> import numpy as np
        >>> from bsjax.metrics import cross_validate, make_folds
        >>> x = jnp.asarray(np.random.RandomState(0).randn(40, 3))
        >>> folds = make_folds(40, [(np.arange(30), np.arange(30, 40))])
        >>> def score(alpha):
        ...     return cross_validate(x, x[:, :2] ** 2, folds, mapping=Ridge(alpha))
        >>> jax.vmap(score)(jnp.array([1.0, 10.0, 100.0])).shape
        (3, 1, 2)
    """

    alpha: float | Float[Array, ""] = 1.0

    @property
    def traits(self) -> Traits:
        """What may be done with it."""
        return Traits("inner products", True, ignores_zero_features=True, ignores_zero_targets=True)

    def interpolates(self, features: int, stimuli: int) -> bool:
        """Whether least squares goes through all training targets: centred stimuli have a rank of one less."""
        return features >= stimuli - 1 and not float(self.alpha)

    def prepare(self, x: Float[Array, "n p"], y: Float[Array, "n q"]) -> PreparedRidge:
        """Centres, and forms the smaller Gram matrix."""
        return prepared_for_ridge(x, y)

    def embed(self, prepared: PreparedRidge, x: Float[Array, "m p"]) -> Float[Array, "m d"]:
        """New stimuli as centred features, or as similarities to the prepared stimuli."""
        return prepared.embed(x)

    def fit(
        self, prepared: PreparedRidge, held_out: Int[Array, "folds h"], held_out_mask: Bool[Array, "folds h"]
    ) -> RidgeParams:
        """Weights of every fold."""
        return RidgeParams(*batched_map(lambda fold: self._fit(prepared, fold), Fold(held_out, held_out_mask)))

    def predict(self, params: RidgeParams, embedded: Float[Array, "folds m d"]) -> Float[Array, "folds m q"]:
        """The targets predicted for embedded stimuli, less the intercept."""
        return embedded @ params.weights

    def predict_held_out(
        self, prepared: PreparedRidge, held_out: Int[Array, "folds h"], held_out_mask: Bool[Array, "folds h"]
    ) -> Float[Array, "folds h q"]:
        """What every fold predicts for the stimuli that it leaves out, less a constant, by the smaller of two systems.

        A fold that leaves out few stimuli solves for their residuals and forms no weights. One that leaves out more
        than half as many as there are features takes them off the Gram matrix and factorises that.
        """
        folds, alpha, embedding = Fold(held_out, held_out_mask), self._alpha(prepared.gram), prepared.embedding
        if prepared.cross is not None and 2 * held_out.shape[1] > len(prepared.gram):
            return batched_map(lambda fold: embedding[fold.held_out] @ self._fit(prepared, fold)[0], folds)
        # Of a fit that a large penalty makes small beside the targets, targets less residuals would leave their
        # rounding; without a feature that varies nothing else.
        largest = jnp.max(jnp.diagonal(prepared.gram))
        strong = (largest > _LEAST_FIT * alpha) & (largest > 0)
        residuals, well_posed = held_out_residuals(prepared, alpha, folds)

        def by_weights() -> Float[Array, "folds h q"]:
            return batched_map(lambda fold: embedding[fold.held_out] @ minimum_norm(prepared, alpha, fold), folds)

        return with_fallback(~(well_posed & strong), lambda: prepared.centred.y[held_out] - residuals, by_weights)

    def predict_weighted(
        self,
        gram: Float[Array, "n n"],
        y: Float[Array, "n q"],
        weights: Float[Array, " n"],
        held_out: Int[Array, "folds h"],
        held_out_mask: Bool[Array, "folds h"],
    ) -> tuple[Float[Array, "folds h q"], Bool[Array, ""]]:
        """What every fold predicts for what it leaves out, less a constant, with errors that count ``weights`` times.

        Args:
            gram: inner products between stimuli, of features centred or not.
            y: targets.
            weights: of stimuli; those of weight 0 are no part of it.
            held_out, held_out_mask: as in ``Folds``.

        Returns:
            The predictions, and whether they are sure to be known to as many digits as by other ways.
        """
        system, alpha, counted = weighted(gram, y, weights), self._alpha(gram), weights > 0
        folds = Fold(held_out, held_out_mask & counted[held_out])
        residuals, well_posed = residuals_of_stimuli(system, alpha, weights, folds)
        scale = inverse_root(weights, counted)
        predicted = (system.right[held_out] - residuals) * scale[held_out][:, :, None]
        largest = jnp.max(jnp.diagonal(system.matrix) * scale**2)
        return predicted, well_posed & (largest > _LEAST_FIT * alpha)

    def _alpha(self, gram: Float[Array, "d d"]) -> Float[Array, ""]:
        return jnp.asarray(self.alpha, gram.dtype)

    def _fit(self, prepared: PreparedRidge, fold: Fold) -> tuple[Float[Array, "d q"], Float[Array, " q"]]:
        """Weights and intercept of one fold, by taking its held-out rows off the products of all stimuli."""
        system, alpha = without(prepared, fold), self._alpha(prepared.gram)
        cholesky, well_posed = cholesky_if_well_posed(system.penalised(alpha))
        # What is left after the subtraction may be rounding alone.
        smallest, largest = jnp.min(jnp.diagonal(cholesky)) ** 2, jnp.max(jnp.diagonal(prepared.gram))
        above_rounding = smallest > len(cholesky) * rounding(cholesky) * largest
        weights = with_fallback(
            ~(well_posed & above_rounding),
            lambda: solve_with_cholesky(cholesky, system.right),
            lambda: minimum_norm(prepared, alpha, fold),
        )
        return weights, (prepared.centred.y_mean + system.y_mean - system.x_mean @ weights)[0]
