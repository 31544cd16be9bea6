"""Branches for what few data need, at no cost for the others, in a batch and on an accelerator too.

``jax.lax.cond`` of a batch computes both branches for all its elements: the price of a decomposition that a single one
would need, or none. Here a batch in which no element needs the fallback does without it. And a decomposition that takes
minutes to compile on an accelerator is part of a second program there, which is compiled when it is needed.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

from bsjax.engine.jax_names import Primitive, ShapedArray, batching, checkify, jaxprs_in_params, mlir

Result = TypeVar("Result")

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
    return cond(failed, fallback, usual)


def cond(chosen: Bool[Array, ""], one: Callable[[], Result], other: Callable[[], Result], /) -> Result:
    """``one()`` where this is chosen, else ``other()``, of which a single one is computed.

    Under ``vmap`` both are computed for all elements if one of them chooses ``one``, and else only ``other``.

    Args:
        chosen: a scalar.
        one, other: give the same shapes and dtypes, and finite numbers and derivatives for any element of a batch.
    """

    def of_each() -> Result:
        here = _in_this_one.bind(chosen)
        return jax.tree.map(lambda first, second: jnp.where(here, first, second), one(), other())

    return jax.lax.cond(in_any_of_a_batch(chosen), of_each, other)


def in_any_of_a_batch(chosen: Bool[Array, ""]) -> Bool[Array, ""]:
    """Whether this is so; under ``vmap`` for any of the batch, as one value, on which a branch stays a branch.

    Example:
        >>> print(jax.vmap(in_any_of_a_batch, out_axes=None)(jnp.array([False, True])))
        True
    """
    return _in_any.bind(chosen)


def without_fallbacks(function: Callable[..., Result]) -> Callable[..., tuple[checkify.Error | None, Result]]:
    """``function`` without its fallbacks, and as ``error`` whether one was needed: then ``error.get()`` is not None.

    Of a function that has none, or has them beside what JAX cannot check (a batch of loops that each end by
    themselves), the error is None and the result that of the function.

    Example:
        >>> def root(x):
        ...     return with_fallback(x < 0, lambda: jnp.sqrt(jnp.abs(x)), lambda: jnp.zeros_like(x))
        >>> error, _ = jax.jit(without_fallbacks(root))(jnp.array(-4.0))
        >>> error.get() is None
        False
    """
    checked = checkify.checkify(function, errors=checkify.user_checks)

    def call(*arguments: Any) -> tuple[checkify.Error | None, Result]:
        with _left_out(True):
            if _has_checks(jax.make_jaxpr(function)(*arguments).jaxpr):
                try:
                    return checked(*arguments)
                except ValueError:  # not to be checked; what the function itself raises, it raises again
                    pass
        return None, function(*arguments)

    return call


def _has_checks(jaxpr: Any) -> bool:
    return any(
        equation.primitive.name == "check" or any(map(_has_checks, jaxprs_in_params(equation.params)))
        for equation in jaxpr.eqns
    )


def _primitive(
    name: str, alone: Callable[[Array], Array], batched: Callable[[Array, int], tuple[Array, int | None]]
) -> Any:
    """Of a truth value, which is another thing alone than in a batch."""
    made = Primitive(name)
    made.def_impl(alone)
    made.def_abstract_eval(lambda chosen: ShapedArray((), chosen.dtype))
    batching.primitive_batchers[made] = lambda operands, axes: batched(operands[0], axes[0])
    mlir.register_lowering(made, mlir.lower_fun(alone, multiple_results=False))
    return made


_in_any = _primitive(
    "in_any_of_a_batch", lambda chosen: chosen, lambda batch, axis: (in_any_of_a_batch(jnp.any(batch, axis)), None)
)
# Asked for where one of a batch is chosen: alone that is this one, so that XLA leaves the other out.
_in_this_one = _primitive("in_this_one", jnp.ones_like, lambda batch, axis: (batch, axis))
