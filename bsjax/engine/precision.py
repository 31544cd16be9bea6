"""Precision of computations, without changes to the user's JAX configuration."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from bsjax.core.given_arrays import widened
from bsjax.engine.programs.dry_runs import running_dry
from bsjax.engine.programs.forks import refuse_after_fork
from bsjax.engine.programs.platforms import default_platform

P = ParamSpec("P")
R = TypeVar("R")


def default_dtype() -> np.dtype:
    """The default dtype of the device: float64 on a CPU, float32 elsewhere (TPUs have no float64)."""
    return np.dtype("float64" if default_platform() == "cpu" else "float32")


@contextmanager
def precision(dtype: str | np.dtype | None = None) -> Iterator[np.dtype]:
    """Context manager in which JAX computes in ``dtype``, with matrix products at full precision.

    Convert results to NumPy within the block: outside, JAX may convert float64 to float32.

    Args:
        dtype: ``"float32"``, ``"float64"``, or None for the default of the device.

    Raises:
        ValueError: another dtype, or float64 on a TPU.
        RuntimeError: the process was forked from one that has computed before.

    Example:
        >>> with precision("float32") as dtype:
        ...     print(dtype)
        float32
    """
    refuse_after_fork()
    chosen = default_dtype() if dtype is None else np.dtype(dtype)
    if chosen not in (np.dtype("float32"), np.dtype("float64")):
        raise ValueError(f"dtype must be 'float32' or 'float64', got {chosen.name!r}")
    double = chosen == np.dtype("float64")
    if double and dtype is not None and default_platform() == "tpu":
        raise ValueError("TPUs compute in float32: leave dtype out, or pass dtype='float32'")
    with jax.enable_x64(double), jax.default_matmul_precision("highest"):
        yield chosen


def at_full_precision(kernel: Callable[P, R]) -> Callable[P, R]:
    """Decorator for kernels: matrix products, also those of gradients, have the full precision of their dtype.

    By default, accelerators multiply float32 matrices in a reduced precision (TF32 or bfloat16) of about three digits,
    which is too little for ranks, signs or small residuals. Floats of fewer than 32 bits are widened to float32.

    Example:
        >>> @at_full_precision
        ... def products(x):
        ...     return x @ x.T
        >>> str(jax.make_jaxpr(products)(jnp.ones((2, 2))).eqns[-1].params["precision"][0])
        'HIGHEST'
    """

    @wraps(kernel)
    def precise(*args: P.args, **kwargs: P.kwargs) -> R:
        leaves, tree = jax.tree.flatten((args, kwargs))
        wide = [widened(leaf) for leaf in leaves]
        if any(new is not leaf for new, leaf in zip(wide, leaves, strict=True)):
            args, kwargs = tree.unflatten(wide)
        with jax.default_matmul_precision("highest"):
            return kernel(*args, **kwargs)

    return precise


def in_dtype(values: np.ndarray | jax.Array, dtype: np.dtype) -> np.ndarray | jax.Array:
    """Converts an argument of a compiled kernel to a dtype: JAX arrays stay on their device, others become NumPy.

    On a CPU, a NumPy array aligned to 64 bytes is read in place during the call; otherwise JAX copies it.

    Example:
        >>> in_dtype(np.arange(3), np.dtype("float32"))
        array([0., 1., 2.], dtype=float32)
    """
    if (noted := running_dry()) is not None:
        return noted.cast(values, values.shape, dtype)
    return jnp.asarray(values, dtype) if isinstance(values, jax.Array) else np.asarray(values, dtype)
