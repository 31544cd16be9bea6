"""Gradient fits by minibatches in one compiled program: Adam over epochs and batches, with early stopping."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, Key

# Keeps the slope of the square root in Adam finite where a gradient is zero; below Adam's own epsilon, squared.
_EPS_ROOT = 1e-16


def epoch_orders(key: Key[Array, ""], n: int, epochs: int) -> Int[Array, "epochs n"]:
    """A random order of all stimuli for every epoch."""
    keys = jax.random.split(key, epochs)
    return jax.vmap(lambda k: jax.random.permutation(k, n))(keys).astype(jnp.int32)


def training_batches(
    orders: Int[Array, "epochs n"], train: Bool[Array, " n"], size: int
) -> tuple[Int[Array, "epochs steps size"], Bool[Array, "epochs steps size"]]:
    """The training stimuli of one fold, in the order of every epoch, cut into batches.

    Args:
        orders: an order of all stimuli for every epoch.
        train: which of them train.
        size: of a batch; the last one holds what is left.

    Returns:
        Stimuli and whether each place is taken. There are as many batches as all stimuli would need, whatever the
        fold, so that folds of unequal size run in one program; the last ones are empty.

    Example:
        >>> import jax.numpy as jnp
        >>> rows, present = training_batches(jnp.array([[3, 1, 0, 2]]), jnp.array([True, False, True, True]), 2)
        >>> print(rows[0], present[0])
        [[3 0]
         [2 0]] [[ True  True]
         [ True False]]
    """
    epochs, n = orders.shape
    steps = -(-n // size)
    kept = train[orders]
    place = jnp.where(kept, jnp.cumsum(kept, axis=1) - 1, steps * size)
    empty = jnp.zeros((epochs, steps * size), orders.dtype)
    rows = empty.at[jnp.arange(epochs)[:, None], place].set(orders, mode="drop")
    present = jnp.arange(steps * size)[None] < jnp.sum(kept, axis=1, keepdims=True)
    return rows.reshape(epochs, steps, size), present.reshape(epochs, steps, size)


def descend(
    loss: Callable[..., tuple[Float[Array, ""], Float[Array, ""]]],
    start: Any,
    rows: Int[Array, "epochs steps size"],
    present: Bool[Array, "epochs steps size"],
    rates: Float[Array, " epochs"],
    tolerance: float | Float[Array, ""],
) -> Any:
    """Parameters after Adam has gone through all batches of all epochs.

    Args:
        loss: takes parameters, the rows of a batch and which of them are there; gives what is minimised, and the error
            that is watched.
        start: initial parameters.
        rows, present: from ``training_batches``.
        rates: learning rate of every epoch.
        tolerance: after an epoch whose last batch had a smaller error (before its step), nothing changes any more.

    Source: Kingma & Ba 2015.
    """
    optimiser = optax.scale_by_adam(eps_root=_EPS_ROOT)
    slopes = jax.value_and_grad(loss, has_aux=True)

    # Kept for a gradient through the fit are the parameters after each epoch alone; the rest is computed again.
    @jax.checkpoint
    def epoch(carry: Any, batches: Any) -> Any:
        parameters, state, running = carry
        *batches, rate = batches

        def step(carry: Any, batch: Any) -> Any:
            parameters, state, _ = carry
            (_, error), gradient = slopes(parameters, *batch)
            with jax.numpy_dtype_promotion("standard"):  # optax raises a number to the power of an integer count
                direction, state = optimiser.update(gradient, state)
            moved = jax.tree.map(lambda p, d: p - rate * d, parameters, direction)
            # An empty batch is no step at all: Adam would move on its momentum.
            taken = running & jnp.any(batch[1])
            return jax.tree.map(lambda new, old: jnp.where(taken, new, old), (moved, state, error), carry), None

        (parameters, state, error), _ = jax.lax.scan(step, (parameters, state, jnp.full_like(rate, jnp.inf)), batches)
        return (parameters, state, running & ~(error < jnp.asarray(tolerance, error.dtype))), None

    carry = start, optimiser.init(start), jnp.asarray(True)
    return jax.lax.scan(epoch, carry, (rows, present, rates))[0][0]
