r"""Compression of features that do not fit in memory: one pass in blocks, which keeps stimuli x stimuli matrices.

Metrics that depend on features only through the inner products between stimuli (PLS, ridge, CKA), or through their
correlations (RDMs), get a replacement with as many columns as stimuli: a factor :math:`F` of the Gram matrix,
:math:`F F^T = K`, which is summed block by block in float64. For 10,000 stimuli x 1,000,000 features, each such matrix
takes 800 MB, plus a block.

A Gram matrix squares the range of the data, which float64 resolves if all stimuli have no large component in common.
That component is therefore subtracted before any product. For inner products, the first stimulus is subtracted from
every feature, which leaves exactly 0 for a feature that does not vary. For correlations, the mean of each stimulus's
first features is subtracted from all of its features. The rest of the means is removed at the end.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Float, Shaped

from bsjax.data.types.array_blocks import cut
from bsjax.engine.gram import Gram, centred, factor
from bsjax.engine.memory_limit import features_in_memory
from bsjax.engine.precision import precision
from bsjax.engine.programs.compilation import compiled
from bsjax.engine.programs.dry_runs import DryRun, hollow, running_dry
from bsjax.engine.programs.operations import Step
from bsjax.engine.sharding import local_devices
from bsjax.engine.streaming import GRAM_MATRICES, DependsOn
from bsjax.engine.transfers import to_host
from bsjax.labelled.align import aligned, finite_values
from bsjax.metrics.linalg.stimulus_factor import block_of_features, patterns, with_block, with_zero_means
from bsjax.metrics.numerics import is_constant

_TILE = 512  # smallest number of stimuli in a tile
_TILES = 8  # largest number of tiles per side: more skip more of the lower triangle, but make products smaller
_BLOCK, _NARROWEST, _WIDEST = 64 << 20, 256, 8192  # size of a block: bytes in float64, and limits in features


_Tiles = dict[int, jax.Array]


class _Group(NamedTuple):
    """Stimuli ``rows`` of a ``source`` that are read together, their places in ``all`` sources, and their ``tiles``."""

    source: int
    rows: slice
    all: slice
    tiles: dict[int, slice]


def of_grams_on_all_devices(
    similarity: Callable[[Gram, Gram], float], source: xr.DataArray, target: xr.DataArray, source_fits: bool
) -> float:
    """A similarity of sources of any size, from Gram matrices that are divided over the devices in use.

    Args:
        similarity: a function of two centred Gram matrices.
        source, target: (presentation, neuroid) with ``stimulus_id``.
        source_fits: whether the source fits in memory, so that its rows can be reordered; otherwise the target's are.
    """
    sides = (aligned(source, target), target) if source_fits else (source, aligned(target, source))
    with jax.enable_x64(True):
        grams = [
            gram_of(side, names=[name], whole=True)[0] for side, name in zip(sides, ("source", "target"), strict=True)
        ]
        for gram in grams:
            gram.centre()
        return similarity(*grams)


def compress(*sources: xr.DataArray, depends_on: DependsOn, names: Sequence[str] = ("source",)) -> list[xr.DataArray]:
    """Replacements of sources that score the same, with about as many columns as there are stimuli.

    Values may be a dask array, memory-mapped or in memory. Data stored in blocks of stimuli are read more than once if
    ``memory_limit`` is too small for all stimuli of one block of features. Data on a device stay there.

    Args:
        sources: (presentation, neuroid) with the same neuroids, e.g. training and test stimuli.
        depends_on: what the metric depends on.
        names: names of the sources in messages.

    Returns:
        Arrays of the same presentations in float64 (on a device, in its default dtype), with n columns for inner
        products and n + 1 for correlations, for n stimuli in total. Their inner products are those of the centred
        features; their correlations are those of the features.

    Raises:
        ValueError: values that are not finite numbers, with the places of the first ones.

    Example:
        >>> x = np.random.default_rng(0).normal(size=(5, 1000)) + 7
        >>> source = xr.DataArray(x, dims=["presentation", "neuroid"])
        >>> z = compress(source, depends_on="inner products")[0].values
        >>> z.shape, np.allclose(z @ z.T, (x - x.mean(axis=0)) @ (x - x.mean(axis=0)).T)
        ((5, 5), True)
    """
    on_device = all(isinstance(source.data, jax.Array) for source in sources)
    if (noted := running_dry()) is not None:
        values = _noted_factor(sources, depends_on, noted)
    else:
        values = (_factor_on_device if on_device else _factor_in_blocks)(sources, depends_on, names)
    ends = np.cumsum([len(source) for source in sources])
    return [
        xr.DataArray(
            part,
            dims=["presentation", "neuroid"],
            coords={name: c for name, c in source.coords.items() if c.dims == ("presentation",)},
        )
        for source, part in zip(sources, _in_parts(values, ends), strict=True)
    ]


def _factor_in_blocks(sources: Sequence[xr.DataArray], depends_on: DependsOn, names: Sequence[str]) -> np.ndarray:
    gram, total, taken_off = gram_of(*sources, correlations=depends_on == "correlations", names=names)
    whole = gram.dense()
    del gram
    if depends_on == "correlations":
        width = sources[0].shape[1]
        return _with_centred_rows(factor(_correlations(whole, total, taken_off, width)))
    return factor(centred(whole))


def _noted_factor(sources: Sequence[xr.DataArray], depends_on: DependsOn, noted: DryRun) -> np.ndarray:
    """Notes in a dry run what ``_factor_in_blocks`` does, and returns a hollow factor."""
    n, read = sum(map(len, sources)), float(sum(source.nbytes for source in sources))
    products = Step("product", "float64", float(n * n * sources[0].shape[1]), read)  # half of them, by symmetry
    noted.steps += [products, Step("cholesky", "float64", n**3 / 3, 8.0 * n * n)]
    noted.copies += GRAM_MATRICES * 8 * n * n
    return hollow((n, n + (depends_on == "correlations")), np.float64)


def _factor_on_device(sources: Sequence[xr.DataArray], depends_on: DependsOn, names: Sequence[str]) -> jax.Array:
    values = [finite_values(source, name) for source, name in zip(sources, names, strict=True)]
    x = values[0] if len(values) == 1 else jnp.concatenate(values)
    with precision() as dtype:
        block = compiled(block_of_features, dtype=dtype)
        of = compiled(patterns, dtype=dtype)(x) if depends_on == "correlations" else None
        rows = block(x, np.int32(0), of)
        for start in range(len(x), x.shape[1], len(x)):
            rows = compiled(with_block)(rows, block(x, np.int32(start), of))
        return rows if of is None else compiled(with_zero_means)(rows)


def _in_parts(values: np.ndarray | jax.Array, ends: np.ndarray) -> Sequence[Any]:
    if isinstance(values, np.ndarray):
        return np.split(values, ends[:-1])
    starts = [0, *ends[:-1].tolist()]
    return [jax.lax.slice_in_dim(values, *rows) for rows in zip(starts, ends.tolist(), strict=True)]


def gram_of(
    *sources: xr.DataArray, correlations: bool = False, names: Sequence[str] = ("source",), whole: bool = False
) -> tuple[Gram, np.ndarray, np.ndarray]:
    """Inner products of all stimuli of the sources, after the first stimulus is subtracted from the features.

    Args:
        sources: (presentation, neuroid) with the same neuroids.
        correlations: subtract one number per stimulus instead.
        names: names of the sources in messages.
        whole: read all stimuli at once, so that all sources have the same tiles.

    Returns:
        The products; and, for correlations, the sum of the multiplied values of each stimulus, and the number that was
        subtracted from it.

    Raises:
        ValueError: values that are not finite numbers, with the places of the first ones.
    """
    groups, panels, keep = _reading_order(sources, features_in_memory(), whole)
    n = sum(map(len, sources))
    block = min(max(_BLOCK // (8 * n), _NARROWEST), _WIDEST)
    # TPUs have no float64.
    devices = jax.devices("cpu")[:1] if jax.default_backend() == "tpu" else local_devices()
    with jax.enable_x64(True), jax.default_matmul_precision("highest"), jax.default_device(devices[0]):
        gram = Gram([rows for group in groups for rows in group.tiles.values()], devices)
        total, taken_off = np.zeros((n, 1)), np.zeros((n, 1))

        def read(number: int, columns: slice, held: dict[int, np.ndarray | jax.Array]) -> np.ndarray | jax.Array:
            if number in held:
                return held[number]
            group = groups[number]
            part = sources[group.source][group.rows, columns]
            values = finite_values(part, f"{names[group.source]} (neuroids {columns.start} to {columns.stop - 1})")
            if keep:
                held[number] = values
            return values

        def blocks(number: int, values: np.ndarray | jax.Array, columns: slice, first: np.ndarray) -> Iterator[_Tiles]:
            group = groups[number]
            if correlations and columns.start == 0:
                taken_off[group.all] = to_host(values).mean(axis=1, keepdims=True, dtype=float)
            return _blocks(values, taken_off[group.all] if correlations else first, group, block, devices[0])

        for columns in panels:
            held: dict[int, np.ndarray | jax.Array] = {}
            first = np.empty(0)
            for i in range(len(groups)):
                ours = read(i, columns, held)
                first = first if i else np.asarray(ours[:1], float)
                for a in blocks(i, ours, columns, first):
                    gram.add(a)
                    for tile, values in a.items() if correlations else ():
                        total[gram.rows[tile]] += to_host(jnp.sum(values, axis=1, keepdims=True))
                for j in range(i + 1, len(groups)):
                    theirs = blocks(j, read(j, columns, held), columns, first)
                    for a, b in zip(blocks(i, ours, columns, first), theirs, strict=True):
                        gram.add(a, b)
    return gram, total, taken_off


def _blocks(
    values: np.ndarray | jax.Array, shift: np.ndarray, group: _Group, width: int, device: Any
) -> Iterator[_Tiles]:
    """Features in float64 less ``shift``, in blocks of ``width`` features, cut into tiles."""
    for start in range(0, values.shape[1], width):
        columns = slice(start, start + width)
        values_here = jax.device_put(values[:, columns], device)
        block = _widened(values_here, shift if shift.shape[1] == 1 else shift[:, columns], width=width)
        yield {
            tile: block[rows.start - group.all.start : rows.stop - group.all.start]
            for tile, rows in group.tiles.items()
        }


@partial(jax.jit, static_argnames="width")
def _widened(values: Shaped[Array, "n b"], shift: Float[Array, "..."], *, width: int) -> Float[Array, "n w"]:
    """Features in float64 less ``shift``, padded so that the last block shares the program of the others."""
    left = values.astype(float) - shift
    # Values equal up to rounding become exactly 0, as for a feature that is wholly in memory.
    equal = is_constant(left**2, jnp.broadcast_to(shift, left.shape), jnp.ones_like(left))
    return jnp.pad(jnp.where(equal, 0.0, left), ((0, 0), (0, width - values.shape[1])))


def _correlations(gram: np.ndarray, total: np.ndarray, taken_off: np.ndarray, width: int) -> np.ndarray:
    """Correlations from inner products; 0 for a stimulus with the same response in all units."""
    for row, factor_of_row in zip(gram, total / width, strict=True):
        row -= factor_of_row * total[:, 0]
    squares, mean = np.diagonal(gram)[:, None].copy(), taken_off + total / width
    with jax.enable_x64(True):
        count = jnp.full(squares.shape, width, float)
        constant = np.asarray(is_constant(jnp.asarray(squares), jnp.asarray(mean), count))
    scale = np.where(constant, 0.0, 1.0 / np.sqrt(np.where(constant, 1.0, squares)))
    gram *= scale
    gram *= scale.T
    return gram


def _with_centred_rows(values: np.ndarray) -> np.ndarray:
    """Rows reflected to ``(n, n + 1)`` with mean zero and the same inner products."""
    # The reflection swaps the new last axis with the direction of equal coordinates, so it maps vectors that are
    # orthogonal to the one onto vectors that are orthogonal to the other.
    n, width = values.shape
    equal = 1.0 / np.sqrt(width + 1)
    sums = values.sum(axis=1) * equal / (1.0 - equal)
    made = np.empty((n, width + 1))
    np.subtract(values, (sums * equal)[:, None], out=made[:, :-1])
    made[:, -1] = sums * (1.0 - equal)
    return made


def _reading_order(
    sources: Sequence[xr.DataArray], features_in_memory: int, whole: bool
) -> tuple[list[_Group], list[slice], bool]:
    """Groups of stimuli and panels of features to read together, and whether all groups fit in memory at once."""
    # Where possible, all stimuli are read at once, in panels of whole stored blocks of features. If a block holds too
    # many features for that, stimuli are read in groups, and each group again together with every group before it.
    n, width = sum(map(len, sources)), sources[0].shape[1]
    room = max(features_in_memory // 2 // max(source.dtype.itemsize for source in sources), 1)
    by_row, by_column = zip(*(source.chunks or ((len(source),), (width,)) for source in sources), strict=True)
    widest = max(map(max, by_column))
    in_blocks_of_stimuli = any(len(lengths) > 1 for lengths in by_row)
    keep = whole or not in_blocks_of_stimuli or n * widest <= room
    panels = cut(by_column[0], max(room // n, 1) if keep else widest)
    groups: list[_Group] = []
    tile = max(_TILE, -(-n // _TILES))
    start = number = 0
    for source, lengths in enumerate(by_row):
        for rows in cut(lengths, n if keep else max(room // widest, 1)):
            stop = start + rows.stop - rows.start
            tiles = {}
            for begin in range(start, stop, tile):
                tiles[number] = slice(begin, min(begin + tile, stop))
                number += 1
            groups.append(_Group(source, rows, slice(start, stop), tiles))
            start = stop
    return groups, panels, keep
