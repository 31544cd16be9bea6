"""Errors of a ridge regression on validation folds, for every penalty and target."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from bsjax.engine.batches import batched_map, sum_of_each
from bsjax.engine.row_blocks import over_blocks
from bsjax.metrics.arrays import Mask, PerStimulus, Scalar
from bsjax.metrics.linalg.partial_fractions import all_penalties
from bsjax.metrics.regression.ridge_system import PreparedRidge, among, centred_rows, spectrum

Penalties = Float[Array, " penalties"]
Errors = Float[Array, "penalties q"]


def validation_errors(prepared: PreparedRidge, train: PerStimulus, folds: int, alphas: Penalties) -> Errors:
    """Mean squared validation errors, averaged over folds.

    The folds are runs of consecutive training stimuli; if they cannot be equal, the first ones have one stimulus more,
    as in scikit-learn's ``KFold``.

    Source: Dupré la Tour et al. 2022 (himalaya).
    """
    prepared = jax.lax.stop_gradient(prepared)
    n = prepared.centred.y.shape[0]
    fold_of = _consecutive(train > 0, folds)

    def errors(fold: Int[Array, ""]) -> Errors:
        rows, fitted = where_true((train > 0) & (fold_of != fold), n - n // folds, train.dtype)
        tested, mask = where_true((train > 0) & (fold_of == fold), -(-n // folds), train.dtype)
        of = spectrum(prepared, fitted, rows)
        basis = ((among(prepared, rows)[tested] - of.x_mean) @ of.images) * mask[:, None]

        def squared(y: Float[Array, "n b"]) -> Float[Array, "penalties b"]:
            y_fitted, y_mean = centred_rows(y[rows], fitted)
            y_tested = (y[tested] - y_mean) * mask[:, None]
            return _squared_errors(basis, of.along(of.right_side(y_fitted)), y_tested, of.values, alphas)

        return over_blocks(squared, prepared.centred.y, axis=-1) / jnp.maximum(jnp.sum(mask), 1.0)

    return sum_of_each(errors, jnp.arange(folds)) / folds


def validation_masks(train: PerStimulus, folds: int) -> tuple[Float[Array, "folds n"], Float[Array, "folds n"]]:
    """Masks of the stimuli that each validation fold is fitted to, and of those it is tested on."""
    tested = (_consecutive(train > 0, folds)[None] == jnp.arange(folds)[:, None]).astype(train.dtype) * train[None]
    return train[None] - tested, tested


def _squared_errors(
    basis: Float[Array, "m k"],
    coordinates: Float[Array, "k q"],
    y: Float[Array, "m q"],
    values: Float[Array, " k"],
    alphas: Penalties,
) -> Errors:
    """Sums of squares of ``y - basis @ (coordinates / (values + alpha))``."""
    m, k = basis.shape
    if len(alphas) * m <= k:  # fewer operations than expanding the squares

        def squared(alpha: Scalar) -> Float[Array, " q"]:
            return jnp.sum((y - basis @ (coordinates / (values + alpha)[:, None])) ** 2, axis=0)

        return batched_map(squared, alphas)
    inverse = 1.0 / (values[None] + alphas[:, None])
    mixed = inverse @ (coordinates * (basis.T @ y))
    return jnp.sum(y**2, axis=0)[None] - 2.0 * mixed + all_penalties(coordinates, basis.T @ basis, values, alphas)


def _consecutive(train: Mask, folds: int) -> Int[Array, " n"]:
    """The fold index of each training stimulus."""
    place, n = jnp.cumsum(train) - 1, jnp.sum(train)
    size, longer = n // folds, n % folds
    in_longer = longer * (size + 1)
    return jnp.where(
        place < in_longer, place // (size + 1), longer + (place - in_longer) // jnp.maximum(size, jnp.ones_like(size))
    )


def where_true(chosen: Mask, at_most: int, dtype: jnp.dtype) -> tuple[Int[Array, " m"], Float[Array, " m"]]:
    """Indices of the chosen stimuli and a mask of ones, both padded with zeros."""
    mask = jnp.arange(at_most) < jnp.sum(chosen)
    return jnp.nonzero(chosen, size=at_most, fill_value=0)[0], mask.astype(dtype)
