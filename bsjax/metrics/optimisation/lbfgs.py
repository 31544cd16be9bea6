"""Minimisation of smooth functions by limited-memory BFGS (that of optax), in a form that compiles and batches."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float

_TOLERANCE = 1e-9  # of the largest entry of the gradient, against that at the start
_STEPS, _HALVINGS = 500, 30
# Of the value, in rounding errors: what a step may seem to lose near the minimum.
_VALUE_ROUNDING = 10.0


def minimise(
    objective: Callable[[Float[Array, " d"]], Float[Array, ""]], start: Float[Array, " d"]
) -> Float[Array, " d"]:
    """The minimum of a smooth function of a vector, found from its gradients, in the dtype of ``start``.

    A step is halved until the value falls enough (Armijo). It ends when the largest entry of the gradient is 1e-9 of
    that at the start (or of 1, if that was smaller), when no step changes the vector any more, or after 500 steps.

    Source: Liu & Nocedal 1989.

    Example:
        >>> scale = jnp.array([1.0, 100.0])
        >>> print(minimise(lambda x: jnp.sum(scale * (x - 2.0) ** 2), jnp.zeros(2)).round(3))
        [2. 2.]
    """
    eps = float(jnp.finfo(start.dtype).eps)
    search = optax.scale_by_backtracking_linesearch(
        _HALVINGS, decrease_factor=0.5, increase_factor=float("inf"), rtol=_VALUE_ROUNDING * eps, store_grad=True
    )
    optimiser = optax.lbfgs(linesearch=search)
    evaluate = optax.value_and_grad_from_state(objective)

    def largest(gradient: Float[Array, " d"]) -> Float[Array, ""]:
        return jnp.max(jnp.abs(gradient))

    limit = max(_TOLERANCE, 30 * eps) * jnp.maximum(largest(jax.grad(objective)(start)), 1.0)

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
