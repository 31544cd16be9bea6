r"""The two sides that a ridge regression can be solved on: its features, or its stimuli where these are fewer.

With :math:`K = X X^T` and :math:`C = X^T X`, the weights of features are :math:`(C + \alpha)^{-1} X^T Y`, those of
stimuli :math:`(K + \alpha)^{-1} Y`, and both predict the same. Each side knows its equations on the stimuli that train
a fold, which come from those of all stimuli by taking the held-out rows off, and those of the residuals of the
held-out stimuli, which come from the fit to all.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from bsjax.engine.fallbacks import with_fallback
from bsjax.engine.primitives.decompositions import eigh
from bsjax.engine.primitives.products import cross_products, transposed
from bsjax.engine.primitives.triangular import solve_lower
from bsjax.engine.row_blocks import over_blocks
from bsjax.metrics.linalg.positive_definite import (
    cholesky_if_well_posed,
    fit_within_range,
    inverse_factor,
    solve_within_range,
)
from bsjax.metrics.linalg.stimulus_axes import stimulus_axes, takes_axes
from bsjax.metrics.regression.centring import Centred, held_out_rows, training_mask

# What a fit leaves of stimuli at the least, as a power of the rounding error, so that it is known to 1e-3 in float32.
_LEAST_RESIDUAL_POWER = 0.45


class Fold(NamedTuple):
    """The stimuli that a fold leaves out, padded to one length."""

    held_out: Int[Array, " h"]
    mask: Bool[Array, " h"]

    def rows(self, values: Float[Array, "n p"]) -> Float[Array, "h p"]:
        """Those of the held-out stimuli, zero where padded."""
        return held_out_rows(values, self.held_out[None], self.mask[None])[0]

    def train(self, values: Float[Array, "n p"]) -> Float[Array, " n"]:
        """1 for the stimuli that it is fitted on, 0 for the others."""
        return training_mask(len(values), self.held_out[None], self.mask[None], values.dtype)[0]


class Equations(NamedTuple):
    """``penalised @ weights = right`` of a fold, which predicts ``(embedded - x_mean) @ weights + y_mean``."""

    penalised: Float[Array, "d d"]
    right: Float[Array, "d q"]
    x_mean: Float[Array, "1 d"]
    y_mean: Float[Array, "1 q"]


class Fit(NamedTuple):
    """Weights of the embedded stimuli, and the intercept that goes with them."""

    weights: Float[Array, "d q"]
    intercept: Float[Array, "1 q"]


class ResidualEquations(NamedTuple):
    """``system @ residuals = right`` for what a fold misses of its held-out targets.

    Attributes:
        least_pivot: of a factor of the system, what may be rounding below.
    """

    system: Float[Array, "h h"]
    right: Float[Array, "h q"]
    least_pivot: float


class Whitened(NamedTuple):
    """Whitened stimuli, one to a row, and whether they could be had."""

    rows: Float[Array, "n d"]
    well_posed: Bool[Array, ""]


class FeatureSide(NamedTuple):
    """Weights of features: their ``gram`` matrix, and their products with the targets.

    In float32 the features of fewer stimuli are those along ``axes``, few enough (see ``stimulus_axes``).
    """

    centred: Centred
    alpha: Float[Array, ""]
    gram: Float[Array, "p p"]
    cross: Float[Array, "p q"]
    axes: Float[Array, "features p"] | None

    @property
    def embedding(self) -> Float[Array, "n p"]:
        """The features of all stimuli."""
        return self.centred.x

    @property
    def y(self) -> Float[Array, "n q"]:
        """The centred targets."""
        return self.centred.y

    def has_fewer_weights(self, held_out: int) -> bool:
        """Whether weights are solved for sooner than the residuals of so many stimuli."""
        return 2 * held_out > len(self.gram)

    def embed(self, x: Float[Array, "m features"]) -> Float[Array, "m p"]:
        """New stimuli as centred features."""
        centred = x - self.centred.x_mean
        return centred if self.axes is None else centred @ self.axes

    def equations(self, fold: Fold) -> Equations:
        """Of a fold's training stimuli."""
        x_out, y_out = fold.rows(self.centred.x), fold.rows(self.centred.y)
        count = len(self.centred.x) - jnp.sum(fold.mask).astype(x_out.dtype)
        x_mean, y_mean = (-jnp.sum(out, axis=0, keepdims=True) / count for out in (x_out, y_out))
        out = transposed(x_out)
        gram = self.gram - out @ x_out - count * x_mean.T @ x_mean
        right = self.cross - out @ y_out - count * x_mean.T @ y_mean
        return Equations(self._penalised(gram), right, x_mean, y_mean)

    def fit_within_range(self, fold: Fold) -> Fit:
        """The fit of minimum norm, from the training features alone: nothing taken off leaves its rounding."""
        x, y, x_mean, y_mean = _training(self.centred, fold)
        weights = fit_within_range(x, y, self.alpha)
        return Fit(weights, y_mean - x_mean @ weights)

    def whitened(self) -> Whitened:
        """Rows with the inner products :math:`H`; with the features' own axes where their Gram matrix has no factor."""
        x = self.centred.x
        cholesky, well_posed = cholesky_if_well_posed(self._penalised(self.gram))

        def within_range() -> Whitened:
            rows = x @ inverse_factor(x, eigh(jax.lax.stop_gradient(self.gram))[1], self.alpha)[0]
            return Whitened(rows, jnp.all(jnp.isfinite(rows)))

        return with_fallback(~well_posed, lambda: Whitened(_right_solved(cholesky, x), well_posed), within_range)

    def residual_equations(self, whitened: Whitened, targets: Float[Array, "p q"], fold: Fold) -> ResidualEquations:
        """:math:`(I - H - 1/n)_{oo}`, and the residuals of the fit to all stimuli.

        Args:
            whitened: all stimuli.
            targets: ``whitened.rows.T @ y``.
            fold: the stimuli o.
        """
        rows, there = fold.rows(whitened.rows), fold.mask.astype(targets.dtype)
        mean = there[:, None] * there[None] / len(self.centred.x)
        system = jnp.eye(len(there), dtype=targets.dtype) - rows @ rows.T - mean
        # The identity less something has the rounding errors of the identity.
        rounding = float(jnp.finfo(targets.dtype).eps) ** _LEAST_RESIDUAL_POWER
        return ResidualEquations(system, fold.rows(self.centred.y) - rows @ targets, rounding)

    def _penalised(self, gram: Float[Array, "p p"]) -> Float[Array, "p p"]:
        # A feature that never varies has zero weight, whatever stands on its diagonal.
        silent = jnp.where(jnp.diagonal(gram) > 0, 0.0, _mean_square(gram))
        return gram + jnp.diag(self.alpha + silent)


