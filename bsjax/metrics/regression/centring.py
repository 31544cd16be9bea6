"""Centred features and targets, and their moments for each fold: the first step of every mapping."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from bsjax.engine.batches import batched_map
from bsjax.engine.primitives.products import matmul_t, transposed
from bsjax.metrics.arrays import Features, HeldOut, HeldOutMask, Targets
from bsjax.metrics.numerics import is_constant


class Centred(NamedTuple):
    """Features and targets centred over all stimuli, and their means."""

    x: Features
    y: Targets
    x_mean: Float[Array, "1 p"]
    y_mean: Float[Array, "1 q"]


class FoldMoments(NamedTuple):
    """Training moments of each fold: means relative to those of all stimuli, and centred cross-products."""

    n_train: Float[Array, " folds"]
    x_mean: Float[Array, "folds p"]
    y_mean: Float[Array, "folds q"]
    cross: Float[Array, "folds q p"]


def centre(x: Features, y: Targets) -> Centred:
    """Subtracts the means over all stimuli, before any product is formed."""
    x_mean, y_mean = jnp.mean(x, axis=0, keepdims=True), jnp.mean(y, axis=0, keepdims=True)
    return Centred(x - x_mean, y - y_mean, x_mean, y_mean)


def without_constants(centred: Centred) -> Centred:
    """Sets constant features to exactly zero: centring leaves rounding errors of them."""
    squares = jnp.sum(centred.x**2, axis=0, keepdims=True)
    constant = is_constant(squares, centred.x_mean, jnp.full_like(squares, centred.x.shape[0]))
    return centred._replace(x=jnp.where(constant, jnp.zeros_like(centred.x), centred.x))


def held_out_rows(values: Features, held_out: HeldOut, mask: HeldOutMask) -> Float[Array, "folds h p"]:
    """The held-out rows of every fold, zero where padded."""
    rows = values[held_out]
    return jnp.where(mask[:, :, None], rows, jnp.zeros_like(rows))


def training_mask(n: int, held_out: HeldOut, mask: HeldOutMask, dtype: jnp.dtype) -> Float[Array, "folds n"]:
    """1 for the training stimuli of each fold, 0 for held-out ones."""
    folds = jnp.arange(held_out.shape[0])[:, None]
    weights = jnp.ones((held_out.shape[0], n), dtype)
    # Padded entries point to stimulus 0: nothing is subtracted for them.
    return weights.at[folds, held_out].add(-mask.astype(dtype))


def fold_moments(centred: Centred, cross: Float[Array, "q p"], held_out: HeldOut, mask: HeldOutMask) -> FoldMoments:
    """Training moments of every fold, by subtracting its held-out rows from the moments of all stimuli."""
    y_out = held_out_rows(centred.y, held_out, mask)
    n_train = centred.x.shape[0] - jnp.sum(mask, axis=1).astype(cross.dtype)
    train = training_mask(centred.x.shape[0], held_out, mask, cross.dtype)
    x_mean, y_mean = train @ centred.x / n_train[:, None], -jnp.sum(y_out, axis=1) / n_train[:, None]

    def of_fold(fold: tuple[Array, ...]) -> Float[Array, "q p"]:
        rows, out, n, x_mean, y_mean = fold
        return cross - transposed(out) @ centred.x[rows] - (n * y_mean)[:, None] * x_mean[None, :]

    return FoldMoments(n_train, x_mean, y_mean, batched_map(of_fold, (held_out, y_out, n_train, x_mean, y_mean)))


def cross_product(centred: Centred) -> Float[Array, "q p"]:
    """``y.T @ x`` over all stimuli; targets are mostly fewer than features and so cheaper to transpose."""
    return matmul_t(centred.y, centred.x)
