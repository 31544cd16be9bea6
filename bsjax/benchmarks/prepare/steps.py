"""Named preparation steps that turn published assemblies into the data that are compared.

The row of a benchmark lists its steps with their arguments, and ``prepare`` applies them in order. Steps that drop
presentations also drop their stimuli from ``stimulus_set``, so that a model sees exactly the stimuli that are compared.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from bsjax.benchmarks.prepare.published_splits import in_split
from bsjax.benchmarks.prepare.time_steps import (
    at_time,
    average_time,
    average_time_in_steps,
    first_time_bin,
    flatten_timebins_into_neuroids,
    seconds_to_ms,
    select_time,
    select_time_bin,
)
from bsjax.data import NeuroidAssembly, average_repetition
from bsjax.labelled import load_ceiling
from bsjax.labelled.align import coordinate, quantity


def prepare(assembly: NeuroidAssembly, steps: Iterable[Sequence[Any]]) -> NeuroidAssembly:
    """Apply preparation steps to an assembly; each step is a name in ``STEPS`` followed by its further arguments.

    Raises:
        ValueError: a step is unknown, or a step itself raises it.

    Example:
        >>> assembly = NeuroidAssembly([[1.0, 2.0]], dims=["presentation", "neuroid"], coords={
        ...     "region": ("neuroid", ["V1", "V2"])})
        >>> prepare(assembly, [("select_region", "V2"), ("at_time", 50, 150)])["time_bin_end"].item()
        150
    """
    for name, *arguments in steps:
        if name not in STEPS:
            raise ValueError(f"unknown step {name!r} of a preparation; there are: {', '.join(STEPS)}")
        assembly = STEPS[name](assembly, *arguments)
    return assembly


def select_region(assembly: NeuroidAssembly, region: str) -> NeuroidAssembly:
    """Select the neuroids of one region.

    Raises:
        ValueError: the region has no neuroids; the message lists the regions of the data.
    """
    regions = coordinate(assembly, "region", "neuroid", "the assembly").astype(str)
    if region not in regions:
        raise ValueError(f"no neuroids in {region}: the data are of {', '.join(np.unique(regions))}")
    return assembly.isel(neuroid=np.flatnonzero(regions == region))


def assign_region(assembly: NeuroidAssembly, region: str) -> NeuroidAssembly:
    """Set the region of all neuroids, for recordings that are compared with a region of a model."""
    return assembly.assign_coords(region=("neuroid", [region] * assembly.sizes["neuroid"]))


def assign_subject(assembly: NeuroidAssembly, subject: str) -> NeuroidAssembly:
    """Set the subject of all neuroids, for data sets of one subject each."""
    return assembly.assign_coords(subject=("neuroid", [subject] * assembly.sizes["neuroid"]))


def filter_reliable_neuroids(assembly: NeuroidAssembly, threshold: float, coord: str) -> NeuroidAssembly:
    """Select the neuroids whose reliability exceeds a threshold; equal values and NaN are dropped.

    Args:
        assembly: any assembly with a dimension ``neuroid``.
        threshold: threshold in the unit of the coordinate.
        coord: coordinate on neuroid with the reliability of each, e.g. ``"reliability"``.

    Raises:
        ValueError: the coordinate is missing (the message lists the existing ones), or no neuroid is above the
            threshold.

    Example:
        >>> assembly = NeuroidAssembly([[1.0, 2.0, 3.0]], dims=["presentation", "neuroid"], coords={
        ...     "reliability": ("neuroid", [0.2, 0.3, 0.4])})
        >>> filter_reliable_neuroids(assembly, 0.3, "reliability").values.tolist()
        [[3.0]]
    """
    reliability = quantity(assembly, coord, "neuroid", "the assembly")
    return _those_above(assembly, reliability, threshold, coord)


def filter_consistent_neuroids(assembly: NeuroidAssembly, threshold: float) -> NeuroidAssembly:
    """Select the neuroids whose split-half reliability, averaged over splits, exceeds a threshold.

    The reliability is ``load_ceiling("internal_consistency")`` of the assembly's single trials.

    Raises:
        ValueError: the ceiling raises it, or no neuroid is above the threshold.
    """
    reliability = load_ceiling("internal_consistency")(assembly).raw.mean("split").values
    return _those_above(assembly, reliability, threshold, "internal consistency")


def keep_presentations(assembly: NeuroidAssembly, coord: str, *values: Any) -> NeuroidAssembly:
    """Select the presentations whose coordinate has one of the values.

    Raises:
        ValueError: the coordinate is missing, or no presentation is left.
    """
    there = np.isin(coordinate(assembly, coord, "presentation", "the assembly"), list(values))
    return _with_rows(assembly, there, f"with {coord} among {', '.join(map(str, values))}")


def keep_split(assembly: NeuroidAssembly, split: str, part: str, pool: str) -> NeuroidAssembly:
    """Select one part of a published split, ``"train"``, ``"test"``, or ``"both"``; see ``in_split``."""
    return _with_rows(assembly, in_split(assembly, split, part, pool), f"in the {part} part of the split {split}")


def drop_missing(assembly: NeuroidAssembly, how: str) -> NeuroidAssembly:
    """Drop presentations with missing values in ``"any"`` or in ``"all"`` neuroids.

    Raises:
        ValueError: no presentation is left.
    """
    others = [dim for dim in assembly.dims if dim != "presentation"]
    missing = assembly.isnull()
    dropped = missing.any(others) if how == "any" else missing.all(others)
    return _with_rows(assembly, ~dropped.values, "without a missing value")


def average_over(assembly: NeuroidAssembly, repetition: str, *more: str) -> NeuroidAssembly:
    """Average over repetitions under another name, after dropping the coordinates ``more``, which separate trials."""
    assembly = assembly.drop_vars([name for name in more if name in assembly.coords])
    return average_repetition(assembly.rename({repetition: "repetition"}))


def drop_coordinates(assembly: NeuroidAssembly, *names: str) -> NeuroidAssembly:
    """Drop coordinates that would keep repetitions apart; missing ones are ignored."""
    return assembly.drop_vars([name for name in names if name in assembly.coords])


_STEPS: tuple[Callable[..., NeuroidAssembly], ...] = (
    select_region,
    assign_region,
    assign_subject,
    filter_reliable_neuroids,
    filter_consistent_neuroids,
    first_time_bin,
    select_time_bin,
    select_time,
    average_time,
    average_time_in_steps,
    at_time,
    flatten_timebins_into_neuroids,
    seconds_to_ms,
    keep_presentations,
    keep_split,
    drop_missing,
    average_over,
    drop_coordinates,
)
STEPS = {step.__name__: step for step in _STEPS}


def _those_above(assembly: NeuroidAssembly, reliability: np.ndarray, threshold: float, name: str) -> NeuroidAssembly:
    above = reliability > threshold
    if not above.any():
        highest = f"the highest is {np.nanmax(reliability):g}" if np.isfinite(reliability).any() else "all are missing"
        raise ValueError(f"none of {len(above)} neuroids has a {name} above {threshold:g}: {highest}")
    return assembly.isel(neuroid=np.flatnonzero(above))


def _with_rows(assembly: NeuroidAssembly, there: np.ndarray, what: str) -> NeuroidAssembly:
    """Select presentations by a mask, together with their stimuli."""
    if not there.any():
        raise ValueError(f"none of {len(there)} presentations is {what}")
    kept = assembly.isel(presentation=np.flatnonzero(there))
    stimuli = assembly.attrs.get("stimulus_set")
    if stimuli is not None:
        shown = stimuli["stimulus_id"].isin(np.unique(kept["stimulus_id"].values))
        kept.attrs["stimulus_set"] = stimuli[shown].reset_index(drop=True)
    return kept
