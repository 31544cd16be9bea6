"""Alignment of a model's time bins with those that are requested."""

from collections.abc import Sequence
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from bsjax.data import NeuroidAssembly

Bins = Sequence[tuple[float, float]]


def align_time(
    assembly: NeuroidAssembly,
    bins: Bins,
    mode: Literal["portion", "center"] = "portion",
    outside: Literal["refuse", "nearest"] = "refuse",
) -> NeuroidAssembly:
    """Convert responses to other time bins.

    ``portion``: the mean of the assembly's bins, each weighted by the fraction of it that lies in the requested bin.
    ``center``: the bin that contains the middle of the requested one (the later one at a border).

    Args:
        assembly: with the dimension ``time_bin``, and ``time_bin_start`` and ``time_bin_end`` in ms.
        bins: (start, end) of each requested bin, in ms.
        mode: ``"portion"`` or ``"center"``, see above.
        outside: treatment of a bin that the assembly's bins do not fully cover: ``"refuse"`` raises an error;
            ``"nearest"`` uses the part that is covered, or the nearest bin if there is none.

    Returns:
        Dims ``(presentation, neuroid, time_bin)``, with the assembly's dtype. NaN if a contributing bin is NaN, as
        beyond the end of a shorter video.

    Raises:
        ValueError: a bin is not covered (the message lists the existing bins), or the mode is unknown.

    Example:
        >>> spikes = NeuroidAssembly([[[1.0, 4.0]]], dims=["presentation", "neuroid", "time_bin"], coords={
        ...     "time_bin_start": ("time_bin", [0, 100]), "time_bin_end": ("time_bin", [100, 200])})
        >>> align_time(spikes, [(50, 200)]).values.tolist()
        [[[3.0]]]
    """
    if mode not in ("portion", "center") or outside not in ("refuse", "nearest"):
        raise ValueError(
            f"mode must be 'portion' or 'center' and outside 'refuse' or 'nearest', got {mode!r} and {outside!r}"
        )
    assembly = assembly.transpose("presentation", "neuroid", "time_bin")
    starts, ends = (np.asarray(assembly[f"time_bin_{side}"].values, float) for side in ("start", "end"))
    weights = [_weights(starts, ends, bin_, mode, outside) for bin_ in bins]
    values = assembly.data if isinstance(assembly.data, jax.Array) else assembly.values
    if not jnp.issubdtype(values.dtype, jnp.floating):  # means of whole numbers need not be whole
        values = values.astype(float)
    aligned = _in_bins(values, weights)
    of_others = {name: coord.variable for name, coord in assembly.coords.items() if "time_bin" not in coord.dims}
    return type(assembly)(aligned, {**of_others, **_borders_of(bins)}, assembly.dims, assembly.name, assembly.attrs)


def _in_bins(values: np.ndarray | jax.Array, weights: Sequence[np.ndarray]) -> np.ndarray | jax.Array:
    """Weighted sums over the last axis, on the device of the values."""
    # Select the contributing bins, because NaN beyond the end of a video would survive a weight of zero.
    counted = [(np.flatnonzero(weight), weight[np.flatnonzero(weight)].astype(values.dtype)) for weight in weights]
    if isinstance(values, jax.Array):
        with jax.transfer_guard_host_to_device("allow"):  # bin indices and weights
            return _sums(values, counted)
    aligned = np.empty((*values.shape[:2], len(weights)), values.dtype)
    for number, (counts, portions) in enumerate(counted):
        aligned[..., number] = values[..., counts] @ portions
    return aligned


@jax.jit
def _sums(values: jax.Array, counted: Sequence[tuple[np.ndarray, np.ndarray]]) -> jax.Array:
    return jnp.stack([values[..., counts] @ portions for counts, portions in counted], axis=-1)


def with_time_bins(assembly: NeuroidAssembly, bins: Bins) -> NeuroidAssembly:
    """Repeat a static response in every bin, as a view that takes no memory.

    Example:
        >>> static = NeuroidAssembly([[1.0, 2.0]], dims=["presentation", "neuroid"])
        >>> with_time_bins(static, [(0, 50), (50, 100)]).values.strides[-1]
        0
    """
    return assembly.expand_dims(time_bin=len(bins), axis=-1).assign_coords(_borders_of(bins))


def _borders_of(bins: Bins) -> dict[str, tuple[str, list[float]]]:
    starts, ends = (list(side) for side in zip(*bins, strict=True))
    return {"time_bin_start": ("time_bin", starts), "time_bin_end": ("time_bin", ends)}


def _weights(starts: np.ndarray, ends: np.ndarray, bin_: tuple[float, float], mode: str, outside: str) -> np.ndarray:
    """The weight of each bin of the assembly; they sum to 1."""
    start, end = bin_
    tolerance = 1e-6 * (end - start)
    if mode == "center":
        middle = (start + end) / 2
        holds = (starts <= middle + tolerance) & (middle + tolerance < ends)
        covered = holds.any()
        share = (np.arange(len(starts)) == len(holds) - 1 - np.argmax(holds[::-1])) * float(covered)
    else:
        share = np.clip(np.minimum(ends, end) - np.maximum(starts, start), 0, None) / (ends - starts)
        share[share * (ends - starts) <= tolerance] = 0
        covered = _covered(starts, ends, start, end, tolerance)
    if not covered and outside == "refuse":
        there = ", ".join(f"{a:g} to {b:g}" for a, b in zip(starts, ends, strict=True))
        raise ValueError(f"the time bin {start:g} to {end:g} ms is not covered; there are the bins (ms): {there}")
    if not share.any():
        distance = np.maximum(np.maximum(starts - end, start - ends), 0)
        share[np.argmin(distance)] = 1
    return share / share.sum()


def _covered(starts: np.ndarray, ends: np.ndarray, start: float, end: float, tolerance: float) -> bool:
    """Whether the bins leave no gap between start and end."""
    reached = start
    for number in np.argsort(starts):
        if starts[number] <= reached + tolerance:
            reached = max(reached, ends[number])
    return bool(reached >= end - tolerance)
