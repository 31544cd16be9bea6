"""Branches that few inputs need, at no cost for the others, also in batches and on accelerators.

Under ``vmap``, ``jax.lax.cond`` computes both branches for all elements, even if none needs the expensive one. The
functions here skip the fallback if no element of a batch needs it. On an accelerator, a fallback that takes minutes to
compile, such as a decomposition, is part of a second program that is compiled only when needed.
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
    """``fallback()`` if ``failed``, else ``usual()``, for a fallback that is rarely needed.

    Args:
        failed: a scalar.
        usual: may be computed in any case, so its result and derivative must be finite even where it has failed.
        fallback: returns the same shapes and dtypes.

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
    """``one()`` if ``chosen``, else ``other()``; only one of them is computed.

    Under ``vmap``, both are computed for all elements if any element chooses ``one``; otherwise only ``other``.

    Args:
        chosen: a scalar.
        one, other: return the same shapes and dtypes, with finite values and derivatives for all elements of a batch.
    """

    def of_each() -> Result:
        here = _in_this_one.bind(chosen)
        return jax.tree.map(lambda first, second: jnp.where(here, first, second), one(), other())

    return jax.lax.cond(in_any_of_a_batch(chosen), of_each, other)


def in_any_of_a_batch(chosen: Bool[Array, ""]) -> Bool[Array, ""]:
    """``chosen``; under ``vmap``, whether it is True for any element, as an unbatched value that allows real branches.

    Example:
        >>> print(jax.vmap(in_any_of_a_batch, out_axes=None)(jnp.array([False, True])))
        True
    """
    return _in_any.bind(chosen)


def without_fallbacks(function: Callable[..., Result]) -> Callable[..., tuple[checkify.Error | None, Result]]:
    """``function`` without its fallbacks; it returns an error and the result.

    ``error.get()`` is not None if a fallback was needed. The error itself is None, and the result that of the original
    function, if the function has no fallbacks, or if JAX cannot check it (batched loops with separate ends).

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
                except ValueError:  # JAX cannot check it; errors of the function itself are raised again below
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
    """A JAX primitive of a truth value with separate definitions for single values and batches."""
    made = Primitive(name)
    made.def_impl(alone)
    made.def_abstract_eval(lambda chosen: ShapedArray((), chosen.dtype))
    batching.primitive_batchers[made] = lambda operands, axes: batched(operands[0], axes[0])
    mlir.register_lowering(made, mlir.lower_fun(alone, multiple_results=False))
    return made


_in_any = _primitive(
    "in_any_of_a_batch", lambda chosen: chosen, lambda batch, axis: (in_any_of_a_batch(jnp.any(batch, axis)), None)
)
# Evaluated only if an element of the batch is chosen. Without a batch, it is True, so XLA removes the other branch.
_in_this_one = _primitive("in_this_one", jnp.ones_like, lambda batch, axis: (batch, axis))
