"""Centred features and targets, as a whole and fold by fold: the start of every mapping."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from bsjax.engine.batches import batched_map
from bsjax.engine.primitives.products import matmul_t, transposed
from bsjax.metrics.numerics import is_constant


class Centred(NamedTuple):
    """Features and targets without their means over all stimuli, and those means."""

    x: Float[Array, "n p"]
    y: Float[Array, "n q"]
    x_mean: Float[Array, "1 p"]
    y_mean: Float[Array, "1 q"]


class FoldMoments(NamedTuple):
    """Moments of each fold's training stimuli, about the means of all stimuli or (``cross``) about their own."""

    n_train: Float[Array, " folds"]
    x_mean: Float[Array, "folds p"]
    y_mean: Float[Array, "folds q"]
    cross: Float[Array, "folds q p"]


def centre(x: Float[Array, "n p"], y: Float[Array, "n q"]) -> Centred:
    """Takes the means over all stimuli off, before any product is formed."""
    x_mean, y_mean = jnp.mean(x, axis=0, keepdims=True), jnp.mean(y, axis=0, keepdims=True)
    return Centred(x - x_mean, y - y_mean, x_mean, y_mean)


def without_constants(centred: Centred) -> Centred:
    """Features that do not vary set to zero: what centring leaves of them is rounding."""
    squares = jnp.sum(centred.x**2, axis=0, keepdims=True)
    constant = is_constant(squares, centred.x_mean, jnp.full_like(squares, centred.x.shape[0]))
    return centred._replace(x=jnp.where(constant, jnp.zeros_like(centred.x), centred.x))


def held_out_rows(
    values: Float[Array, "n p"], held_out: Int[Array, "folds h"], mask: Bool[Array, "folds h"]
) -> Float[Array, "folds h p"]:
    """The held-out rows of every fold, zero where padded."""
    rows = values[held_out]
    return jnp.where(mask[:, :, None], rows, jnp.zeros_like(rows))


def training_mask(
    n: int, held_out: Int[Array, "folds h"], mask: Bool[Array, "folds h"], dtype: jnp.dtype
) -> Float[Array, "folds n"]:
    """1 where a stimulus trains a fold, 0 where it is held out of it."""
    folds = jnp.arange(held_out.shape[0])[:, None]
    weights = jnp.ones((held_out.shape[0], n), dtype)
    # Padded places point at stimulus 0: subtract nothing there.
    return weights.at[folds, held_out].add(-mask.astype(dtype))


def fold_moments(
    centred: Centred,
    cross: Float[Array, "q p"],
    held_out: Int[Array, "folds h"],
    mask: Bool[Array, "folds h"],
) -> FoldMoments:
    """Training means and centred cross-products of every fold, by taking its held-out rows off those of all stimuli."""
    y_out = held_out_rows(centred.y, held_out, mask)
    n_train = centred.x.shape[0] - jnp.sum(mask, axis=1).astype(cross.dtype)
    train = training_mask(centred.x.shape[0], held_out, mask, cross.dtype)
    x_mean, y_mean = train @ centred.x / n_train[:, None], -jnp.sum(y_out, axis=1) / n_train[:, None]

    def of_fold(fold: tuple[Array, ...]) -> Float[Array, "q p"]:
        rows, out, n, x_mean, y_mean = fold
        return cross - transposed(out) @ centred.x[rows] - (n * y_mean)[:, None] * x_mean[None, :]

    return FoldMoments(n_train, x_mean, y_mean, batched_map(of_fold, (held_out, y_out, n_train, x_mean, y_mean)))


def cross_product(centred: Centred) -> Float[Array, "q p"]:
    """``y.T @ x`` over all stimuli: targets first, as they are mostly fewer and cheaper to transpose."""
    return matmul_t(centred.y, centred.x)
