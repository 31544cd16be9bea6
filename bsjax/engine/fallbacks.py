"""Branches for what few data need, at no cost for the others, in a batch and on an accelerator too.

``jax.lax.cond`` of a batch computes both branches for all its elements: the price of a decomposition that a single one
would need, or none. Here a batch in which no element needs the fallback does without it. And a decomposition that takes
minutes to compile on an accelerator is part of a second program there, which is compiled when it is needed.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax.core import ShapedArray
from jax.experimental import checkify
from jax.extend.core import Primitive
from jax.interpreters import batching, mlir
from jaxtyping import Array, Bool

Result = TypeVar("Result")

_in_any = Primitive("in_any_of_a_batch")
_left_out: Any = jax.make_user_context(default_value=False)


def with_fallback(failed: Bool[Array, ""], usual: Callable[[], Result], fallback: Callable[[], Result], /) -> Result:
    """``fallback()`` where this has failed, else ``usual()``, for a fallback that few data need.

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
    if _left_out.value:
        checkify.check(~failed, "needs a fallback")
        return usual()
    return either_of(failed, fallback, usual)


def either_of(chosen: Bool[Array, ""], one: Callable[[], Result], other: Callable[[], Result], /) -> Result:
    """``one()`` where this is chosen, else ``other()``, of which a single one is computed.

    Under ``vmap`` both are computed for all elements if one of them chooses ``one``, and else only ``other``.

    Args:
        chosen: a scalar.
        one, other: give the same shapes and dtypes, and finite numbers and derivatives for any element of a batch.
    """

    # Of a batch the inner branch becomes a choice between both.
    return jax.lax.cond(in_any_of_a_batch(chosen), lambda: jax.lax.cond(chosen, one, other), other)


def in_any_of_a_batch(chosen: Bool[Array, ""]) -> Bool[Array, ""]:
    """Whether this is so; under ``vmap`` for any of the batch, as one value, on which a branch stays a branch.

    Example:
        >>> print(jax.vmap(in_any_of_a_batch, out_axes=None)(jnp.array([False, True])))
        True
    """
    return _in_any.bind(chosen)


def without_fallbacks(function: Callable[..., Result]) -> Callable[..., tuple[checkify.Error, Result]]:
    """``function`` without its fallbacks, and as ``error`` whether one was needed: then ``error.get()`` is not None.

    Example:
        >>> def root(x):
        ...     return with_fallback(x < 0, lambda: jnp.sqrt(jnp.abs(x)), lambda: jnp.zeros_like(x))
        >>> error, _ = jax.jit(without_fallbacks(root))(jnp.array(-4.0))
        >>> error.get() is None
        False
    """
    checked = checkify.checkify(function, errors=checkify.user_checks)

    def call(*arguments: Any) -> tuple[checkify.Error, Result]:
        with _without():
            return checked(*arguments)

    return call


@contextmanager
def _without() -> Iterator[None]:
    with _left_out(True):
        yield


@_in_any.def_impl
def _evaluated(chosen: Array) -> Array:
    return chosen


@_in_any.def_abstract_eval
def _result(chosen: ShapedArray) -> ShapedArray:
    return ShapedArray((), chosen.dtype)


def _batched(operands: tuple[Array], axes: tuple[int]) -> tuple[Array, None]:
    return _in_any.bind(jnp.any(operands[0], axis=axes[0])), None


batching.primitive_batchers[_in_any] = _batched
mlir.register_lowering(_in_any, mlir.lower_fun(lambda chosen: chosen, multiple_results=False))
