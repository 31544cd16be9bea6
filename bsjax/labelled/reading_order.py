"""Reading order of stimuli and features of sources that do not fit in memory."""

from collections.abc import Sequence
from typing import NamedTuple

import xarray as xr

from bsjax.data.types.array_blocks import cut

_TILE = 512  # stimuli, at least
_TILES = 8  # along a side, at most: more would skip more of the lower triangle, and make smaller products


class Group(NamedTuple):
    """Stimuli that are read together: those of one source from ``rows.start`` to ``rows.stop``.

    ``all`` are their places among the stimuli of all sources, ``tiles`` the parts of those that are multiplied.
    """

    source: int
    rows: slice
    all: slice
    tiles: dict[int, slice]


def reading_order(
    sources: Sequence[xr.DataArray], features_in_memory: int, whole: bool
) -> tuple[list[Group], list[slice], bool]:
    """Stimuli and features to read together, two groups of stimuli at a time, and whether all of them fit at once.

    Features are read of all stimuli at once, whole stored blocks where they fit. Where they do not because a block
    holds too many features, stimuli are read in groups instead, and each group again beside every one before it.

    Args:
        sources: (presentation, neuroid) of the same neuroids.
        features_in_memory: bytes that may be held.
        whole: read all stimuli at once in any case.
    """
    n, width = sum(map(len, sources)), sources[0].shape[1]
    room = max(features_in_memory // 2 // max(source.dtype.itemsize for source in sources), 1)
    by_row, by_column = zip(*(source.chunks or ((len(source),), (width,)) for source in sources), strict=True)
    widest = max(map(max, by_column))
    in_blocks_of_stimuli = any(len(lengths) > 1 for lengths in by_row)
    keep = whole or not in_blocks_of_stimuli or n * widest <= room
    panels = cut(by_column[0], max(room // n, 1) if keep else widest)
    groups: list[Group] = []
    tile = max(_TILE, -(-n // _TILES))
    start = number = 0
    for source, lengths in enumerate(by_row):
        for rows in cut(lengths, n if keep else max(room // widest, 1)):
            stop = start + rows.stop - rows.start
            tiles = {}
            for begin in range(start, stop, tile):
                tiles[number] = slice(begin, min(begin + tile, stop))
                number += 1
            groups.append(Group(source, rows, slice(start, stop), tiles))
            start = stop
    return groups, panels, keep
