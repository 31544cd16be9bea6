"""The linear system of a ridge regression in its eigenvectors: one decomposition serves every penalty."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from bsjax.engine.primitives.decompositions import eigh, svd
from bsjax.engine.primitives.products import matmul_t
from bsjax.metrics.linalg.stimulus_axes import stimulus_axes, takes_axes
from bsjax.metrics.regression.centring import Centred

# An eigenvalue is zero when it is below this many rounding errors of the largest, for each root of their number.
_ROUNDING_ERRORS = 2.0


class PreparedRidgeCV(NamedTuple):
    """Centred data, and the stimuli in the coordinates that folds are solved in.

    These are the features; or, where the stimuli are fewer, their inner products with all stimuli, or in float32 what
    they come to along ``axes`` (see ``stimulus_axes``).
    """

    centred: Centred
    embedding: Float[Array, "n d"]
    axes: Float[Array, "p d"] | None

    @property
    def gram(self) -> Float[Array, "d d"]:
        """Inner products of the features, or of stimuli where these are fewer."""
        of_inner_products = self.axes is None and not in_features(self.centred.x)
        return self.embedding if of_inner_products else matmul_t(self.embedding, self.embedding)


class RidgeSystem(NamedTuple):
    """``matrix + alpha`` of some training stimuli, for all targets, with the eigenvectors of ``matrix``.

    The matrix is one of features x features (``of_features``); or one of stimuli x stimuli, in which ``constant`` is
    the constant unit vector, which has been made an eigenvector with the eigenvalue ``shift``. ``x`` is the centred
    embedding, None where that is of inner products. ``images`` are the eigenvectors in the coordinates that stimuli are
    embedded in: ``x.T @ vectors`` for a system of stimuli along axes. Rows that do not train are zero in ``x``,
    ``constant``, and the vectors of a system of stimuli; the mean is that of the training stimuli's embedding.
    ``values`` are zero where they are rounding.
    """

    of_features: bool
    matrix: Float[Array, "d d"]
    values: Float[Array, " d"]
    vectors: Float[Array, "d d"]
    images: Float[Array, "e d"]
    x: Float[Array, "n d"] | None
    constant: Float[Array, " n"]
    shift: Float[Array, ""]
    embedding_mean: Float[Array, "1 d"]


def in_features(x: Float[Array, "n p"]) -> bool:
    """Whether the system is one of features x features, and not of stimuli x stimuli."""
    # With one feature fewer than stimuli, residuals are all but zero: then their other form is the accurate one.
    n, p = x.shape
    return p < n - 1


def prepared_for_ridge(centred: Centred) -> PreparedRidgeCV:
    """The data in the coordinates that folds are solved in."""
    x = centred.x
    if in_features(x):
        return PreparedRidgeCV(centred, x, None)
    if not takes_axes(x):
        return PreparedRidgeCV(centred, x @ x.T, None)
    axes, along = stimulus_axes(x)
    return PreparedRidgeCV(centred, along, axes)


def embed(prepared: PreparedRidgeCV, x: Float[Array, "m p"]) -> Float[Array, "m d"]:
    """New stimuli in those coordinates."""
    centred = x - prepared.centred.x_mean
    if in_features(prepared.centred.x):
        return centred
    return centred @ (prepared.centred.x.T if prepared.axes is None else prepared.axes)


def ridge_system(
    prepared: PreparedRidgeCV, train: Float[Array, " n"], rows: Int[Array, " m"] | None = None
) -> RidgeSystem:
    """The system of the stimuli that ``train`` marks with 1.

    Args:
        prepared: all stimuli.
        train: 1 or 0 for each of the rows.
        rows: of the stimuli to look at; all if None.
    """
    embedding = prepared.embedding if rows is None else among(prepared, rows)[rows]
    n = jnp.sum(train)
    mean = (train @ embedding)[None] / n
    if in_features(prepared.centred.x):
        x = (embedding - mean) * train[:, None]
        values, vectors = _axes_of(x)[1:] if takes_axes(x) else _eigenvectors(matmul_t(x, x))
        none = jnp.zeros_like(train)
        return RidgeSystem(True, matmul_t(x, x), values, vectors, vectors, x, none, jnp.ones_like(n), mean)
    # Centring puts the constant vector in the null space, from which an eigensolver would pick any basis. A known
    # weight on it makes it an eigenvector of its own.
    constant = train / jnp.sqrt(n)
    if prepared.axes is None:
        x, centred = None, embedding - mean - mean.T + (mean @ train / n)[:, None]
        gram = centred * (train[:, None] * train[None])
    else:
        x = (embedding - mean) * train[:, None]
        gram = x @ x.T
    mean_square = jax.lax.stop_gradient(jnp.trace(gram) / n)
    shift = jnp.where(mean_square > 0, mean_square, jnp.ones_like(mean_square))
    matrix = gram + shift * constant[:, None] * constant[None, :]
    # Next to a small eigenvalue, the zeros of what does not train leave something of its rows in an eigenvector.
    if x is None:
        values, vectors = _eigenvectors(matrix)
        images = vectors = vectors * train[:, None]
    else:
        images, values, vectors = _axes_of(jnp.concatenate([x, jnp.sqrt(shift) * constant[:, None]], axis=1).T)
        images, vectors = images[:-1], vectors * train[:, None]
    return RidgeSystem(False, matrix, values, vectors, images, x, constant, shift, mean)


def _eigenvectors(matrix: Float[Array, "d d"]) -> tuple[Float[Array, " d"], Float[Array, "d d"]]:
    values, vectors = eigh(jax.lax.stop_gradient(matrix))  # see ``solve`` for the derivative
    return _without_rounding(values, _rounding(values)), vectors


def _axes_of(x: Float[Array, "n d"]) -> tuple[Float[Array, "n d"], Float[Array, " d"], Float[Array, "d d"]]:
    """``x @ vectors``, and eigenvalues and eigenvectors of ``x.T @ x``, by a singular value decomposition.

    It has twice the digits of the product, and its own images those that the vectors lose beside strong ones.
    """
    left, lengths, vectors = svd(jax.lax.stop_gradient(x))  # see ``solve`` for the derivative
    return left * lengths[None], _without_rounding(lengths, _rounding(lengths)) ** 2, vectors


def _rounding(values: Float[Array, " d"]) -> Float[Array, ""]:
    return _ROUNDING_ERRORS * len(values) ** 0.5 * float(jnp.finfo(values.dtype).eps) * jnp.max(values)


def _without_rounding(values: Float[Array, " d"], rounding: Float[Array, ""]) -> Float[Array, " d"]:
    # What rounding makes of zero eigenvalues would pass for directions that a small penalty fits.
    return jnp.where(values > rounding, values, jnp.zeros_like(values))


def among(prepared: PreparedRidgeCV, rows: Int[Array, " m"]) -> Float[Array, "n d"]:
    """The embedding of all stimuli, for a system of these alone."""
    of_inner_products = prepared.axes is None and not in_features(prepared.centred.x)
    return prepared.embedding[:, rows] if of_inner_products else prepared.embedding


def centred_targets(
    y: Float[Array, "n q"], train: Float[Array, " n"]
) -> tuple[Float[Array, "n q"], Float[Array, "1 q"]]:
    """Targets without the mean of the training stimuli, zero in rows that do not train, and that mean."""
    y_mean = (train @ y)[None] / jnp.sum(train)
    return (y - y_mean) * train[:, None], y_mean


def right_side(system: RidgeSystem, y: Float[Array, "n q"]) -> Float[Array, "d q"]:
    """What the weights of centred targets are solved from."""
    return matmul_t(system.x, y) if system.x is not None and system.of_features else y


def along_axes(
    vectors: Float[Array, "d d"], values: Float[Array, " d"], right: Float[Array, "d q"]
) -> Float[Array, "d q"]:
    """A right side in the eigenvectors, zero along those of a zero eigenvalue.

    There no stimulus predicts another: stimuli that do not train, and features or stimuli that others make up. What
    rounding leaves of that would be divided by the penalty alone.
    """
    along = vectors.T @ right
    return jnp.where(values[:, None] > 0, along, jnp.zeros_like(along))


def solve(system: RidgeSystem, right: Float[Array, "d q"], alpha: Float[Array, " q"]) -> Float[Array, "e q"]:
    """Weights of the embedded stimuli from a right side, at the penalty of each target.

    The derivative is that of the linear system, not of its eigenvectors, which have none where eigenvalues repeat.
    """
    x = None if system.of_features else system.x
    return _weights((system.images, system.vectors, system.values), system.matrix, x, right, alpha)


@jax.custom_jvp
def _weights(
    axes: tuple[Array, Array, Array],
    matrix: Float[Array, "d d"],
    x: Float[Array, "d e"] | None,
    right: Float[Array, "d q"],
    alpha: Float[Array, " q"],
) -> Float[Array, "e q"]:
    images, vectors, values = axes
    return images @ _shrunk(vectors, values, right, alpha)


@_weights.defjvp
def _weights_jvp(primals: tuple[Any, ...], changes: tuple[Any, ...]) -> tuple[Array, Array]:
    (images, vectors, values), _, x, right, alpha = primals
    _, matrix_change, x_change, right_change, alpha_change = changes
    solution = vectors @ _shrunk(vectors, values, right, alpha)
    residual = right_change - matrix_change @ solution - alpha_change[None] * solution
    change = images @ _shrunk(vectors, values, residual, alpha)
    if x is not None:
        change = change + matmul_t(x_change, solution)
    return _weights(*primals), change


def _shrunk(
    vectors: Float[Array, "d d"], values: Float[Array, " d"], right: Float[Array, "d q"], alpha: Float[Array, " q"]
) -> Float[Array, "d q"]:
    return along_axes(vectors, values, right) / (values[:, None] + alpha[None])
