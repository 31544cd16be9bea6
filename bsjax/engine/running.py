"""Runs a kernel on arrays of the host: compiled, in a dtype, on devices, within the memory limit."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bsjax.engine.memory_limit import refuse_unless_it_fits, taken_by
from bsjax.engine.precision import in_dtype, precision
from bsjax.engine.programs.compilation import compiled
from bsjax.engine.sharding import Shards, sharded
from bsjax.engine.transfers import to_host


def run(
    kernel: Callable[..., Any],
    *arrays: Any,
    dtype: str | None = None,
    takes: str = "",
    advice: str = "fewer stimuli or neuroids",
    shards: Shards | None = None,
    **settings: Any,
) -> Any:
    """Compiles and runs a kernel, and returns its results as NumPy arrays.

    Args:
        kernel: function of arrays; it is compiled here.
        *arrays: numbers, NumPy or JAX arrays, trees of them, or None.
        dtype: dtype of the computation, to which floats are converted; see ``precision``.
        takes: name of the computation for the message if it needs too much memory; "" if it needs little, which skips
            the check.
        advice: what would need less memory, for the message.
        shards: how arrays are sharded over the devices in use; None for a single device.
        **settings: settings of the kernel.

    Raises:
        ValueError: the kernel needs too much memory, or the dtype is not supported.

    Example:
        >>> from bsjax.metrics import pearson
        >>> run(pearson, np.arange(6.0)[:, None], -np.arange(6)[:, None].astype(float), dtype="float32").dtype
        dtype('float32')
    """
    arrays = jax.tree.map(lambda each: each if isinstance(each, jax.Array) else np.asarray(each), arrays)
    program = compiled(kernel, **settings)
    with precision(dtype) as chosen:

        def kind(values: Any) -> Any:
            return chosen if jnp.issubdtype(values.dtype, jnp.floating) else values.dtype

        if takes:  # before arrays are converted to the dtype, which may copy them
            shapes = jax.tree.map(lambda values: jax.ShapeDtypeStruct(values.shape, kind(values)), arrays)
            refuse_unless_it_fits(taken_by(program, shapes, shards), takes, advice)
        given = jax.tree.map(lambda values: in_dtype(values, chosen) if kind(values) is chosen else values, arrays)
        return to_host(program(*given)) if shards is None else sharded(program, given, shards)
