"""The odd one out of three objects: the triplets of THINGS, Hebart et al. (2023).

People saw three of 1854 objects and chose the one that is least like the other two. The benchmark asks how often a
model chooses as they did, in the 453,642 choices that were set aside for testing.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np
import pandas as pd
import xarray as xr

from bsjax.benchmarks.ceilings import constant_ceiling
from bsjax.benchmarks.kinds.behavioural import BehavioralBenchmark
from bsjax.benchmarks.lazy_loading import LazyLoad, content_of
from bsjax.benchmarks.rows.behaviours import behavior_rows, fields_of
from bsjax.core.messages import some
from bsjax.data import BehavioralAssembly, StimulusSet, load_dataset
from bsjax.labelled.behaviour.accuracy import TRIPLET, same_choices, triplets
from bsjax.labelled.normalise import chance_corrected

if TYPE_CHECKING:
    from bsjax.models import BrainModel

_SOURCE = (
    "the share of people who made the same choice of a triplet, averaged over triplets that several people judged; "
    "Hebart et al. (2023), as Brain-Score states it"
)


class OddOneOutMatch(BehavioralBenchmark):
    """A behavioural benchmark on triplets; each object is put on the screen once, however many it is in.

    Example:
        >>> hebart2023().normalisation
        'chance_corrected'
    """

    def stimuli_for(self, candidate: BrainModel) -> StimulusSet:
        """Three rows for each triplet."""
        return triplets_of(self.assembly, super().stimuli_for(candidate))


def hebart2023(identifier: str = "Hebart2023-match", triplets: int | None = None) -> OddOneOutMatch:
    """How often a model picks the odd one out that people picked, with chance and ceiling taken into account.

    The score is ``(r - 1/3) / (c - 1/3)`` of the share ``r`` of triplets with the same choice, and the ceiling ``c``.
    A model that chooses worse than by chance scores below 0.

    Args:
        identifier: ``"Hebart2023-match"``.
        triplets: how many of the triplets to use, from the first on; by default all. The model looks at each object
            once, in any case.

    Raises:
        KeyError: no such benchmark.
        ValueError: ``triplets`` is not at least 1.

    Source:
        Hebart et al. (2023), eLife.

    Example:
        >>> benchmark = hebart2023()
        >>> float(benchmark.ceiling), benchmark.parent
        (0.6767, 'behavior_vision')
    """
    if triplets is not None and triplets < 1:
        raise ValueError(f"triplets must be at least 1, got {triplets}")
    row = behavior_rows()[identifier]
    people = LazyLoad(lambda: choices(row["dataset"], triplets))
    return OddOneOutMatch(
        identifier,
        people,
        "odd_one_out",
        same_choices,
        stimuli=lambda: objects_of(content_of(people)),
        ceiling_func=constant_ceiling(row["ceiling"], _SOURCE),
        **fields_of(row),
        normalisation=partial(chance_corrected, chance=1 / 3),
        about="which of three objects people found the odd one out",
    )


def choices(dataset: str, triplets: int | None = None) -> BehavioralAssembly:
    """People's choices (presentation), with ``image_1`` to ``image_3``, the last of which is the chosen one.

    Raises:
        FileNotFoundError, PermissionError, ConnectionError: the data cannot be had.
    """
    people = load_dataset(dataset).isel(presentation=slice(triplets))
    columns = {name: ("presentation", people[name].values) for name in ("stimulus_id", *TRIPLET)}
    return BehavioralAssembly(people.values, coords=columns, dims=["presentation"], attrs=dict(people.attrs))


def objects_of(people: BehavioralAssembly) -> StimulusSet:
    """The stimuli that are in a triplet, each once.

    Raises:
        ValueError: a triplet has an image that is none of the stimuli.
    """
    stimuli: StimulusSet = people.attrs["stimulus_set"]
    used = pd.unique(triplets(people).ravel())
    rows = pd.Index(stimuli["stimulus_id"]).get_indexer(pd.Index(used))
    if (rows < 0).any():
        unknown = some(used[rows < 0])
        raise ValueError(f"the triplets have images that are not among the {len(stimuli)} stimuli: {unknown}")
    return cast("StimulusSet", stimuli.iloc[np.sort(rows)])


def triplets_of(people: xr.DataArray, objects: StimulusSet) -> StimulusSet:
    """Three rows of ``objects`` for each triplet, with their ids and nothing else of the table."""
    rows = pd.Index(objects["stimulus_id"]).get_indexer(pd.Index(triplets(people).ravel()))
    return cast("StimulusSet", objects[["stimulus_id"]].iloc[rows].reset_index(drop=True))
