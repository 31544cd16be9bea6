"""Precision of computations, without changes to the user's JAX configuration."""

from collections.abc import Callable, Iterator, Sequence
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
from bsjax.engine.tolerances import CONSTANT, rounding

P = ParamSpec("P")
R = TypeVar("R")
# Sums of squares of values up to here, and down to its inverse, are in the range of float32.
_EXTREME = 1e16
# Means of fewer standard deviations cost float32 less than 1e-6 of them.
_LARGE_MEAN = 16.0
_ROWS_AT_A_TIME = 256


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
    try:
        chosen = default_dtype() if dtype is None else np.dtype(dtype)
    except TypeError:
        chosen = None
    if chosen is None or chosen not in (np.dtype("float32"), np.dtype("float64")):
        raise ValueError(f"dtype must be 'float32' or 'float64', got {str(dtype)!r}")
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


def without_large_means(
    dtype: np.dtype | str, *parts: np.ndarray | jax.Array, of_rows: bool = False
) -> Sequence[np.ndarray | jax.Array]:
    """Arrays ``(rows, columns, ...)`` less means that a cast to a shorter ``dtype`` would confuse with variation.

    In float32, values around 10,000 have three decimals. Where the mean of a column of the first array is large beside
    its standard deviation, it is subtracted from all arrays, in their own precision; then they are cast to ``dtype``.
    Other arrays are returned as they are, as are arrays on a device. Columns that are constant up to rounding stay so.
    With ``of_rows``, rows of matrices take the place of columns.

    Example:
        >>> (values,) = without_large_means("float32", 10_000 + np.array([[0.0001], [0.0003]]))
        >>> values.round(6)
        array([[-0.0001],
               [ 0.0001]], dtype=float32)
    """
    dtype, given = np.dtype(dtype), parts
    if running_dry() is None:  # a shorter dtype has no room for the digits of large integers either
        parts = tuple(part.astype(float) if _may_be_large(part) else part for part in parts)
    if not all(_is_longer(part, dtype) for part in parts):
        return given
    first = parts[0]
    if of_rows:
        return [part.T for part in without_large_means(dtype, *(part.T for part in parts))]
    # Bins on a third axis may be fitted together, and lose the same mean.
    others = tuple(axis for axis in range(first.ndim) if axis != 1)
    mean = np.mean(first, axis=others, keepdims=True)
    squares = np.zeros_like(mean)
    with np.errstate(over="ignore"):  # such columns are left as they are
        for start in range(0, len(first), _ROWS_AT_A_TIME):
            squares += np.sum((first[start : start + _ROWS_AT_A_TIME] - mean) ** 2, axis=others, keepdims=True)
    deviation, size = np.sqrt(squares * mean.size / first.size), np.abs(mean)
    large = (size > _LARGE_MEAN * deviation) & (deviation > rounding(mean, CONSTANT) * size)
    if not large.any():
        return given
    shift = np.where(large, mean, 0.0)
    return [np.subtract(part, shift, out=np.empty(part.shape, dtype), casting="same_kind") for part in parts]


def in_range(dtype: np.dtype | str, values: np.ndarray | jax.Array) -> np.ndarray | jax.Array:
    """An array times a power of two if powers of its values would leave the range of a shorter ``dtype``, else itself.

    Example:
        >>> in_range("float32", 1e-30 * np.ones(2)).round(2)
        array([0.63, 0.63])
    """
    if not _is_longer(values, np.dtype(dtype)):
        return values
    largest = float(max(values.max(), -values.min()))
    if 1.0 / _EXTREME < largest < _EXTREME or not 0.0 < largest < np.inf:
        return values
    return np.ldexp(values, -int(np.ceil(np.log2(largest))))


def _may_be_large(values: np.ndarray | jax.Array) -> bool:
    """Whether an array on the host holds integers that float32 may not hold."""
    return isinstance(values, np.ndarray) and values.dtype.kind in "iu" and values.itemsize >= 4


def _is_longer(values: np.ndarray | jax.Array, dtype: np.dtype) -> bool:
    """Whether an array on the host holds floats of more digits than a dtype, and is to be computed with."""
    computed = not isinstance(values, jax.Array) and running_dry() is None and values.size > 0
    return computed and values.dtype.kind == "f" and values.dtype.itemsize > dtype.itemsize
