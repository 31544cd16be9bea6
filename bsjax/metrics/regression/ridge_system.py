r"""Linear systems of a ridge regression, in the space of features or of stimuli, whichever are fewer.

With :math:`K = X X^T` and :math:`C = X^T X`, the weights of features are :math:`(C + \alpha)^{-1} X^T Y` and those of
stimuli :math:`(K + \alpha)^{-1} Y`; both give the same predictions. Folds and penalties are derived from the system of
all stimuli: the system ``without`` held-out stimuli, the system of ``weighted`` stimuli, the ``held_out_residuals`` of
folds, and the ``Spectrum``, an eigendecomposition for all penalties.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from bsjax.engine.batches import batched_map
from bsjax.engine.primitives.decompositions import eigh, principal_axes, svd
from bsjax.engine.primitives.products import cross_products, matmul_t, symmetric_product, transposed
from bsjax.engine.primitives.triangular import solve_lower, solve_with_cholesky
from bsjax.engine.programs.fallbacks import with_fallback
from bsjax.engine.row_blocks import over_blocks
from bsjax.engine.tolerances import EIGENVALUE, RESIDUAL_POWER, rounding
from bsjax.metrics.arrays import Features, Flag, HeldOutTargets, PerStimulus, Scalar, Targets
from bsjax.metrics.linalg.positive_definite import cholesky_if_well_posed, inverse_factor
from bsjax.metrics.linalg.stimulus_axes import stimulus_axes, takes_axes
from bsjax.metrics.numerics import nonzero
from bsjax.metrics.regression.centring import Centred, centre, held_out_rows, training_mask, without_constants
from bsjax.metrics.regression.mapping import LinearMapping


class Fold(NamedTuple):
    """The held-out stimuli of a fold, padded to one length."""

    held_out: Int[Array, " h"]
    mask: Bool[Array, " h"]

    def rows(self, values: Features) -> Float[Array, "h p"]:
        """Rows of the held-out stimuli, zero where padded."""
        return held_out_rows(values, self.held_out[None], self.mask[None])[0]

    def train(self, values: Features) -> PerStimulus:
        """1 for training stimuli, 0 for the others."""
        return training_mask(len(values), self.held_out[None], self.mask[None], values.dtype)[0]


class PreparedRidge(NamedTuple):
    """Centred data with their ``gram`` matrix, of features or of stimuli, whichever are fewer.

    ``cross`` are the products of features and targets; None in the space of stimuli, where stimuli are embedded as
    inner products with all stimuli. In float32, coordinates along ``axes`` (see ``stimulus_axes``) replace the features
    instead.
    """

    centred: Centred
    gram: Float[Array, "d d"]
    cross: Float[Array, "d q"] | None
    axes: Float[Array, "p d"] | None

    @property
    def embedding(self) -> Float[Array, "n d"]:
        """All stimuli in the coordinates of the weights."""
        return self.gram if self.cross is None else self.centred.x


class RidgeMapping(LinearMapping):
    """The base class of ridge regressions, which share the preparation of the data and its coordinates."""

    def prepare(self, x: Features, y: Targets) -> PreparedRidge:
        """Prepares data in the space of features or of stimuli, whichever are fewer.

        With one feature fewer than stimuli, residuals are almost zero, and the space of stimuli is the more accurate
        one. float32 uses axes there, because inner products would lose components weaker than a hundredth of the
        strongest.
        """
        centred, axes = without_constants(centre(x, y)), None
        if x.shape[1] >= x.shape[0] - 1:
            if not takes_axes(x):
                return PreparedRidge(centred, symmetric_product(centred.x), None, None)
            axes, along = stimulus_axes(centred.x)
            centred = centred._replace(x=along)
        gram, cross = cross_products(centred.x, centred.x, centred.y)
        return PreparedRidge(centred, gram, cross, axes)

    def gram(self, prepared: PreparedRidge) -> Float[Array, "d d"]:
        """The inner products of centred stimuli, or of features where these are fewer."""
        return prepared.gram

    def embed(self, prepared: PreparedRidge, x: Float[Array, "m p"]) -> Float[Array, "m d"]:
        """New stimuli as centred features or coordinates, or as inner products with the prepared stimuli."""
        centred = super().embed(prepared, x)
        if prepared.cross is None:
            return centred @ prepared.centred.x.T
        return centred if prepared.axes is None else centred @ prepared.axes


class System(NamedTuple):
    """The system ``(matrix + alpha) @ weights = right``; predictions are ``(embedded - x_mean) @ weights + y_mean``.

    ``null`` is added to the matrix to make it positive definite; weights along its directions are zero in any case.
    """

    matrix: Float[Array, "d d"]
    null: Float[Array, "d d"]
    right: Float[Array, "d q"]
    x_mean: Float[Array, "1 d"]
    y_mean: Float[Array, "1 q"]

    def penalised(self, alpha: Scalar) -> Float[Array, "d d"]:
        """The matrix to factorise: with the penalty and ``null`` added."""
        return _penalised(self.matrix, self.null, alpha)


def without(prepared: PreparedRidge, fold: Fold) -> System:
    """The system of the training stimuli of a fold; in the space of stimuli, held-out ones have weight zero."""
    x, y = prepared.centred.x, prepared.centred.y
    if prepared.cross is None:
        return weighted(prepared.gram, y, fold.train(y))
    x_out, y_out = fold.rows(x), fold.rows(y)
    count = len(x) - jnp.sum(fold.mask).astype(x.dtype)
    x_mean, y_mean = (-jnp.sum(out, axis=0, keepdims=True) / count for out in (x_out, y_out))
    out = transposed(x_out)
    gram = prepared.gram - out @ x_out - count * x_mean.T @ x_mean
    right = prepared.cross - out @ y_out - count * x_mean.T @ y_mean
    return System(gram, _of_unvarying(gram), right, x_mean, y_mean)


def weighted(gram: Float[Array, "n n"], y: Targets, weights: PerStimulus) -> System:
    """The system of weighted stimuli: centred rows times the square roots of the weights."""
    matrix, x_mean, constant = _weighted_gram(gram, weights)
    # The null space holds the constant vector, because of centring, and the stimuli of weight zero.
    null = mean_square(matrix) * (constant[:, None] * constant[None] + jnp.diag((weights == 0).astype(gram.dtype)))
    y_mean = (weights @ y)[None] / jnp.sum(weights)
    return System(matrix, null, (y - y_mean) * jnp.sqrt(weights)[:, None], x_mean, y_mean)


def _weighted_gram(
    gram: Float[Array, "n n"], weights: PerStimulus
) -> tuple[Float[Array, "n n"], Float[Array, "1 n"], PerStimulus]:
    """Centred inner products times root weights, the mean of the rows, and the weighted constant unit vector."""
    roots, shares = jnp.sqrt(weights), weights / jnp.sum(weights)
    mean = (shares @ gram)[None]
    centred = gram - mean - mean.T + (mean @ shares)[:, None]
    return centred * roots[:, None] * roots[None], mean, jnp.sqrt(shares)


def held_out_residuals(prepared: PreparedRidge, alpha: Scalar, folds: Fold) -> tuple[HeldOutTargets, Flag]:
    r"""Residuals of the held-out targets of every fold, and whether all systems are well-posed.

    The residuals solve systems with the matrix :math:`(I - H - 1/n)_{oo}`, where the right side are the residuals of
    the fit to all stimuli and the smoother :math:`H` holds the inner products of whitened features.
    """
    x, y, gram = prepared.centred.x, prepared.centred.y, prepared.gram
    if prepared.cross is None:
        everything = jnp.ones(len(y), y.dtype)
        return residuals_of_stimuli(weighted(gram, y, everything), alpha, everything, folds)
    cholesky, well_posed = cholesky_if_well_posed(_penalised(gram, _of_unvarying(gram), alpha))

    def within_range() -> tuple[Array, Array]:  # along the eigenvectors of a Gram matrix without a Cholesky factor
        rows = x @ inverse_factor(x, eigh(jax.lax.stop_gradient(gram))[1], alpha)
        return rows, jnp.all(jnp.isfinite(rows))

    rows, well_posed = with_fallback(~well_posed, lambda: (_right_solved(cholesky, x), well_posed), within_range)
    targets = matmul_t(y, rows).T  # transposes the smaller array

    def equations(fold: Fold) -> tuple[Array, Array]:
        out, mask = fold.rows(rows), fold.mask.astype(y.dtype)
        mean = mask[:, None] * mask[None] / len(x)
        return jnp.eye(len(mask), dtype=y.dtype) - out @ out.T - mean, fold.rows(y) - out @ targets

    # A difference from the identity has the rounding errors of the identity.
    residuals, each = _solved(equations, folds, rounding(y, power=RESIDUAL_POWER))
    return residuals, well_posed & each


def residuals_of_stimuli(
    system: System, alpha: Scalar, weights: PerStimulus, folds: Fold
) -> tuple[HeldOutTargets, Flag]:
    r"""``held_out_residuals`` of a ``weighted`` system, times the square roots of the weights.

    Whitened stimuli have the inner products :math:`(K + \alpha)^{-1}`, which is :math:`I - H` divided by alpha, without
    cancellation.
    """
    cholesky, well_posed = cholesky_if_well_posed(system.penalised(alpha))
    rows = _right_solved(cholesky, jnp.eye(len(weights), dtype=weights.dtype))
    targets = matmul_t(system.right, rows).T
    # The constant vector is excluded from the inverse: centred targets are orthogonal to it.
    constant = jnp.sqrt(weights / jnp.sum(weights))
    eigenvalue = alpha + mean_square(system.matrix)

    def equations(fold: Fold) -> tuple[Array, Array]:
        out, mask = fold.rows(rows), fold.mask.astype(weights.dtype)
        ones = constant[fold.held_out] * mask
        return out @ out.T - ones[:, None] * ones[None] / eigenvalue + jnp.diag(1.0 - mask), out @ targets

    residuals, each = _solved(equations, folds, 0.0)
    return residuals, well_posed & each


def _solved(
    equations: Callable[[Fold], tuple[Array, Array]], folds: Fold, least_pivot: float
) -> tuple[HeldOutTargets, Flag]:
    """Solutions of the equations of every fold, and whether all are well-posed with pivots above ``least_pivot``."""

    def one(fold: Fold) -> tuple[Float[Array, "h q"], Flag]:
        system, right = equations(fold)
        cholesky, well_posed = cholesky_if_well_posed(system)
        well_posed &= jnp.min(jnp.diagonal(cholesky)) ** 2 > least_pivot
        return solve_with_cholesky(cholesky, right), well_posed

    solutions, each = batched_map(one, folds)
    return solutions, jnp.all(each)


class Spectrum(NamedTuple):
    """Eigendecomposition of the ``matrix`` of the training stimuli, which serves every penalty.

    Attributes:
        matrix: features x features, or stimuli x stimuli. In the latter, the constant unit vector has been made an
            eigenvector.
        values: eigenvalues; zero where they are within rounding error of zero.
        vectors: eigenvectors.
        images: the eigenvectors in the coordinates of embedded stimuli; ``rows.T @ vectors`` with axes.
        features: centred features; None for a matrix of stimuli.
        rows: centred coordinates of stimuli along axes; None without axes.
        x_mean: mean embedding of the training stimuli.
        constant: the constant unit vector; zero for a matrix of features.
        shift: eigenvalue of the constant vector.

    Stimuli outside the training set are zero in ``features``, ``rows``, ``constant`` and the vectors of a matrix of
    stimuli.
    """

    matrix: Float[Array, "d d"]
    values: Float[Array, " d"]
    vectors: Float[Array, "d d"]
    images: Float[Array, "e d"]
    features: Float[Array, "n d"] | None
    rows: Float[Array, "d e"] | None
    x_mean: Float[Array, "1 e"]
    constant: PerStimulus
    shift: Scalar

    def right_side(self, y: Targets) -> Float[Array, "d q"]:
        """Right side of the system for centred targets."""
        return y if self.features is None else matmul_t(self.features, y)

    def along(self, right: Float[Array, "d q"]) -> Float[Array, "d q"]:
        """Coordinates of a right side along the eigenvectors; zero along those with a zero eigenvalue.

        These span stimuli outside the training set and linearly dependent features or stimuli. Rounding errors along
        them would be divided by the penalty alone.
        """
        along = self.vectors.T @ right
        return jnp.where(self.values[:, None] > 0, along, jnp.zeros_like(along))

    def solve(self, right: Float[Array, "d q"], alpha: Float[Array, " q"]) -> Float[Array, "e q"]:
        """Weights of the embedded stimuli, at the penalty of each target; the minimum-norm solution at penalty 0.

        The derivative is that of the linear system at constant rank. Eigenvectors themselves have no derivative where
        eigenvalues repeat.
        """
        return _weights(self, right, alpha)


@jax.custom_jvp
def _weights(of: Spectrum, right: Float[Array, "d q"], alpha: Float[Array, " q"]) -> Float[Array, "e q"]:
    return of.images @ _shrunk(of, right, alpha)


@_weights.defjvp
def _weights_jvp(primals: tuple[Spectrum, Array, Array], changes: tuple[Spectrum, Array, Array]) -> tuple[Array, Array]:
    (of, right, alpha), (of_change, right_change, alpha_change) = primals, changes
    solution = of.vectors @ _shrunk(of, right, alpha)
    residual = right_change - of_change.matrix @ solution - alpha_change[None] * solution
    change, beyond = _shrunk(of, residual, alpha), right - of.vectors @ of.along(right)
    if of.features is None:
        # The range turns towards targets outside it; right sides of features are always within.
        change = change + _shrunk(of, of_change.matrix @ beyond, alpha) / nonzero(of.values)[:, None]
    change = of.images @ change
    if of_change.rows is not None and of.rows is not None:
        of_axes = matmul_t(of_change.rows, beyond)
        outside = of_axes - of.images @ (of.along(of.rows @ of_axes) / nonzero(of.values)[:, None])
        outside = jnp.where(alpha[None] > 0, outside, jnp.zeros_like(outside)) / nonzero(alpha)[None]
        return _weights(*primals), change + matmul_t(of_change.rows, solution) + outside
    # The solution turns with the range. Held-out stimuli have features outside it, but no products with its complement.
    turned = of_change.matrix @ (of.vectors @ _shrunk(of, solution, alpha))
    penalised = jnp.zeros_like(residual) if of.features is None else residual / nonzero(alpha)[None]
    turned = jnp.where(alpha[None] == 0, turned, penalised)
    return _weights(*primals), change + turned - of.vectors @ of.along(turned)


def _shrunk(of: Spectrum, right: Float[Array, "d q"], alpha: Float[Array, " q"]) -> Float[Array, "d q"]:
    return of.along(right) / (nonzero(of.values)[:, None] + alpha[None])


def spectrum(prepared: PreparedRidge, train: PerStimulus, rows: Int[Array, " m"] | None = None) -> Spectrum:
    """The spectrum of the training stimuli.

    Args:
        prepared: all stimuli.
        train: 1 for training stimuli, 0 for others, for each of the rows.
        rows: indices of the stimuli to use; all if None.
    """
    embedding = prepared.embedding if rows is None else among(prepared, rows)[rows]
    if prepared.cross is not None and prepared.axes is None:
        return spectrum_of_features(embedding, train, by_svd=takes_axes(embedding))
    # Centring puts the constant vector in the null space, of which an eigensolver returns an arbitrary basis. The shift
    # makes it an eigenvector of its own. Eigenvectors of small eigenvalues may mix with the zero rows of held-out
    # stimuli, which are therefore set to zero in the vectors.
    if prepared.cross is None:
        x, (matrix, mean, constant) = None, _weighted_gram(embedding, train)
    else:
        (x, mean), constant = centred_rows(embedding, train), jnp.sqrt(train / jnp.sum(train))
        matrix = x @ x.T
    shift = mean_square(matrix)
    matrix = matrix + shift * constant[:, None] * constant[None]
    if x is None:
        values, vectors = _eigenvectors(matrix)
        images = vectors = vectors * train[:, None]
    else:
        # A singular value decomposition has twice the digits of one of the matrix, and its left vectors keep those
        # that images computed from the eigenvectors would lose next to strong ones.
        with_constant = jnp.concatenate([x, jnp.sqrt(shift) * constant[:, None]], axis=1).T
        left, lengths, vectors = svd(jax.lax.stop_gradient(with_constant))
        values = _without_rounding(lengths) ** 2
        images, vectors = (left * lengths[None])[:-1], vectors * train[:, None]
    return Spectrum(matrix, values, vectors, images, None, x, mean, constant, shift)


def spectrum_of_features(embedding: Float[Array, "n d"], train: PerStimulus, *, by_svd: bool) -> Spectrum:
    """The spectrum of features x features, by a singular value decomposition or from their Gram matrix."""
    x, mean = centred_rows(embedding, train)
    matrix = matmul_t(x, x)
    if by_svd:
        lengths, vectors = principal_axes(jax.lax.stop_gradient(x))
        values = _without_rounding(lengths) ** 2
    else:
        values, vectors = _eigenvectors(matrix)
    none = jnp.zeros_like(train)
    return Spectrum(matrix, values, vectors, vectors, x, None, mean, none, jnp.ones_like(none[0]))


def minimum_norm(prepared: PreparedRidge, alpha: Scalar, fold: Fold) -> Float[Array, "d q"]:
    """Weights of a rank-deficient fold, computed from its training features alone.

    Subtracting held-out rows from the products of all stimuli would leave rounding errors.
    """
    train = fold.train(prepared.centred.y)
    y, _ = centred_rows(prepared.centred.y, train)
    if prepared.cross is None:
        x, _ = centred_rows(prepared.centred.x, train)
        of = spectrum(prepared._replace(gram=x @ x.T), train)
    else:
        of = spectrum_of_features(prepared.embedding, train, by_svd=True)
    return of.solve(of.right_side(y), jnp.broadcast_to(alpha, y.shape[1:]))


def _eigenvectors(matrix: Float[Array, "d d"]) -> tuple[Float[Array, " d"], Float[Array, "d d"]]:
    values, vectors = eigh(jax.lax.stop_gradient(matrix))  # see ``Spectrum.solve`` for the derivative
    return _without_rounding(values), vectors


def _without_rounding(values: Float[Array, " d"]) -> Float[Array, " d"]:
    """Eigenvalues, with zeros for those at rounding level, which a small penalty would fit like real directions."""
    least = rounding(values, EIGENVALUE) * len(values) ** 0.5 * jnp.max(values)
    return jnp.where(values > least, values, jnp.zeros_like(values))


def among(prepared: PreparedRidge, rows: Int[Array, " m"]) -> Float[Array, "n d"]:
    """The embedding of all stimuli for a spectrum of ``rows`` only."""
    return prepared.gram[:, rows] if prepared.cross is None else prepared.embedding


def centred_rows(values: Float[Array, "n d"], train: PerStimulus) -> tuple[Float[Array, "n d"], Float[Array, "1 d"]]:
    """Values centred on the training mean, zero in rows outside the training set, and the mean."""
    mean = (train @ values)[None] / jnp.sum(train)
    return (values - mean) * train[:, None], mean


def mean_square(gram: Float[Array, "d d"]) -> Scalar:
    """The mean of the diagonal; 1 if it is zero."""
    return nonzero(jax.lax.stop_gradient(jnp.trace(gram)) / len(gram))


def _of_unvarying(gram: Float[Array, "p p"]) -> Float[Array, "p p"]:
    """Diagonal matrix that regularises constant features; their weights are zero for any diagonal entry."""
    return jnp.diag(jnp.where(jnp.diagonal(gram) > 0, 0.0, mean_square(gram)))


def _penalised(matrix: Float[Array, "d d"], null: Float[Array, "d d"], alpha: Scalar) -> Float[Array, "d d"]:
    return matrix + null + alpha * jnp.eye(len(matrix), dtype=matrix.dtype)


def _right_solved(factor: Float[Array, "d d"], rows: Float[Array, "n d"]) -> Float[Array, "n d"]:
    r""":math:`R L^{-T}`, in blocks because a triangular solver copies its input and its result."""
    return over_blocks(lambda block: solve_lower(factor, block.T).T, rows, axis=0)
