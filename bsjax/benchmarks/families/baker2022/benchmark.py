"""Silhouettes of animals in pieces: Baker & Elder (2022).

People named which of nine animals a silhouette showed. Some were whole; in others the top half was turned round
("Frankenstein"), which keeps the local shape and breaks the whole one; in others the parts lay apart ("fragmented").
The benchmarks ask whether a model loses as much accuracy by that as people do.
"""

from __future__ import annotations

import numpy as np

from bsjax.benchmarks.ceilings import Ceiling
from bsjax.benchmarks.kinds.behavioural import BehavioralBenchmark
from bsjax.benchmarks.lazy_loading import LazyLoad
from bsjax.benchmarks.rows.behaviours import behavior_rows, fields_of
from bsjax.data import DataAssembly, load_dataset
from bsjax.labelled import load_metric


def baker2022(identifier: str) -> BehavioralBenchmark:
    """Whether an alteration of silhouettes costs a model the accuracy that it costs people.

    The score is that of :class:`~bsjax.labelled.behaviour.condition_accuracies.BakerAccuracyDelta` over its ceiling,
    how near the losses of two halves of the people are, corrected by Spearman-Brown. A model that is nearer to people
    than the halves are to each other scores above 1.

    Args:
        identifier: ``"Baker2022frankenstein-accuracy_delta"``, or with ``fragmented`` or ``inverted``.

    Raises:
        KeyError: no such benchmark.

    Source:
        Baker & Elder (2022), iScience.

    Example:
        >>> benchmark = baker2022("Baker2022inverted-accuracy_delta")
        >>> benchmark.metric.image_types, benchmark.visual_degrees, benchmark.parent
        (['w', 'f'], 8.8, 'Baker2022')
    """
    row = behavior_rows()[identifier]
    trials = LazyLoad(lambda: people(row["dataset"], row["orientation"]))
    metric = load_metric("baker_accuracy_delta", image_types=row["image_types"])
    return BehavioralBenchmark(
        identifier,
        trials,
        "label",
        metric,
        ceiling_func=Ceiling(metric.ceiling, trials),
        **fields_of(row),
        about=f"whether people named the animals right, {row['orientation']} silhouettes",
    )


def people(dataset: str, orientation: str) -> DataAssembly:
    """Whether people were right (1) or wrong (0), one row a trial on an image of this orientation.

    Args:
        dataset: name of the published trials, which of the inverted ones hold normal images as well.
        orientation: ``"normal"`` or ``"inverted"``.

    Raises:
        FileNotFoundError, PermissionError, ConnectionError: the data cannot be had.
        ValueError: there is no trial on such an image.
    """
    trials = load_dataset(dataset)
    orientations = trials["orientation"].values
    rows = np.flatnonzero(orientations == orientation)
    if not len(rows):
        raise ValueError(f"{dataset} has no trial of the orientation {orientation!r}; it has: {set(orientations)}")
    return trials.isel(presentation=rows)
