"""The odd one out of three objects: the triplets of THINGS, Hebart et al. (2023).

People saw three of 1854 objects and chose the one least like the other two. The benchmark measures how often a model
makes the same choice, on the 453,642 choices of the test set.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np
import pandas as pd
import xarray as xr

from bsjax.benchmarks.kinds.behavioural import BehavioralBenchmark
from bsjax.benchmarks.kinds.published_behaviours import behavioural_benchmark
from bsjax.benchmarks.lazy_loading import LazyLoad, content_of
from bsjax.benchmarks.rows.row import BenchmarkRow
from bsjax.core.messages import some
from bsjax.data import BehavioralAssembly, StimulusSet, load_dataset
from bsjax.labelled.behaviour.accuracy import TRIPLET, same_choices, triplets
from bsjax.labelled.normalise import chance_corrected

if TYPE_CHECKING:
    from bsjax.models import BrainModel


class OddOneOutMatch(BehavioralBenchmark):
    """A behavioural benchmark on triplets; objects that occur in several triplets are placed on the screen once.

    Example:
        >>> from bsjax import load_benchmark
        >>> load_benchmark("Hebart2023-match").normalisation
        'chance_corrected'
    """

    def stimuli_for(self, candidate: BrainModel) -> StimulusSet:
        """The stimuli on the screen, three rows for each triplet."""
        return triplets_of(self.assembly, super().stimuli_for(candidate))


def hebart2023(row: BenchmarkRow, triplets: int | None = None) -> OddOneOutMatch:
    """How often a model picks the same odd one out as people, corrected for chance and normalised by the ceiling.

    The score is ``(r - 1/3) / (c - 1/3)``, with ``r`` the proportion of triplets with the same choice and ``c`` the
    ceiling. A model below chance scores below 0.

    Args:
        row: the row of ``"Hebart2023-match"``.
        triplets: number of triplets to use, counted from the first; by default all. The model sees each object only
            once in any case.

    Raises:
        ValueError: ``triplets`` is below 1.

    Source:
        Hebart et al. (2023), eLife.

    Example:
        >>> from bsjax import load_benchmark
        >>> benchmark = load_benchmark("Hebart2023-match")
        >>> float(benchmark.ceiling), benchmark.parent
        (0.6767, 'behavior_vision')
    """
    if triplets is not None and triplets < 1:
        raise ValueError(f"triplets must be at least 1, got {triplets}")
    people = LazyLoad(lambda: choices(row.data[0], triplets))
    return behavioural_benchmark(
        row,
        people,
        OddOneOutMatch,
        metric=same_choices,
        stimuli=lambda: objects_of(content_of(people)),
        normalisation=partial(chance_corrected, chance=1 / 3),
    )


def choices(dataset: str, triplets: int | None = None) -> BehavioralAssembly:
    """People's choices (presentation), with ``image_1`` to ``image_3``, of which the last is the chosen one.

    Raises:
        FileNotFoundError, PermissionError, ConnectionError: the data are not available.
    """
    people = load_dataset(dataset).isel(presentation=slice(triplets))
    columns = {name: ("presentation", people[name].values) for name in ("stimulus_id", *TRIPLET)}
    return BehavioralAssembly(people.values, coords=columns, dims=["presentation"], attrs=dict(people.attrs))


def objects_of(people: BehavioralAssembly) -> StimulusSet:
    """The unique stimuli of all triplets.

    Raises:
        ValueError: a triplet has an image that is not among the stimuli.
    """
    stimuli: StimulusSet = people.attrs["stimulus_set"]
    used = pd.unique(triplets(people).ravel())
    rows = pd.Index(stimuli["stimulus_id"]).get_indexer(pd.Index(used))
    if (rows < 0).any():
        unknown = some(used[rows < 0])
        raise ValueError(f"the triplets have images that are not among the {len(stimuli)} stimuli: {unknown}")
    return cast("StimulusSet", stimuli.iloc[np.sort(rows)])


def triplets_of(people: xr.DataArray, objects: StimulusSet) -> StimulusSet:
    """Three rows of ``objects`` for each triplet, with their ids only."""
    rows = pd.Index(objects["stimulus_id"]).get_indexer(pd.Index(triplets(people).ravel()))
    return cast("StimulusSet", objects[["stimulus_id"]].iloc[rows].reset_index(drop=True))
