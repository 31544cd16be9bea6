"""Calls of NumPy and SciPy functions within a compiled program on a CPU."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Shaped

from bsjax.engine.jax_names import Primitive, ShapedArray, batching, mlir

_host_call = Primitive("host_call")


def host_call(
    function: Callable[..., np.ndarray], *operands: Shaped[Array, "..."], shape: Sequence[int], dtype: Any
) -> Shaped[Array, "..."]:
    """Calls ``function(*operands)`` on NumPy arrays, on the host, within a running CPU program.

    Like ``jax.pure_callback``, but the function receives views of the program's memory. ``jax.pure_callback`` passes
    JAX arrays, which are copied on the threads that run programs. If all these threads are busy (a single core, or as
    many devices as cores), the copy and the program wait for each other forever (jax-ml/jax#24255). This function
    cannot deadlock in this way.

    Under ``vmap`` the function is called once, with one more leading axis on all operands and on its result. It may run
    on a thread with 64-bit types disabled: results have at most 32 bits, and 64-bit operands are passed as pairs of 32
    bits.

    Args:
        function: pure Python function, always the same object for the same computation; must accept any number of
            leading axes.
        operands: arrays.
        shape, dtype: shape and dtype of the result, with at most 32 bits per element.

    Example:
        >>> import jax
        >>> def reverse(x):
        ...     return x[..., ::-1]
        >>> print(jax.jit(lambda x: host_call(reverse, x, shape=x.shape, dtype=x.dtype))(jnp.array([3.0, 1.0, 2.0])))
        [2. 1. 3.]
    """
    dtypes = tuple(np.dtype(x.dtype) for x in operands)
    words = [
        jax.lax.bitcast_convert_type(x, jnp.uint32) if own.itemsize == 8 else x
        for x, own in zip(operands, dtypes, strict=True)
    ]
    return _host_call.bind(*words, function=function, dtypes=dtypes, shape=tuple(shape), dtype=np.dtype(dtype))


def _on_host(
    words: Sequence[np.ndarray], function: Callable[..., np.ndarray], dtypes: Sequence[np.dtype]
) -> np.ndarray:
    views = (x.view(own)[..., 0] if own.itemsize == 8 else x for x, own in zip(words, dtypes, strict=True))
    return function(*views)


@_host_call.def_impl
def _evaluated(*words: Array, function: Any, dtypes: Any, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    return jnp.asarray(_on_host([np.asarray(x) for x in words], function, dtypes).reshape(shape), dtype)


@_host_call.def_abstract_eval
def _result(*_: Any, shape: tuple[int, ...], dtype: np.dtype, **__: Any) -> Any:
    return ShapedArray(shape, dtype)


def _batched(operands: Sequence[Array], axes: Sequence[int | None], **params: Any) -> tuple[Array, int]:
    size = next(x.shape[axis] for x, axis in zip(operands, axes, strict=True) if axis is not None)
    leading = [
        jnp.broadcast_to(x, (size, *x.shape)) if axis is None else jnp.moveaxis(x, axis, 0)
        for x, axis in zip(operands, axes, strict=True)
    ]
    return _host_call.bind(*leading, **params | {"shape": (size, *params["shape"])}), 0


def _lowered(context: Any, *operands: Any, function: Any, dtypes: Any, **_: Any) -> Any:
    results, _, _ = mlir.emit_python_callback(
        context,
        lambda *words: (_on_host(words, function, dtypes),),
        None,
        list(operands),
        context.avals_in,
        context.avals_out,
        has_side_effect=False,
        returns_token=False,
    )
    return results


batching.primitive_batchers[_host_call] = _batched
mlir.register_lowering(_host_call, _lowered, platform="cpu")
