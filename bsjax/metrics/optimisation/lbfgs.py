"""Minimisation of smooth functions by optax's L-BFGS, in a single compiled loop that can be batched."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float

from bsjax.engine.tolerances import rounding
from bsjax.metrics.arrays import Scalar

_TOLERANCE = 1e-9  # largest entry of the gradient, relative to that at the start
_STEPS, _HALVINGS = 500, 30
# Apparent increase of the value, in rounding errors, that a step near the minimum may have.
_VALUE_ROUNDING = 10.0


def minimise(objective: Callable[[Float[Array, " d"]], Scalar], start: Float[Array, " d"]) -> Float[Array, " d"]:
    """Minimises a smooth function of a vector by L-BFGS; returns the minimiser in the dtype of ``start``.

    Each step is halved until it satisfies the Armijo condition. The search ends when the largest entry of the gradient
    is at most 1e-9 (or 30 rounding errors, in float32) times its value at the start or 1, whichever is larger; when a
    step no longer changes the vector; or after 500 steps.

    Source: Liu & Nocedal 1989.

    Example:
        >>> scale = jnp.array([1.0, 100.0])
        >>> print(minimise(lambda x: jnp.sum(scale * (x - 2.0) ** 2), jnp.zeros(2)).round(3))
        [2. 2.]
    """
    search = optax.scale_by_backtracking_linesearch(
        _HALVINGS, decrease_factor=0.5, increase_factor=jnp.inf, rtol=rounding(start, _VALUE_ROUNDING), store_grad=True
    )
    optimiser = optax.lbfgs(linesearch=search)
    evaluate = optax.value_and_grad_from_state(objective)

    def largest(gradient: Float[Array, " d"]) -> Scalar:
        return jnp.max(jnp.abs(gradient))

    limit = max(_TOLERANCE, rounding(start, 30)) * jnp.maximum(largest(jax.grad(objective)(start)), 1.0)

    def unfinished(carry: tuple[Any, ...]) -> Bool[Array, ""]:
        x, last, state, steps = carry
        steep = largest(optax.tree_utils.tree_get(state, "grad")) > limit
        return (steps == 0) | (steep & jnp.any(x != last) & (steps < _STEPS))

    def step(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        x, _, state, steps = carry
        value, gradient = evaluate(x, state=state)
        move, state = optimiser.update(gradient, state, x, value=value, grad=gradient, value_fn=objective)
        return optax.apply_updates(x, move), x, state, steps + 1

    with jax.numpy_dtype_promotion("standard"):  # optax multiplies numbers by integer counts
        return jax.lax.while_loop(unfinished, step, (start, start, optimiser.init(start), 0))[0]
