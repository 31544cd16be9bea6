"""Branches for what few data need, which stay branches under ``vmap``.

``jax.lax.cond`` of a batch computes both branches for all its elements: the price of a decomposition that a single one
would need, or none. Here a batch in which no element needs the fallback does without it.
"""

from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import batching, mlir
from jaxtyping import Array, Bool

Result = TypeVar("Result")

_in_any = Primitive("in_any_of_a_batch")


def with_fallback(failed: Bool[Array, ""], usual: Callable[[], Result], fallback: Callable[[], Result], /) -> Result:
    """``fallback()`` where this has failed, else ``usual()``.

    Under ``vmap`` the fallback is computed for all elements if one of them needs it, and else for none.

    Args:
        failed: a scalar.
        usual: computed in any case, so that it and its derivative have to be finite also where it has failed.
        fallback: gives the same shapes and dtypes.

    Example:
        >>> def root(x):
        ...     return with_fallback(x < 0, lambda: jnp.sqrt(jnp.abs(x)), lambda: jnp.zeros_like(x))
        >>> print(jax.vmap(root)(jnp.array([4.0, -4.0])))
        [2. 0.]
    """

    def both() -> Result:
        return jax.tree.map(lambda one, other: jnp.where(failed, other, one), usual(), fallback())

    return jax.lax.cond(in_any_of_a_batch(failed), both, usual)


def in_any_of_a_batch(failed: Bool[Array, ""]) -> Bool[Array, ""]:
    """Whether this has failed; under ``vmap`` for any of the batch, as one value, on which a branch stays a branch.

    Example:
        >>> print(jax.vmap(in_any_of_a_batch, out_axes=None)(jnp.array([False, True])))
        True
    """
    return _in_any.bind(failed)


@_in_any.def_impl
def _evaluated(failed: Array) -> Array:
    return failed


@_in_any.def_abstract_eval
def _result(failed: ShapedArray) -> ShapedArray:
    return ShapedArray((), failed.dtype)


def _batched(operands: tuple[Array], axes: tuple[int]) -> tuple[Array, None]:
    return _in_any.bind(jnp.any(operands[0], axis=axes[0])), None


batching.primitive_batchers[_in_any] = _batched
mlir.register_lowering(_in_any, mlir.lower_fun(lambda failed: failed, multiple_results=False))
