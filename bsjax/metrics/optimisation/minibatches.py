"""Minibatch gradient descent in one compiled program: Adam over epochs and batches, with early stopping."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, Key

# Keeps the derivative of Adam's square root finite for zero gradients; at most the square of Adam's own epsilon.
_EPS_ROOT = 1e-16


def epoch_orders(key: Key[Array, ""], n: int, epochs: int) -> Int[Array, "epochs n"]:
    """A random order of all stimuli for every epoch."""
    keys = jax.random.split(key, epochs)
    return jax.vmap(lambda k: jax.random.permutation(k, n))(keys).astype(jnp.int32)


def training_batches(
    orders: Int[Array, "epochs n"], train: Bool[Array, " n"], size: int
) -> tuple[Int[Array, "epochs steps size"], Bool[Array, "epochs steps size"]]:
    """Divides the training stimuli of one fold into batches, in the order of each epoch.

    Args:
        orders: an order of all stimuli for every epoch.
        train: True for the training stimuli.
        size: stimuli per batch; the last batch holds the remainder.

    Returns:
        Indices of stimuli, and a mask that is False where padded. The number of batches is that of all stimuli, so that
        folds of unequal size run in one program; the last batches are empty.

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
    """Fits parameters with Adam over all batches of all epochs.

    Args:
        loss: function of parameters, the rows of a batch and their mask; returns the loss to minimise and the error
            to monitor.
        start: initial parameters.
        rows, present: batches from ``training_batches``.
        rates: learning rate of each epoch.
        tolerance: parameters stay fixed after an epoch whose last batch had a smaller error (before its step).

    Returns:
        The fitted parameters, in the structure of ``start``.

    Source: Kingma & Ba 2015.
    """
    optimiser = optax.scale_by_adam(eps_root=_EPS_ROOT)
    slopes = jax.value_and_grad(loss, has_aux=True)

    # A gradient through the fit stores only the parameters after each epoch; the rest is recomputed.
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
            # An empty batch must not be a step: Adam would move by its momentum.
            taken = running & jnp.any(batch[1])
            return jax.tree.map(lambda new, old: jnp.where(taken, new, old), (moved, state, error), carry), None

        (parameters, state, error), _ = jax.lax.scan(step, (parameters, state, jnp.full_like(rate, jnp.inf)), batches)
        return (parameters, state, running & ~(error < jnp.asarray(tolerance, error.dtype))), None

    carry = start, optimiser.init(start), jnp.asarray(True)
    return jax.lax.scan(epoch, carry, (rows, present, rates))[0][0]
