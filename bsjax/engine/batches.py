"""A function mapped over many inputs, in batches that suit the device."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from bsjax.engine.jax_names import jaxprs_in_params
from bsjax.engine.programs.platforms import default_device, default_platform, platform

# Used if the device does not report its memory: that of the smallest in common use (an H100; one chip of a TPU v5e).
_MEMORY = {"gpu": 80 * 10**9, "tpu": 16 * 10**9}
_SHARE = 0.25


def batched_map(function: Callable[..., Any], inputs: Any) -> Any:
    """Applies ``function`` to every element along the leading axis of ``inputs`` and stacks the results.

    On a CPU, elements are computed one at a time: each keeps all cores busy, and only one is in memory. On other
    devices, all are computed at once, or as many as fit in a quarter of the device's memory.

    Args:
        function: function of one element, an array or a tree of arrays; returns an array or a tree of arrays.
        inputs: an array or a tree of arrays, of the same length.

    Example:
        >>> print(batched_map(lambda pair: pair[0] * pair[1], (jnp.arange(3), jnp.arange(3))))
        [0 1 4]
    """
    if platform() == "cpu":
        return jax.lax.map(function, inputs)
    count = len(jax.tree.leaves(inputs)[0])
    one = jax.tree.map(lambda array: jax.ShapeDtypeStruct(array.shape[1:], array.dtype), inputs)
    at_a_time = int(_SHARE * device_memory() // max(1, _bytes_made(jax.make_jaxpr(function)(one).jaxpr)))
    if at_a_time >= count:
        return jax.vmap(function)(inputs)
    return in_blocks(jax.vmap(function), inputs, at_a_time, each=jax.lax.map)


def in_blocks(function: Callable[..., Any], inputs: Any, most: int, *, each: Callable[..., Any] = batched_map) -> Any:
    """Applies ``function`` to blocks of at most ``most`` elements along the leading axis, and joins the results.

    Blocks are of one size, so that they are compiled once: the last element is repeated to fill the last one.
    """
    count = len(jax.tree.leaves(inputs)[0])
    blocks = -(-count // max(1, most))
    taken = jnp.minimum(jnp.arange(blocks * -(-count // blocks)), count - 1).reshape(blocks, -1)
    made = each(lambda rows: function(jax.tree.map(lambda array: jnp.asarray(array)[rows], inputs)), taken)
    return jax.tree.map(lambda array: array.reshape(-1, *array.shape[2:])[:count], made)


def sum_of_each(function: Callable[..., Any], inputs: Any) -> Any:
    """The sum of the results of ``batched_map``; on a CPU, only one of them is in memory at a time.

    Example:
        >>> print(sum_of_each(lambda x: x**2, jnp.arange(3)))
        5
    """
    if platform() != "cpu":
        return jax.tree.map(lambda each: jnp.sum(each, axis=0), batched_map(function, inputs))

    def add(total: Any, one: Any) -> tuple[Any, None]:
        return jax.tree.map(jnp.add, total, function(one)), None

    one = jax.eval_shape(function, jax.tree.map(lambda array: array[0], inputs))
    return jax.lax.scan(add, jax.tree.map(lambda made: jnp.zeros(made.shape, made.dtype), one), inputs)[0]


def device_memory() -> int:
    """Memory in bytes of the device that is traced for; not for CPUs."""
    if platform() == default_platform():
        known = (default_device().memory_stats() or {}).get("bytes_limit")
        if known:
            return known
    return _MEMORY[platform()]


def _bytes_made(jaxpr: Any) -> int:
    """Bytes of all intermediate results of a program, an upper bound of its memory."""
    made = 0
    for equation in jaxpr.eqns:
        inner = [_bytes_made(one) for one in jaxprs_in_params(equation.params)]
        made += max(inner, default=0) + sum(v.aval.size * v.aval.dtype.itemsize for v in equation.outvars)
    return made
