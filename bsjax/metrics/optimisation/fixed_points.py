"""Search by repetition of a step until it no longer changes an array, and rotations to start from."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from bsjax.engine.tolerances import CONVERGED_POWER, rounding


def fixed_point(
    step: Callable[[Float[Array, "*shape"]], Float[Array, "*shape"]], start: Float[Array, "*shape"], *, steps: int
) -> Float[Array, "*shape"]:
    """The array at which a step changes no entry by more than rounding errors, or that after so many steps.

    Example:
        >>> print(fixed_point(lambda x: 0.5 * (x + 2.0 / x), jnp.array([1.0]), steps=100).round(3))
        [1.414]
    """
    tolerance = rounding(start, power=CONVERGED_POWER)

    def unfinished(carry: tuple[Any, ...]) -> Bool[Array, ""]:
        found, last, taken = carry
        return (taken == 0) | (jnp.any(jnp.abs(found - last) > tolerance) & (taken < steps))

    def advance(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        return step(carry[0]), carry[0], carry[2] + 1

    return jax.lax.while_loop(unfinished, advance, (start, start, jnp.int32(0)))[0]


def random_rotations(number: int, d: int) -> np.ndarray:
    """Orthogonal matrices ``(number, d, d)`` from which searches start, always the same ones."""
    return np.linalg.qr(np.random.default_rng(0).normal(size=(number, d, d)))[0]
