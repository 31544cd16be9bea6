"""Ridge and ordinary least squares: one factorisation of all stimuli serves every fold.

Leaving stimuli out of a ridge fit changes it as if their targets were replaced by what the rest predicts for them. With
the smoother :math:`H` of all stimuli, the held-out residuals of a fold solve the small system
:math:`(I - H_{oo})\\,c = (y - \\hat y)_o`, and what the fold predicts for them is :math:`y_o - c` (Allen's PRESS for
many rows). Least squares is alpha = 0, with its minimum-norm solution where the data leave a choice.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve
from jaxtyping import Array, Bool, Float, Int

from bsjax.engine.fallbacks import in_any_of_a_batch, with_fallback
from bsjax.metrics.linalg.positive_definite import cholesky_if_well_posed, fit_within_range, solve_within_range
from bsjax.metrics.linalg.stimulus_axes import stimulus_axes, takes_axes
from bsjax.metrics.numerics import left_of_product, matmul_t, transposed
from bsjax.metrics.regression.centring import Centred, centre, held_out_rows, training_mask, without_constants
from bsjax.metrics.regression.mapping import Traits
from bsjax.metrics.regression.whitening import mean_square, penalised_gram, whiten

# The largest square of a feature (or stimulus) as a share of the penalty, below which residuals hide the fit.
_LEAST_FIT = 0.01
# Of the largest feature: what differs by no more is the same.
_ROUNDING_ERRORS = 32
# What a fit leaves of stimuli at the least, as a power of the rounding error, so that it is known to 1e-3 in float32.
_LEAST_RESIDUAL_POWER = 0.45


class PreparedRidge(NamedTuple):
    """Products over all stimuli, of which every fold takes its held-out ones off.

    With fewer features than stimuli, ``embedding`` are the centred features, ``gram`` is theirs and ``cross`` their
    products with the targets. With more, ``embedding`` and ``gram`` are the Gram matrix between stimuli, and ``cross``
    the targets; in float32 the features are instead those along ``axes`` (see ``stimulus_axes``), few enough.
    """

    centred: Centred
    embedding: Float[Array, "n d"]
    gram: Float[Array, "d d"]
    cross: Float[Array, "d q"]
    axes: Float[Array, "p n"] | None


class RidgeParams(NamedTuple):
    """Weights on the embedded stimuli and the intercept of every fold."""

    weights: Float[Array, "folds d q"]
    intercept: Float[Array, "folds q"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Ridge:
    r"""Ridge regression with an unpenalised intercept, one ``alpha`` for all targets.

    Minimises :math:`\|y - xw - b\|^2 + \alpha\|w\|^2` (scikit-learn's convention: ``alpha`` is not divided by the
    number of stimuli). With ``alpha=0`` it is ordinary least squares, of minimum norm where the data are
    rank-deficient.

    The Gram matrix is taken over features or over stimuli, whichever are fewer; weights of features x targets are
    formed only in the first case. Folds are solved one after the other, so that only one is in memory. One whose
    factorisation finds it rank-deficient is solved by an eigendecomposition, with the null space left out.

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
    traits: ClassVar = Traits("inner products", True, ignores_zero_features=True, ignores_zero_targets=True)

    def prepare(self, x: Float[Array, "n p"], y: Float[Array, "n q"]) -> PreparedRidge:
        """Centres, and forms the smaller Gram matrix."""
        centred = without_constants(centre(x, y))
        axes = None
        if x.shape[1] >= x.shape[0]:
            if not takes_axes(x):
                gram = centred.x @ centred.x.T
                return PreparedRidge(centred, gram, gram, centred.y, None)
            axes, along = stimulus_axes(centred.x)
            centred = centred._replace(x=along)
        features = left_of_product(centred.x)
        return PreparedRidge(centred, centred.x, features @ centred.x, features @ centred.y, axes)

    def embed(self, prepared: PreparedRidge, x: Float[Array, "m p"]) -> Float[Array, "m d"]:
        """New stimuli as centred features, or as similarities to the prepared stimuli."""
        centred = x - prepared.centred.x_mean
        if prepared.axes is not None:
            return centred @ prepared.axes
        return centred if _in_features(prepared) else centred @ prepared.centred.x.T

    def fit(
        self, prepared: PreparedRidge, held_out: Int[Array, "folds h"], held_out_mask: Bool[Array, "folds h"]
    ) -> RidgeParams:
        """Weights of every fold."""
        return jax.lax.map(lambda fold: self._fit_one(prepared, *fold), (held_out, held_out_mask))

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

        if _in_features(prepared) and 2 * held_out.shape[1] > prepared.gram.shape[0]:

            def by_weights(fold: tuple[Int[Array, " h"], Bool[Array, " h"]]) -> Float[Array, "h q"]:
                return prepared.embedding[fold[0]] @ self._fit_one(prepared, *fold).weights

            return jax.lax.map(by_weights, (held_out, held_out_mask))
        # Of a fit that a large penalty makes small beside the targets, targets less residuals would leave their
        # rounding; without a feature that varies nothing else.
        largest = jnp.max(jnp.diagonal(prepared.gram))
        strong = (largest > _LEAST_FIT * self._alpha(prepared)) & (largest > 0)

        residuals, well_posed = self._held_out_residuals(prepared, held_out, held_out_mask)
        # Of stimuli with the same features the same is predicted, to which targets less residuals would add rounding.
        differ = jax.lax.map(lambda fold: _differ(prepared.embedding, *fold), (held_out, held_out_mask))
        failed = ~(well_posed & strong)

        def of_residuals() -> Float[Array, "folds h q"]:
            return (prepared.centred.y[held_out] - residuals) * differ[:, None, None].astype(residuals.dtype)

        def either() -> Float[Array, "folds h q"]:
            def one(fold: tuple[Array, ...]) -> Float[Array, "h q"]:  # so that there are never both of all folds
                rows, mask, missed, differs = fold
                by_residuals = (prepared.centred.y[rows] - missed) * differs.astype(missed.dtype)
                weights = self._fit_within_range(prepared, rows, mask).weights
                return jnp.where(failed, prepared.embedding[rows] @ weights, by_residuals)

            return jax.lax.map(one, (held_out, held_out_mask, residuals, differ))

        return jax.lax.cond(in_any_of_a_batch(failed), either, of_residuals)

    def _alpha(self, prepared: PreparedRidge) -> Float[Array, ""]:
        return jnp.asarray(self.alpha, prepared.gram.dtype)

    def _held_out_residuals(
        self, prepared: PreparedRidge, held_out: Int[Array, "folds h"], mask: Bool[Array, "folds h"]
    ) -> tuple[Float[Array, "folds h q"], Bool[Array, ""]]:
        """What the folds' predictions miss of their held-out targets, and whether all systems are well-posed."""
        y = prepared.centred.y
        n = y.shape[0]
        alpha = self._alpha(prepared)
        whitened = whiten(prepared.centred.x, prepared.gram, alpha, in_features=_in_features(prepared))
        base = matmul_t(y, whitened.rows).T  # the smaller of the two is the one to transpose

        def one(fold: tuple[Int[Array, " h"], Bool[Array, " h"]]) -> tuple[Float[Array, "h q"], Bool[Array, ""]]:
            rows, there = _rows(whitened.rows, *fold), fold[1].astype(y.dtype)
            both = there[:, None] * there[None]
            products, fitted = rows @ rows.T, rows @ base
            if _in_features(prepared):
                system, right = jnp.eye(len(there), dtype=y.dtype) - products - both / n, _rows(y, *fold) - fitted
            else:
                # The constant vector, to which the centred targets are orthogonal, is no part of the inverse.
                constant = 1.0 / (n * (alpha + mean_square(prepared.gram)))
                system, right = products - constant * both + jnp.diag(1.0 - there), fitted
            small, each = cholesky_if_well_posed(system)
            if _in_features(prepared):  # the identity less something has the rounding errors of the identity
                each &= jnp.min(jnp.diagonal(small)) ** 2 > float(jnp.finfo(y.dtype).eps) ** _LEAST_RESIDUAL_POWER
            return cho_solve((small, True), right), each

        residuals, each = jax.lax.map(one, (held_out, mask))
        return residuals, whitened.well_posed & jnp.all(each)

    def _fit_one(self, prepared: PreparedRidge, held_out: Int[Array, " h"], mask: Bool[Array, " h"]) -> RidgeParams:
        """Weights and intercept of one fold (no axis of folds), by taking its held-out rows off the Gram matrix."""
        x, y, alpha = prepared.centred.x, prepared.centred.y, self._alpha(prepared)
        train = training_mask(x.shape[0], held_out[None], mask[None], x.dtype)[0]
        count = jnp.sum(train)
        x_out, y_out = _rows(x, held_out, mask), _rows(y, held_out, mask)
        y_mean = -jnp.sum(y_out, axis=0, keepdims=True) / count
        if _in_features(prepared):
            mean = -jnp.sum(x_out, axis=0, keepdims=True) / count
            out = transposed(x_out)
            gram = prepared.gram - out @ x_out - count * mean.T @ mean
            cross = prepared.cross - out @ y_out - count * mean.T @ y_mean
            penalised = penalised_gram(gram, jnp.ones(gram.shape[0], x.dtype), alpha, in_features=True)
        else:
            mean = (train @ prepared.gram)[None] / count
            gram = prepared.gram - mean - mean.T + (mean @ train)[:, None] / count
            gram = gram * train[:, None] * train[None]
            cross = (y - y_mean) * train[:, None]
            penalised = penalised_gram(gram, train, alpha, in_features=False)
        cholesky, well_posed = cholesky_if_well_posed(penalised)
        # What is left after the subtraction may be rounding alone.
        smallest, largest = jnp.min(jnp.diagonal(cholesky)) ** 2, jnp.max(jnp.diagonal(prepared.gram))
        above_rounding = smallest > gram.shape[0] * jnp.finfo(x.dtype).eps * largest

        def by_cholesky() -> RidgeParams:
            weights = cho_solve((cholesky, True), cross)
            return RidgeParams(weights, (prepared.centred.y_mean + y_mean - mean @ weights)[0])

        return with_fallback(
            ~(well_posed & above_rounding), by_cholesky, lambda: self._fit_within_range(prepared, held_out, mask)
        )

    def _fit_within_range(
        self, prepared: PreparedRidge, held_out: Int[Array, " h"], mask: Bool[Array, " h"]
    ) -> RidgeParams:
        """The minimum-norm ``_fit_one``, of products of the training stimuli, in which no other leaves its rounding."""
        x, y, alpha = prepared.centred.x, prepared.centred.y, self._alpha(prepared)
        train = training_mask(x.shape[0], held_out[None], mask[None], x.dtype)[0]
        count = jnp.sum(train)
        x_mean, y_mean = (train @ x)[None] / count, (train @ y)[None] / count
        x_train, y_train = (x - x_mean) * train[:, None], (y - y_mean) * train[:, None]
        if _in_features(prepared):
            weights = fit_within_range(x_train, y_train, alpha)
            offset = x_mean @ weights
        else:
            weights = solve_within_range(x_train @ x_train.T, y_train, alpha)
            offset = (train @ prepared.embedding)[None] @ weights / count
        return RidgeParams(weights, (prepared.centred.y_mean + y_mean - offset)[0])


def _differ(x: Float[Array, "n d"], rows: Int[Array, " h"], mask: Bool[Array, " h"]) -> Bool[Array, ""]:
    """Whether any of these rows is another than the first by more than rounding."""
    chosen = jax.lax.stop_gradient(x[rows])
    rounding = _ROUNDING_ERRORS * float(jnp.finfo(x.dtype).eps) * jnp.max(jnp.abs(chosen))
    return jnp.any((jnp.abs(chosen - chosen[:1]) > rounding) & mask[:, None])


def _rows(values: Float[Array, "n p"], rows: Int[Array, " h"], mask: Bool[Array, " h"]) -> Float[Array, "h p"]:
    return held_out_rows(values, rows[None], mask[None])[0]


def _in_features(prepared: PreparedRidge) -> bool:
    n, p = prepared.centred.x.shape
    return p < n or prepared.axes is not None