class StimulusSide(NamedTuple):
    """Weights of stimuli: their ``gram`` matrix. New stimuli are embedded as inner products with them."""

    centred: Centred
    alpha: Float[Array, ""]
    gram: Float[Array, "n n"]

    @property
    def embedding(self) -> Float[Array, "n n"]:
        """The inner products of all stimuli with all."""
        return self.gram

    @property
    def y(self) -> Float[Array, "n q"]:
        """The centred targets."""
        return self.centred.y

    def has_fewer_weights(self, held_out: int) -> bool:
        """There is a weight for each stimulus."""
        return False

    def embed(self, x: Float[Array, "m p"]) -> Float[Array, "m n"]:
        """New stimuli as inner products with the prepared ones."""
        return (x - self.centred.x_mean) @ self.centred.x.T

    def equations(self, fold: Fold) -> Equations:
        """Of a fold's training stimuli; those that it leaves out have the weight zero."""
        train = fold.train(self.gram)
        count = jnp.sum(train)
        x_mean, y_mean = (train @ self.gram)[None] / count, (train @ self.centred.y)[None] / count
        gram = self.gram - x_mean - x_mean.T + (x_mean @ train)[:, None] / count
        gram = gram * train[:, None] * train[None]
        right = (self.centred.y - y_mean) * train[:, None]
        return Equations(self._penalised(gram, train), right, x_mean, y_mean)

    def fit_within_range(self, fold: Fold) -> Fit:
        """The fit of minimum norm, from inner products of the training features alone."""
        x, y, _, y_mean = _training(self.centred, fold)
        weights = solve_within_range(x @ x.T, y, self.alpha)
        train = fold.train(self.gram)
        return Fit(weights, y_mean - (train @ self.gram)[None] @ weights / jnp.sum(train))

    def whitened(self) -> Whitened:
        r"""Rows with the inner products :math:`(K + \alpha)^{-1}`: :math:`I - H` over alpha, without cancellation."""
        everything = jnp.ones(len(self.gram), self.gram.dtype)
        cholesky, well_posed = cholesky_if_well_posed(self._penalised(self.gram, everything))
        return Whitened(_right_solved(cholesky, jnp.diag(everything)), well_posed)

    def residual_equations(self, whitened: Whitened, targets: Float[Array, "n q"], fold: Fold) -> ResidualEquations:
        r"""As those of ``FeatureSide``, divided by alpha."""
        rows, there = fold.rows(whitened.rows), fold.mask.astype(targets.dtype)
        # The constant vector, to which the centred targets are orthogonal, is no part of the inverse.
        constant = there[:, None] * there[None] / (len(self.gram) * (self.alpha + _mean_square(self.gram)))
        return ResidualEquations(rows @ rows.T - constant + jnp.diag(1.0 - there), rows @ targets, 0.0)

    def _penalised(self, gram: Float[Array, "n n"], train: Float[Array, " n"]) -> Float[Array, "n n"]:
        # Centring leaves the constant vector in the null space, and so do stimuli that are left out.
        null = train[:, None] * train[None] / jnp.sum(train) + jnp.diag(1.0 - train)
        return gram + self.alpha * jnp.eye(len(gram), dtype=gram.dtype) + _mean_square(gram) * null


