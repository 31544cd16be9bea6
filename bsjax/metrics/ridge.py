"""Ridge and ordinary least squares: one factorisation of all stimuli serves every fold.

Leaving stimuli out of a ridge fit changes it as if their targets were replaced by what the rest predicts for them. With
the smoother :math:`H` of all stimuli, the held-out residuals of a fold solve the small system
:math:`(I - H_{oo})\\,c = (y - \\hat y)_o`, and its fit is the whole one with :math:`y_o` lowered by :math:`c`
(Allen's PRESS for many rows). Least squares is alpha = 0, with its minimum-norm solution where the data leave a choice.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve, solve_triangular
from jaxtyping import Array, Bool, Float, Int

from bsjax.metrics.centring import Centred, centre, held_out_rows, training_mask, without_constants
from bsjax.metrics.numerics import matmul_t, transposed
from bsjax.metrics.positive_definite import cholesky_if_well_posed, solve_within_range


class PreparedRidge(NamedTuple):
    """The factorised smoother of all stimuli.

    In feature coordinates (fewer features than stimuli) both ``embedding`` and ``factor`` are the whitened features
    :math:`z_i = L^{-1} x_i`, for which :math:`H = z z^T`. In stimulus coordinates ``embedding`` is the Gram matrix of
    the centred features and ``factor`` the columns of :math:`L^{-1}`, of which :math:`I - H` is made without
    cancellation.
    """

    centred: Centred
    embedding: Float[Array, "n d"]
    cholesky: Float[Array, "d d"]
    factor: Float[Array, "n d"]
    well_posed: Bool[Array, ""]


class RidgeParams(NamedTuple):
    """Weights on the embedded stimuli and the intercept of every fold."""

    weights: Float[Array, "folds d q"]
    intercept: Float[Array, "folds q"]


@dataclass(frozen=True)
class Ridge:
    r"""Ridge regression with an unpenalised intercept, one ``alpha`` for all targets.

    Minimises :math:`\|y - xw - b\|^2 + \alpha\|w\|^2` (scikit-learn's convention: ``alpha`` is not divided by the
    number of stimuli). With ``alpha=0`` it is ordinary least squares, of minimum norm where the data are
    rank-deficient.

    The Gram matrix is taken over features or over stimuli, whichever are fewer; weights of features x targets are
    formed only in the first case. Where the factorisation finds the problem rank-deficient, every fold is solved by
    an eigendecomposition of its own Gram matrix, with the null space left out.

    Source: Hoerl & Kennard 1970; held-out residuals: Allen 1974.
    """

    alpha: float = 1.0
    reported: ClassVar[tuple[str, ...]] = ()

    def prepare(self, x: Float[Array, "n p"], y: Float[Array, "n q"]) -> PreparedRidge:
        """Centres, forms the smaller Gram matrix and factorises it once."""
        centred = without_constants(centre(x, y))
        n, p = x.shape
        if p < n:
            gram = matmul_t(centred.x, centred.x)
            # A feature that never varies has zero weight, whatever stands on its diagonal.
            silent = jnp.where(jnp.diagonal(gram) > 0, 0.0, 1.0).astype(x.dtype)
            cholesky, well_posed = cholesky_if_well_posed(
                gram + self.alpha * jnp.eye(p, dtype=x.dtype) + jnp.diag(silent)
            )
            embedding = factor = _whiten(cholesky, centred.x)
        else:
            embedding = centred.x @ centred.x.T
            # Centring leaves the constant vector in the null space: any weight there makes the matrix invertible.
            shift = _constant_shift(embedding)
            gram = embedding + self.alpha * jnp.eye(n, dtype=x.dtype) + shift / n
            cholesky, well_posed = cholesky_if_well_posed(gram)
            factor = solve_triangular(cholesky, jnp.eye(n, dtype=x.dtype), lower=True).T
        return PreparedRidge(centred, embedding, cholesky, factor, well_posed)

    def embed(self, prepared: PreparedRidge, x: Float[Array, "m p"]) -> Float[Array, "m d"]:
        """New stimuli as whitened features, or as similarities to the prepared stimuli."""
        centred = x - prepared.centred.x_mean
        return _whiten(prepared.cholesky, centred) if _in_features(prepared) else centred @ prepared.centred.x.T

    def fit(
        self, prepared: PreparedRidge, held_out: Int[Array, "folds h"], held_out_mask: Bool[Array, "folds h"]
    ) -> RidgeParams:
        """Weights of every fold from the whole fit and the fold's held-out residuals."""
        whole = self._fit_features if _in_features(prepared) else self._fit_stimuli
        params, well_posed = whole(prepared, held_out, held_out_mask)
        return jax.lax.cond(
            well_posed & prepared.well_posed,
            lambda: params,
            lambda: self._fit_each_fold(prepared, held_out, held_out_mask),
        )

    def predict(self, params: RidgeParams, embedded: Float[Array, "folds m d"]) -> Float[Array, "folds m q"]:
        """The targets predicted for embedded stimuli."""
        return embedded @ params.weights + params.intercept[:, None]

    def _fit_features(
        self, prepared: PreparedRidge, held_out: Int[Array, "folds h"], mask: Bool[Array, "folds h"]
    ) -> tuple[RidgeParams, Bool[Array, ""]]:
        y, z = prepared.centred.y, prepared.factor
        n = y.shape[0]
        projected = matmul_t(z, y)
        z_out = held_out_rows(z, held_out, mask)
        y_out = held_out_rows(y, held_out, mask)
        ones = mask.astype(y.dtype)
        smoother = jnp.einsum("fhd,fgd->fhg", z_out, z_out) + ones[:, :, None] * ones[:, None, :] / n
        remainder = jnp.eye(mask.shape[1], dtype=y.dtype)[None] - smoother
        residuals, well_posed = _solve_small(remainder, y_out - z_out @ projected[None])
        weights = projected[None] - transposed(z_out) @ residuals
        return RidgeParams(weights, self._intercept(prepared, residuals)), well_posed

    def _fit_stimuli(
        self, prepared: PreparedRidge, held_out: Int[Array, "folds h"], mask: Bool[Array, "folds h"]
    ) -> tuple[RidgeParams, Bool[Array, ""]]:
        y, columns = prepared.centred.y, prepared.factor
        n = y.shape[0]
        # The inverse away from the constant vector, to which the centred targets are orthogonal.
        constant = 1.0 / (n * (self.alpha + _constant_shift(prepared.embedding)))
        dual = columns @ matmul_t(columns, y)
        out = held_out_rows(columns, held_out, mask)
        ones = mask.astype(y.dtype)
        inverse = jnp.einsum("fhd,fgd->fhg", out, out) - constant * ones[:, :, None] * ones[:, None, :]
        inverse = inverse + jnp.eye(mask.shape[1], dtype=y.dtype)[None] * (1.0 - ones)[:, :, None]
        residuals, well_posed = _solve_small(inverse, held_out_rows(dual, held_out, mask))
        correction = columns[None] @ (transposed(out) @ residuals)
        correction = correction - constant * jnp.sum(residuals, axis=1, keepdims=True)
        return RidgeParams(dual[None] - correction, self._intercept(prepared, residuals)), well_posed

    def _intercept(self, prepared: PreparedRidge, residuals: Float[Array, "folds h q"]) -> Float[Array, "folds q"]:
        return prepared.centred.y_mean - jnp.sum(residuals, axis=1) / prepared.centred.y.shape[0]

    def _fit_each_fold(
        self, prepared: PreparedRidge, held_out: Int[Array, "folds h"], mask: Bool[Array, "folds h"]
    ) -> RidgeParams:
        """Minimum-norm solution of each fold by itself, one fold in memory at a time."""
        x, y = prepared.centred.x, prepared.centred.y
        weights = training_mask(x.shape[0], held_out, mask, x.dtype)

        def fit_one(train: Float[Array, " n"]) -> tuple[Float[Array, "d q"], Float[Array, " q"]]:
            count = jnp.sum(train)
            x_mean = (train @ x)[None] / count
            y_mean = (train @ y)[None] / count
            x_train = (x - x_mean) * train[:, None]
            y_train = (y - y_mean) * train[:, None]
            if _in_features(prepared):
                solution = solve_within_range(matmul_t(x_train, x_train), matmul_t(x_train, y_train), self.alpha)
                offset = x_mean @ solution
                solution = prepared.cholesky.T @ solution  # on whitened features
            else:
                solution = solve_within_range(x_train @ x_train.T, y_train, self.alpha)
                offset = (train @ prepared.embedding)[None] @ solution / count
            return solution, (prepared.centred.y_mean + y_mean - offset)[0]

        return RidgeParams(*jax.lax.map(fit_one, weights))


def _whiten(cholesky: Float[Array, "p p"], x: Float[Array, "m p"]) -> Float[Array, "m p"]:
    return solve_triangular(cholesky, transposed(x), lower=True).T


def _in_features(prepared: PreparedRidge) -> bool:
    n, p = prepared.centred.x.shape
    return p < n


def _constant_shift(gram: Float[Array, "n n"]) -> Float[Array, ""]:
    mean_square = jnp.trace(gram) / gram.shape[0]
    return jnp.where(mean_square > 0, mean_square, jnp.ones_like(mean_square))


def _solve_small(
    matrices: Float[Array, "folds h h"], right: Float[Array, "folds h q"]
) -> tuple[Float[Array, "folds h q"], Bool[Array, ""]]:
    if matrices.shape[1] == 0:  # nothing held out
        return right, jnp.asarray(True)
    factors, well_posed = jax.vmap(cholesky_if_well_posed)(matrices)
    solution = jax.vmap(lambda factor, b: cho_solve((factor, True), b))(factors, right)
    return solution, jnp.all(well_posed)
