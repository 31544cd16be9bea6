"""Steps from a data set as it was published to what is compared, each by name, on assemblies.

The row of a benchmark names its steps with their arguments; ``prepare`` takes one after the other. Steps that
drop presentations drop their stimuli from ``stimulus_set`` as well, so that a model sees what is compared.
"""

from __future__ import annotations

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
    """Put an assembly through steps, each the name of one of ``STEPS`` and its further arguments.

    Raises:
        ValueError: there is no such step; and as the steps.

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
    """The neuroids of one region.

    Raises:
        ValueError: there are none; the message has the regions there are.
    """
    regions = coordinate(assembly, "region", "neuroid", "the assembly").astype(str)
    if region not in regions:
        raise ValueError(f"no neuroids in {region}: the data are of {', '.join(np.unique(regions))}")
    return assembly.isel(neuroid=np.flatnonzero(regions == region))


def assign_region(assembly: NeuroidAssembly, region: str) -> NeuroidAssembly:
    """Call the region of all neuroids so, for recordings that a benchmark compares with a region of a model."""
    return assembly.assign_coords(region=("neuroid", [region] * assembly.sizes["neuroid"]))


def assign_subject(assembly: NeuroidAssembly, subject: str) -> NeuroidAssembly:
    """Name the subject of all neuroids, for data sets with one subject each."""
    return assembly.assign_coords(subject=("neuroid", [subject] * assembly.sizes["neuroid"]))


def filter_reliable_neuroids(assembly: NeuroidAssembly, threshold: float, coord: str) -> NeuroidAssembly:
    """The neuroids whose coordinate is greater than a threshold; those at it, and NaN, are dropped.

    Args:
        assembly: any assembly with a dimension ``neuroid``.
        threshold: in the unit of the coordinate.
        coord: a coordinate on neuroid that says how reliable each is, e.g. ``"reliability"``.

    Raises:
        ValueError: no such coordinate (the message lists those there are), or no neuroid is above the threshold.

    Example:
        >>> assembly = NeuroidAssembly([[1.0, 2.0, 3.0]], dims=["presentation", "neuroid"], coords={
        ...     "reliability": ("neuroid", [0.2, 0.3, 0.4])})
        >>> filter_reliable_neuroids(assembly, 0.3, "reliability").values.tolist()
        [[3.0]]
    """
    reliability = quantity(assembly, coord, "neuroid", "the assembly")
    return _those_above(assembly, reliability, threshold, coord)


def filter_consistent_neuroids(assembly: NeuroidAssembly, threshold: float) -> NeuroidAssembly:
    """The neuroids whose split-half reliability, on average over the splits, is greater than a threshold.

    The reliability is ``load_ceiling("internal_consistency")`` of the assembly's single trials.

    Raises:
        ValueError: as that ceiling, or no neuroid is above the threshold.
    """
    reliability = load_ceiling("internal_consistency")(assembly).raw.mean("split").values
    return _those_above(assembly, reliability, threshold, "internal consistency")


def keep_presentations(assembly: NeuroidAssembly, coord: str, *values: Any) -> NeuroidAssembly:
    """The presentations whose coordinate has one of the values.

    Raises:
        ValueError: no such coordinate, or none is left.
    """
    there = np.isin(coordinate(assembly, coord, "presentation", "the assembly"), list(values))
    return _with_rows(assembly, there, f"with {coord} among {', '.join(map(str, values))}")


def keep_split(assembly: NeuroidAssembly, split: str, part: str, pool: str) -> NeuroidAssembly:
    """The presentations of one part of a published split: ``"train"``, ``"test"``, or ``"both"``; see ``in_split``."""
    return _with_rows(assembly, in_split(assembly, split, part, pool), f"in the {part} part of the split {split}")


def drop_missing(assembly: NeuroidAssembly, how: str) -> NeuroidAssembly:
    """Drop the presentations in which ``"any"`` neuroid has no value, or ``"all"`` have none.

    Raises:
        ValueError: none is left.
    """
    others = [dim for dim in assembly.dims if dim != "presentation"]
    missing = assembly.isnull()
    dropped = missing.any(others) if how == "any" else missing.all(others)
    return _with_rows(assembly, ~dropped.values, "without a missing value")


def average_over(assembly: NeuroidAssembly, repetition: str, *more: str) -> NeuroidAssembly:
    """The mean over repetitions that have another name; ``more`` coordinates that tell trials apart are dropped."""
    assembly = assembly.drop_vars([name for name in more if name in assembly.coords])
    return average_repetition(assembly.rename({repetition: "repetition"}))


def drop_coordinates(assembly: NeuroidAssembly, *names: str) -> NeuroidAssembly:
    """Drop coordinates that would keep repetitions apart; one that is not there is no matter."""
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
    """The presentations that are ``there``, with their stimuli."""
    if not there.any():
        raise ValueError(f"none of {len(there)} presentations is {what}")
    kept = assembly.isel(presentation=np.flatnonzero(there))
    stimuli = assembly.attrs.get("stimulus_set")
    if stimuli is not None:
        shown = stimuli["stimulus_id"].isin(np.unique(kept["stimulus_id"].values))
        kept.attrs["stimulus_set"] = stimuli[shown].reset_index(drop=True)
    return kept
