"""Steps of a preparation that choose, average or rename the time bins of an assembly."""

from __future__ import annotations

import numpy as np

from bsjax.data import NeuroidAssembly
from bsjax.labelled.align import coordinate, listed, quantity
from bsjax.models.time_alignment import align_time

_TOLERANCE = 1e-6  # of time bins whose borders were computed, in their own unit


def first_time_bin(assembly: NeuroidAssembly) -> NeuroidAssembly:
    """The first time bin alone; an assembly without the dimension ``time_bin`` stays as it is."""
    return assembly.isel(time_bin=0) if "time_bin" in assembly.dims else assembly


def select_time_bin(assembly: NeuroidAssembly, start: float, end: float) -> NeuroidAssembly:
    """The time bin from ``start`` to ``end``, in the unit of the data.

    Raises:
        ValueError: there is no such bin; the message has those there are.
    """
    starts, ends = _borders(assembly)
    found = np.flatnonzero((np.abs(starts - start) < _TOLERANCE) & (np.abs(ends - end) < _TOLERANCE))
    if not len(found):
        raise ValueError(f"no time bin {start:g} to {end:g}; there are {_shown(starts, ends)}")
    return assembly.isel(time_bin=found[0])


def select_time(assembly: NeuroidAssembly, first: float, last: float, expected: int) -> NeuroidAssembly:
    """The time bins that start from ``first`` to ``last``, both included, in the unit of the data.

    Raises:
        ValueError: they are not as many as expected, as where the data are in another unit.
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
    """The mean over ``start`` to ``end``, one time bin in place of many, each weighted by what it has of it.

    Raises:
        ValueError: the data do not cover it.
    """
    return align_time(_floating(assembly), [(start, end)]).isel(time_bin=0)


def average_time_in_steps(assembly: NeuroidAssembly, width: float) -> NeuroidAssembly:
    """Time bins of one width from 0 ms on, the last of them before the last ``width`` ms of the data, as Brain-Score.

    Raises:
        ValueError: the data do not cover them, or are too short for one.
    """
    _, ends = _borders(assembly)
    starts = np.arange(0, ends.max() - width, width)
    if not len(starts):
        raise ValueError(f"the data end at {ends.max():g} ms: too early for time bins of {width:g} ms")
    return align_time(_floating(assembly), [(float(start), float(start + width)) for start in starts])


def at_time(assembly: NeuroidAssembly, start: float, end: float) -> NeuroidAssembly:
    """Say that all responses are of one time bin, for recordings without a course of time."""
    return first_time_bin(assembly).assign_coords(time_bin_start=start, time_bin_end=end)


def flatten_timebins_into_neuroids(assembly: NeuroidAssembly) -> NeuroidAssembly:
    """Make each neuroid in each time bin a neuroid, of one time bin from the first start to the last end.

    Args:
        assembly: dims presentation, neuroid and time_bin, with ``time_bin_start`` and ``time_bin_end``.

    Returns:
        Dims (presentation, neuroid, time_bin), the last of length one. Neuroids are in the order of neuroids, then of
        time; their ``neuroid_id`` is ``"id@start"``, the one they had is the coordinate ``recording_site``.

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
    # One time bin, with each neuroid as often as there were bins, and then the values where they belong.
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
    """Time bins that are in seconds, in ms, as models have them."""
    ms = {f"time_bin_{side}": np.round(assembly[f"time_bin_{side}"] * 1000.0, 3) for side in ("start", "end")}
    return assembly.assign_coords(ms)


def _floating(assembly: NeuroidAssembly) -> NeuroidAssembly:
    """Counts of spikes as floating numbers, of which there can be a mean."""
    return assembly if assembly.dtype.kind == "f" else assembly.astype(float)


def _borders(assembly: NeuroidAssembly) -> tuple[np.ndarray, np.ndarray]:
    starts, ends = (quantity(assembly, f"time_bin_{side}", "time_bin", "the assembly") for side in ("start", "end"))
    return starts, ends


def _shown(starts: np.ndarray, ends: np.ndarray) -> str:
    return listed([f"{start:g} to {end:g}" for start, end in zip(starts, ends, strict=True)], "time bins")
