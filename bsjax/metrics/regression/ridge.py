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
from bsjax.engine.fallbacks import with_fallback
from bsjax.engine.primitives.products import matmul_t
from bsjax.engine.primitives.triangular import solve_with_cholesky
from bsjax.metrics.linalg.positive_definite import cholesky_if_well_posed
from bsjax.metrics.regression.centring import centre, without_constants
from bsjax.metrics.regression.mapping import Mapping, Traits
from bsjax.metrics.regression.ridge_sides import Fit, Fold, Side, WeightedSide, smaller_side, weighted_side

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

    def prepare(self, x: Float[Array, "n p"], y: Float[Array, "n q"]) -> Side:
        """Centres, and forms the smaller Gram matrix."""
        return smaller_side(without_constants(centre(x, y)), self.alpha)

    def embed(self, prepared: Side, x: Float[Array, "m p"]) -> Float[Array, "m d"]:
        """New stimuli as centred features, or as similarities to the prepared stimuli."""
        return prepared.embed(x)

    def fit(
        self, prepared: Side, held_out: Int[Array, "folds h"], held_out_mask: Bool[Array, "folds h"]
    ) -> RidgeParams:
        """Weights of every fold."""

        def one(fold: Fold) -> RidgeParams:
            weights, intercept = _fit(prepared, fold)
            return RidgeParams(weights, (prepared.centred.y_mean + intercept)[0])

        return batched_map(one, Fold(held_out, held_out_mask))

    def predict(self, params: RidgeParams, embedded: Float[Array, "folds m d"]) -> Float[Array, "folds m q"]:
        """The targets predicted for embedded stimuli, less the intercept."""
        return embedded @ params.weights

    def predict_held_out(
        self, prepared: Side, held_out: Int[Array, "folds h"], held_out_mask: Bool[Array, "folds h"]
    ) -> Float[Array, "folds h q"]:
        """What every fold predicts for the stimuli that it leaves out, less a constant, by the smaller of two systems.

        A fold that leaves out few stimuli solves for their residuals and forms no weights. One that leaves out more
        than half as many as there are features takes them off the Gram matrix and factorises that.
        """
        folds = Fold(held_out, held_out_mask)
        if prepared.has_fewer_weights(held_out.shape[1]):
            return batched_map(lambda fold: prepared.embedding[fold.held_out] @ _fit(prepared, fold).weights, folds)
        # Of a fit that a large penalty makes small beside the targets, targets less residuals would leave their
        # rounding; without a feature that varies nothing else.
        largest = jnp.max(jnp.diagonal(prepared.gram))
        strong = (largest > _LEAST_FIT * prepared.alpha) & (largest > 0)
        residuals, well_posed = _held_out_residuals(prepared, folds)

        def by_residuals() -> Float[Array, "folds h q"]:
            return prepared.centred.y[held_out] - residuals

        def within_range() -> Float[Array, "folds h q"]:
            return batched_map(
                lambda fold: prepared.embedding[fold.held_out] @ prepared.fit_within_range(fold).weights, folds
            )

        return with_fallback(~(well_posed & strong), by_residuals, within_range)

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
        side = weighted_side(gram, y, weights, self.alpha)
        folds = Fold(held_out, held_out_mask & (weights > 0)[held_out])
        residuals, well_posed = _held_out_residuals(side, folds)
        there = weights > 0
        scale = jnp.where(there, 1.0 / jnp.where(there, side.roots, 1.0), 0.0)
        predicted = (side.y[held_out] - residuals) * scale[held_out][:, :, None]
        largest = jnp.max(jnp.diagonal(side.gram) * scale**2)
        return predicted, well_posed & (largest > _LEAST_FIT * side.alpha)


def _fit(side: Side, fold: Fold) -> Fit:
    """Of one fold (no axis of folds), by taking its held-out rows off the products of all stimuli."""
    penalised, right, x_mean, y_mean = side.equations(fold)
    cholesky, well_posed = cholesky_if_well_posed(penalised)
    # What is left after the subtraction may be rounding alone.
    smallest, largest = jnp.min(jnp.diagonal(cholesky)) ** 2, jnp.max(jnp.diagonal(side.gram))
    above_rounding = smallest > len(penalised) * jnp.finfo(penalised.dtype).eps * largest

    def by_cholesky() -> Fit:
        weights = solve_with_cholesky(cholesky, right)
        return Fit(weights, y_mean - x_mean @ weights)

    return with_fallback(~(well_posed & above_rounding), by_cholesky, lambda: side.fit_within_range(fold))


def _held_out_residuals(side: Side | WeightedSide, folds: Fold) -> tuple[Float[Array, "folds h q"], Bool[Array, ""]]:
    """What the folds' predictions miss of their held-out targets, and whether all systems are well-posed."""
    whitened = side.whitened()
    targets = matmul_t(side.y, whitened.rows).T  # the smaller of the two is the one to transpose

    def one(fold: Fold) -> tuple[Float[Array, "h q"], Bool[Array, ""]]:
        system, right, least_pivot = side.residual_equations(whitened, targets, fold)
        small, each = cholesky_if_well_posed(system)
        each &= jnp.min(jnp.diagonal(small)) ** 2 > least_pivot
        return solve_with_cholesky(small, right), each

    residuals, each = batched_map(one, folds)
    return residuals, whitened.well_posed & jnp.all(each)
