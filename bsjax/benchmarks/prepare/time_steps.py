"""Preparation steps that select, average or rename the time bins of an assembly."""

import numpy as np

from bsjax.data import NeuroidAssembly
from bsjax.labelled.align import coordinate, listed, quantity
from bsjax.models.time_alignment import align_time

_TOLERANCE = 1e-6  # for the borders of time bins, which may be rounded; in their own unit


def first_time_bin(assembly: NeuroidAssembly) -> NeuroidAssembly:
    """Select the first time bin; an assembly without the dimension ``time_bin`` is unchanged."""
    return assembly.isel(time_bin=0) if "time_bin" in assembly.dims else assembly


def select_time_bin(assembly: NeuroidAssembly, start: float, end: float) -> NeuroidAssembly:
    """Select the time bin from ``start`` to ``end``, in the unit of the data.

    Raises:
        ValueError: the bin does not exist; the message lists the existing ones.
    """
    starts, ends = _borders(assembly)
    found = np.flatnonzero((np.abs(starts - start) < _TOLERANCE) & (np.abs(ends - end) < _TOLERANCE))
    if not len(found):
        raise ValueError(f"no time bin {start:g} to {end:g}; there are {_shown(starts, ends)}")
    return assembly.isel(time_bin=found[0])


def select_time(assembly: NeuroidAssembly, first: float, last: float, expected: int) -> NeuroidAssembly:
    """Select the time bins that start between ``first`` and ``last``, both included, in the unit of the data.

    Raises:
        ValueError: their number differs from ``expected``, for example because the data are in another unit.
    """
    starts, ends = _borders(assembly)
    found = np.flatnonzero((starts > first - _TOLERANCE) & (starts < last + _TOLERANCE))
    if len(found) != expected:
        raise ValueError(
            f"{len(found)} time bins start from {first:g} to {last:g}, expected are {expected}; "
            f"there are {_shown(starts, ends)}"
        )
    return assembly.isel(time_bin=found)


def average_time(assembly: NeuroidAssembly, start: float, end: float) -> NeuroidAssembly:
    """Average over ``start`` to ``end`` into one time bin, each bin weighted by its overlap with that interval.

    Raises:
        ValueError: the data do not cover the interval.
    """
    return align_time(_floating(assembly), [(start, end)]).isel(time_bin=0)


def average_time_in_steps(assembly: NeuroidAssembly, width: float) -> NeuroidAssembly:
    """Average into bins of one width that start from 0 ms to before the data's last ``width`` ms, as in Brain-Score.

    Raises:
        ValueError: the data do not cover the bins, or are too short for one.
    """
    _, ends = _borders(assembly)
    starts = np.arange(0, ends.max() - width, width)
    if not len(starts):
        raise ValueError(f"the data end at {ends.max():g} ms: too early for time bins of {width:g} ms")
    return align_time(_floating(assembly), [(float(start), float(start + width)) for start in starts])


def at_time(assembly: NeuroidAssembly, start: float, end: float) -> NeuroidAssembly:
    """Assign one time bin to all responses, for recordings without a time course."""
    return first_time_bin(assembly).assign_coords(time_bin_start=start, time_bin_end=end)


def flatten_timebins_into_neuroids(assembly: NeuroidAssembly) -> NeuroidAssembly:
    """Turn each neuroid in each time bin into a neuroid of its own, with one time bin from first start to last end.

    Args:
        assembly: dims presentation, neuroid and time_bin, with ``time_bin_start`` and ``time_bin_end``.

    Returns:
        Dims (presentation, neuroid, time_bin), the last of length one. Neuroids are ordered by original neuroid, then
        by time. Their ``neuroid_id`` is ``"id@start"``; the original id is the coordinate ``recording_site``.

    Raises:
        ValueError: a coordinate or dimension is missing.

    Example:
        >>> eeg = NeuroidAssembly([[[1.0, 2.0], [3.0, 4.0]]], dims=["presentation", "neuroid", "time_bin"], coords={
        ...     "neuroid_id": ("neuroid", ["Oz", "O1"]), "time_bin_start": ("time_bin", [0, 10]),
        ...     "time_bin_end": ("time_bin", [10, 20])})
        >>> flat = flatten_timebins_into_neuroids(eeg)
        >>> flat["neuroid_id"].values.tolist(), flat["time_bin_end"].values.tolist()
        (['Oz@0', 'Oz@10', 'O1@0', 'O1@10'], [20])
    """
    starts, ends = _borders(assembly)
    sites = coordinate(assembly, "neuroid_id", "neuroid", "the assembly")
    assembly = assembly.transpose("presentation", "neuroid", "time_bin")
    bins = len(starts)
    # Take one time bin, repeat each neuroid once per bin, then fill in the values.
    flat = assembly.isel(time_bin=[0], neuroid=np.repeat(np.arange(len(sites)), bins))
    flat = flat.copy(data=np.asarray(assembly.values).reshape(len(assembly), -1, 1))
    ids = [f"{site}@{start:g}" for site in sites for start in starts]
    first, last = assembly["time_bin_start"].values[np.argmin(starts)], assembly["time_bin_end"].values[np.argmax(ends)]
    return flat.assign_coords(
        neuroid_id=("neuroid", ids),
        recording_site=("neuroid", np.repeat(sites, bins)),
        time_bin_start=("time_bin", [first]),
        time_bin_end=("time_bin", [last]),
    )


def seconds_to_ms(assembly: NeuroidAssembly) -> NeuroidAssembly:
    """Convert time bins from seconds to ms, the unit of models."""
    ms = {f"time_bin_{side}": np.round(assembly[f"time_bin_{side}"] * 1000.0, 3) for side in ("start", "end")}
    return assembly.assign_coords(ms)


def _floating(assembly: NeuroidAssembly) -> NeuroidAssembly:
    """Spike counts as floating-point numbers, so that they can be averaged."""
    return assembly if assembly.dtype.kind == "f" else assembly.astype(float)


def _borders(assembly: NeuroidAssembly) -> tuple[np.ndarray, np.ndarray]:
    starts, ends = (quantity(assembly, f"time_bin_{side}", "time_bin", "the assembly") for side in ("start", "end"))
    return starts, ends


def _shown(starts: np.ndarray, ends: np.ndarray) -> str:
    return listed([f"{start:g} to {end:g}" for start, end in zip(starts, ends, strict=True)], "time bins")
