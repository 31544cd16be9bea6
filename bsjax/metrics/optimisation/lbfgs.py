"""Minimisation of smooth functions by limited-memory BFGS, in a form that compiles and batches.

That of optax mixes dtypes, which strict promotion refuses, and its line search takes long to compile.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

_SUFFICIENT = 1e-4
_HALVINGS = 30
# Of the value, in rounding errors: what a step may seem to lose near the minimum.
_VALUE_ROUNDING = 10.0

Objective = Callable[[Float[Array, " d"]], Float[Array, ""]]


class _State(NamedTuple):
    x: Float[Array, " d"]
    value: Float[Array, ""]
    gradient: Float[Array, " d"]
    steps: Float[Array, "memory d"]
    changes: Float[Array, "memory d"]
    curvatures: Float[Array, " memory"]
    iteration: Int[Array, ""]
    stalled: Bool[Array, ""]


def minimise(
    objective: Objective,
    start: Float[Array, " d"],
    tolerance: float = 1e-9,
    max_iterations: int = 500,
    memory: int = 10,
) -> Float[Array, " d"]:
    """The minimum of a smooth function, found from its gradients.

    Directions come from the last ``memory`` steps, by the two-loop recursion; the step is halved until the value falls
    enough (Armijo). It ends when the largest entry of the gradient is below ``tolerance`` times that at the start (or
    times 1, if that was smaller), when no step lowers the value any more, or after ``max_iterations``.

    Args:
        objective: a differentiable function of a vector.
        start: where to begin; its dtype is kept.
        tolerance: relative size of the last gradient; not below 30 rounding errors.
        max_iterations: the most steps.
        memory: how many steps the approximation of the curvature is made of.

    Source: Liu, D. C., & Nocedal, J. (1989). On the limited memory BFGS method for large scale optimization.
    Mathematical Programming, 45, 503-528.

    Example:
        >>> scale = jnp.array([1.0, 100.0])
        >>> print(minimise(lambda x: jnp.sum(scale * (x - 2.0) ** 2), jnp.zeros(2)).round(3))
        [2. 2.]
    """
    dtype = start.dtype
    eps = jnp.finfo(dtype).eps
    evaluate = jax.value_and_grad(objective)
    value, gradient = evaluate(start)
    limit = max(tolerance, 30 * float(eps)) * jnp.maximum(jnp.max(jnp.abs(gradient)), 1.0)

    def unfinished(state: _State) -> Bool[Array, ""]:
        return (jnp.max(jnp.abs(state.gradient)) > limit) & (state.iteration < max_iterations) & ~state.stalled

    def step(state: _State) -> _State:
        direction = -_curvature_applied(state)
        slope = jnp.dot(direction, state.gradient)
        slack = _VALUE_ROUNDING * eps * jnp.abs(state.value)

        def too_far(search: tuple[Array, Array, Array, Array]) -> Bool[Array, ""]:
            length, value, _, halvings = search
            enough = value <= state.value + _SUFFICIENT * length * slope + slack
            return ~enough & (halvings < _HALVINGS)

        def halve(search: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
            length, _, _, halvings = search
            length = length / 2
            return (length, *evaluate(state.x + length * direction), halvings + 1)

        # Nothing is known of the curvature before the first step: as if the gradient's length were the distance.
        norm = jnp.linalg.norm(state.gradient)
        first = jnp.where(state.iteration == 0, 1 / jnp.maximum(norm, 1.0), 1.0).astype(dtype)
        begin = (first, *evaluate(state.x + first * direction), jnp.int32(0))
        length, value, gradient, halvings = jax.lax.while_loop(too_far, halve, begin)
        stalled = halvings >= _HALVINGS
        moved, change = length * direction, gradient - state.gradient
        product = jnp.dot(moved, change)
        useful = product > eps * jnp.dot(change, change)
        slot = state.iteration % memory
        # A curvature of zero marks a slot that holds nothing.
        inverse = jnp.where(useful, 1 / jnp.where(useful, product, 1.0), 0.0).astype(dtype)
        return _State(
            jnp.where(stalled, state.x, state.x + moved),
            jnp.where(stalled, state.value, value),
            jnp.where(stalled, state.gradient, gradient),
            state.steps.at[slot].set(moved),
            state.changes.at[slot].set(change),
            state.curvatures.at[slot].set(inverse),
            state.iteration + 1,
            stalled,
        )

    nothing = jnp.zeros((memory, start.shape[0]), dtype)
    begin = _State(start, value, gradient, nothing, nothing, nothing[:, 0], jnp.int32(0), jnp.bool_(False))
    return jax.lax.while_loop(unfinished, step, begin).x


def _curvature_applied(state: _State) -> Float[Array, " d"]:
    """The inverse of the approximated Hessian, times the gradient."""
    memory = state.steps.shape[0]

    def newest_first(i: Int[Array, ""], carry: tuple[Array, Array]) -> tuple[Array, Array]:
        q, shares = carry
        slot = (state.iteration - 1 - i) % memory
        share = state.curvatures[slot] * jnp.dot(state.steps[slot], q)
        return q - share * state.changes[slot], shares.at[slot].set(share)

    def oldest_first(i: Int[Array, ""], r: Float[Array, " d"]) -> Float[Array, " d"]:
        slot = (state.iteration + i) % memory
        share = state.curvatures[slot] * jnp.dot(state.changes[slot], r)
        return r + (shares[slot] - share) * state.steps[slot]

    q, shares = jax.lax.fori_loop(0, memory, newest_first, (state.gradient, jnp.zeros_like(state.curvatures)))
    last = (state.iteration - 1) % memory
    squares = state.curvatures[last] * jnp.sum(state.changes[last] ** 2)
    known = squares > 0
    return jax.lax.fori_loop(0, memory, oldest_first, jnp.where(known, q / jnp.where(known, squares, 1.0), q))
