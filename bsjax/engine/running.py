"""Kernels on arrays of the host: compiled and run in a dtype, on devices, within memory."""

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
    """What a kernel gives of arrays, on the host.

    Args:
        kernel: of arrays, compiled here.
        *arrays: numbers, NumPy or JAX arrays, trees of them, or None.
        dtype: that it computes in, which floats are brought to; see ``precision``.
        takes: what is refused where it takes more memory than there is, for the message; "" if it takes little.
        advice: what would take less.
        shards: what devices in use have of the arrays; None for all on one.
        **settings: of the kernel.

    Raises:
        ValueError: it takes too much memory, or there is no such dtype.

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

        if takes:  # before arrays are brought to the dtype, which may take a copy of them
            shapes = jax.tree.map(lambda values: jax.ShapeDtypeStruct(values.shape, kind(values)), arrays)
            refuse_unless_it_fits(taken_by(program, shapes, shards), takes, advice)
        given = jax.tree.map(lambda values: in_dtype(values, chosen) if kind(values) is chosen else values, arrays)
        return to_host(program(*given)) if shards is None else sharded(program, given, shards)