class WeightedSide(NamedTuple):
    """Weights of stimuli that count so often: rows of ``gram`` and of the targets are times ``roots`` of the counts."""

    y: Float[Array, "n q"]
    alpha: Float[Array, ""]
    gram: Float[Array, "n n"]
    roots: Float[Array, " n"]

    def whitened(self) -> Whitened:
        """As that of ``StimulusSide``."""
        constant, none = self._constant(), jnp.diag((self.roots == 0).astype(self.gram.dtype))
        null = constant[:, None] * constant[None] + none
        identity = jnp.eye(len(self.gram), dtype=self.gram.dtype)
        penalised = self.gram + self.alpha * identity + _mean_square(self.gram) * null
        cholesky, well_posed = cholesky_if_well_posed(penalised)
        return Whitened(_right_solved(cholesky, identity), well_posed)

    def residual_equations(self, whitened: Whitened, targets: Float[Array, "n q"], fold: Fold) -> ResidualEquations:
        """As those of ``StimulusSide``, for residuals times ``roots``."""
        rows, there = fold.rows(whitened.rows), fold.mask.astype(targets.dtype)
        ones = self._constant()[fold.held_out] * there
        constant = ones[:, None] * ones[None] / (self.alpha + _mean_square(self.gram))
        return ResidualEquations(rows @ rows.T - constant + jnp.diag(1.0 - there), rows @ targets, 0.0)

    def _constant(self) -> Float[Array, " n"]:
        return self.roots / jnp.sqrt(jnp.sum(self.roots**2))


def weighted_side(
    gram: Float[Array, "n n"], y: Float[Array, "n q"], weights: Float[Array, " n"], alpha: float | Float[Array, ""]
) -> WeightedSide:
    """That of stimuli with these inner products, centred by means in which each counts ``weights`` times."""
    roots, shares = jnp.sqrt(weights), weights / jnp.sum(weights)
    x_mean, y_mean = (shares @ gram)[None], (shares @ y)[None]
    centred = gram - x_mean - x_mean.T + (x_mean @ shares)[:, None]
    y = (y - y_mean) * roots[:, None]
    return WeightedSide(y, jnp.asarray(alpha, y.dtype), centred * roots[:, None] * roots[None], roots)


Side = FeatureSide | StimulusSide


def smaller_side(centred: Centred, alpha: float | Float[Array, ""]) -> Side:
    """That of features if there are fewer of them than stimuli, else that of stimuli.

    In float32 a Gram matrix between stimuli would hide what is weaker than the strongest by a hundredth: there the
    features are turned into as many as there are stimuli, with all their digits.
    """
    alpha, axes = jnp.asarray(alpha, centred.x.dtype), None
    if centred.x.shape[1] >= centred.x.shape[0]:
        if not takes_axes(centred.x):
            return StimulusSide(centred, alpha, centred.x @ centred.x.T)
        axes, along = stimulus_axes(centred.x)
        centred = centred._replace(x=along)
    gram, cross = cross_products(centred.x, centred.x, centred.y)
    return FeatureSide(centred, alpha, gram, cross, axes)


def _training(
    centred: Centred, fold: Fold
) -> tuple[Float[Array, "n p"], Float[Array, "n q"], Float[Array, "1 p"], Float[Array, "1 q"]]:
    """Features and targets without the mean of those that train, zero for the others; and the means."""
    train = fold.train(centred.x)
    x_mean, y_mean = ((train @ values)[None] / jnp.sum(train) for values in (centred.x, centred.y))
    return (centred.x - x_mean) * train[:, None], (centred.y - y_mean) * train[:, None], x_mean, y_mean


def _right_solved(factor: Float[Array, "d d"], rows: Float[Array, "n d"]) -> Float[Array, "n d"]:
    r""":math:`R L^{-T}`; in blocks, as a triangular solver copies what it is given, and its result once more."""
    return over_blocks(lambda block: solve_lower(factor, block.T).T, rows, axis=0)


def _mean_square(gram: Float[Array, "d d"]) -> Float[Array, ""]:
    """The mean of the diagonal, 1 where that is zero."""
    mean = jnp.trace(gram) / len(gram)
    return jnp.where(mean > 0, mean, 1.0)
