"""Padding of columns to few widths, so that arrays of similar width share compiled programs.

A program is compiled for one shape, which takes a second or two: longer than most comparisons. If columns of zeros do
not affect a computation, its arrays are padded to the next of eight widths per octave, at most an eighth more than
there are, and results for the padding are dropped. For many stimuli, widths are closer together, so that at most
128 KiB of zeros are added: work on more zeros would take longer than compilation. Arrays of more than 24 MiB are not
padded, because the copy would take too long.

None of these widths is a multiple of 512. With such a width, the values of a column would share a few sets of a CPU's
cache: CKA of 1,024 features takes 1.5 times as long as of 1,032.

Stimuli are not padded. Padded stimuli would have to be held out of every fold, which costs more than it saves, and
would make least squares singular with more features than stimuli.
"""

from functools import lru_cache, partial

import jax
import jax.numpy as jnp
import numpy as np

from bsjax.engine.memory_limit import may_be_held
from bsjax.engine.precision import in_dtype
from bsjax.engine.programs.dry_runs import running_dry

_BUCKETS = 8  # per octave
_MOST_BYTES, _LARGEST = 128 << 10, 24 << 20
_SAME_PLACES, _CACHE_LINE = 512, 8  # columns of float64: a page of 4 KiB, and 64 bytes
_WIDEST = 1 << 14


@lru_cache
def bucket(width: int, most: int = _WIDEST) -> int:
    """The width that ``width`` columns are padded to: one of eight per octave, at most an eighth more.

    Args:
        width: number of columns.
        most: largest number of columns to add, not counting those added to avoid a multiple of 512.

    Example:
        >>> [bucket(width) for width in (5, 100, 161, 168, 176, 1000, 1024, 1033, 100_000)]
        [5, 104, 176, 176, 176, 1032, 1032, 1152, 100000]
        >>> [bucket(width, most=12) for width in (100, 161, 168, 1000)]
        [104, 168, 168, 1000]
    """
    if not _BUCKETS < width <= _WIDEST or most < 1:
        return width
    step = 1 << min(width.bit_length() - _BUCKETS.bit_length(), most.bit_length() - 1)
    below = width // step * step
    if below % _SAME_PLACES == 0 and below + _CACHE_LINE >= width:
        return below + _CACHE_LINE
    above = -(-width // step) * step
    return above if above % _SAME_PLACES else above + _CACHE_LINE


def padded_width(stimuli: int, width: int) -> int:
    """The width that an array of ``stimuli`` rows and ``width`` columns is padded to.

    If there are fewer columns than stimuli, at most ``stimuli - 2`` are made, because ridge regression works on the
    smaller side. Arrays are not padded if they have as many columns as stimuli (the width that wider features are
    rotated to), exceed 24 MiB, or would not fit in memory with padding.

    Example:
        >>> [padded_width(60, width) for width in (33, 57, 59, 60, 61)]
        [36, 58, 59, 60, 64]
        >>> [padded_width(2560, width) for width in (161, 1000, 1024, 1300)]
        [164, 1000, 1032, 1300]
    """
    if width == stimuli or 8 * stimuli * width > _LARGEST:
        return width
    wanted = bucket(width, _MOST_BYTES // (8 * stimuli))
    if width < stimuli:
        wanted = min(wanted, max(width, stimuli - 2))
    return wanted if wanted == width or may_be_held(8 * stimuli * wanted) else width


def padded(values: np.ndarray | jax.Array, width: int, dtype: np.dtype) -> np.ndarray | jax.Array:
    """A matrix padded with columns of zeros, in the dtype of a kernel; ``in_dtype`` if it has the width already.

    Example:
        >>> padded(np.ones((1, 2), int), 3, np.dtype("float32"))
        array([[1., 1., 0.]], dtype=float32)
    """
    if values.shape[1] == width:
        return in_dtype(values, dtype)
    if (noted := running_dry()) is not None:
        return noted.cast(values, (len(values), width), dtype)
    if isinstance(values, jax.Array):
        return _with_zeros(values, width=width, dtype=dtype)
    made = np.zeros((len(values), width), dtype)
    made[:, : values.shape[1]] = values
    return made


@partial(jax.jit, static_argnames=("width", "dtype"))
def _with_zeros(values: jax.Array, *, width: int, dtype: np.dtype) -> jax.Array:
    return jnp.pad(values.astype(dtype), ((0, 0), (0, width - values.shape[1])))
