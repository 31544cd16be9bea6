"""Division of a large array into blocks that fit into memory one at a time."""

from collections.abc import Iterator, Sequence

import numpy as np
import xarray as xr

# Bytes to process at once of an array in memory: slightly more than the processor's caches.
_HANDLED = 4 << 20
# Bytes to read at once of a lazy array; also the amount of memory that sums may always take.
_READ = 64 << 20
_BYTES_OF_A_SUM = 12  # a float64 sum and an int32 count


def blocks(variable: xr.Variable, axis: int, n_sums: int) -> Iterator[tuple[tuple[slice, ...], list[slice]]]:
    """Divide an array into blocks for sums along one dimension.

    Args:
        variable: the array, in memory or read lazily.
        axis: the dimension to sum over.
        n_sums: number of sums along it, for each position in the other dimensions.

    Yields:
        The next part of the other dimensions (one slice per dimension; that of ``axis`` takes all), and the successive
        parts along ``axis``. The other dimensions form one part, unless the sums would then take more than a quarter of
        the array, or a block of a lazy array would be too large. Parts end at the borders of a lazy array's blocks, so
        that each block is read only once if possible.

    Example:
        >>> list(blocks(xr.Variable(["presentation", "neuroid"], np.zeros((4, 2))), 0, 2))
        [((slice(None, None, None), slice(0, 2, None)), [slice(0, 4, None)])]
    """
    lengths = variable.chunks or tuple((size,) for size in variable.shape)
    width = max(variable.size // max(variable.shape[axis], 1), 1)  # positions in the other dimensions
    room_for_sums = max(variable.size * variable.dtype.itemsize // 4, _READ)
    limits = [room_for_sums // (max(n_sums, 1) * _BYTES_OF_A_SUM)]
    if variable.chunks is not None:
        limits.append(_READ // (max(lengths[axis], default=1) * variable.dtype.itemsize))
    for columns in _columns(variable.shape, axis, lengths, max(1, min(width, *limits, width))):
        positions = [part.stop - part.start for dim, part in enumerate(columns) if dim != axis]
        row = int(np.prod(positions)) * variable.dtype.itemsize
        size = _HANDLED if variable.chunks is None else _READ
        yield columns, cut(lengths[axis], max(1, size // max(row, 1)))


def _columns(
    shape: Sequence[int], axis: int, lengths: Sequence[Sequence[int]], limit: int
) -> Iterator[tuple[slice, ...]]:
    """Parts of all other dimensions, cut along the longest of them to at most ``limit`` positions."""
    others = [dim for dim in range(len(shape)) if dim != axis]
    whole = [slice(None) if dim == axis else slice(0, size) for dim, size in enumerate(shape)]
    if not others:
        yield tuple(whole)
        return
    longest = max(others, key=shape.__getitem__)
    rest = int(np.prod([shape[dim] for dim in others if dim != longest]))
    for part in cut(lengths[longest], max(1, limit // max(rest, 1))):
        yield tuple(part if dim == longest else each for dim, each in enumerate(whole))


def cut(lengths: Sequence[int], step: int) -> list[slice]:
    """Parts of at most ``step`` rows: one or several whole blocks if they fit, otherwise pieces of a block."""
    parts: list[slice] = []
    start = stop = 0
    for length in lengths:
        if stop > start and stop + length - start > step:
            parts.append(slice(start, stop))
            start = stop
        stop += length
        while stop - start > step:
            parts.append(slice(start, start + step))
            start += step
    return [*parts, slice(start, stop)] if stop > start else parts
