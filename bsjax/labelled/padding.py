"""Features and neuroids padded to few numbers, so that layers, models and subjects of similar size share programs.

A program is compiled for one shape, which takes a second or two: longer than most comparisons. Regressions and CKA do
not see a feature of zeros, nor does one neuroid's score see another neuroid of zeros. So both are padded by such
columns up to the next of eight sizes an octave, at most an eighth more than there are, and what was computed for them
is dropped. Stimuli are not padded: those beside the data would be held out of every fold, which costs more than it
saves, and would make least squares singular where there are more features than stimuli.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from bsjax.engine.memory_limit import features_in_memory
from bsjax.labelled.aggregate import NEUROID, SPLIT, neuroid_coords, over_neuroids, over_splits
from bsjax.labelled.align import finite_values, two_dimensional
from bsjax.labelled.regression.crossvalidation import (
    CrossRegressedCorrelation,
    TrainTestSplitCorrelation,
    fits_targets_alone,
)
from bsjax.labelled.score import Score
from bsjax.labelled.similarity.representational import CrossValidatedSimilarity, RepresentationalSimilarity
from bsjax.metrics import PLS, NeuronToNeuron, Ridge, RidgeCV

_BUCKETS = 8  # an octave
_WIDEST = 1 << 14  # beyond it, the work on an eighth more columns takes longer than compiling once
_NAMES = {2: ("source", "target"), 4: ("source_train", "source_test", "target_train", "target_test")}


def bucket(width: int) -> int:
    """The number of columns that ``width`` of them are padded to: one of eight an octave, at most an eighth more.

    Example:
        >>> [bucket(width) for width in (5, 100, 161, 168, 176, 1000, 100_000)]
        [5, 104, 176, 176, 176, 1024, 100000]
    """
    if not _BUCKETS < width <= _WIDEST:
        return width
    step = (1 << (width.bit_length() - 1)) // _BUCKETS
    return -(-width // step) * step


def padded_to_bucket(assembly: xr.DataArray, what: str = "assembly") -> xr.DataArray:
    """The assembly with columns of zeros after its own, up to the size of their bucket.

    Fewer columns than stimuli are padded to two fewer at most: ridge regression works on the smaller side.

    Args:
        assembly: (presentation, neuroid).
        what: its name in an error.

    Returns:
        (presentation, neuroid) with the coordinates of the presentations; the assembly as it is if nothing is missing,
        or if it is not to be held in memory.

    Raises:
        ValueError: other dimensions, or values that are not finite.

    Example:
        >>> x = xr.DataArray(np.ones((2000, 100)), dims=["presentation", "neuroid"])
        >>> padded_to_bucket(x).values.sum(axis=0)[98:]
        array([2000., 2000.,    0.,    0.,    0.,    0.])
    """
    assembly = two_dimensional(assembly, what)
    n, width = assembly.shape
    wanted = bucket(width)
    if width < n:
        wanted = min(wanted, max(width, n - 2))
    if wanted == width or assembly.chunks is not None or 8 * n * wanted > features_in_memory():
        return assembly
    values = finite_values(assembly, what)
    pad: Any = jnp.pad if isinstance(values, jax.Array) else np.pad
    of_presentations = {name: c for name, c in assembly.coords.items() if c.dims == ("presentation",)}
    return xr.DataArray(pad(values, ((0, 0), (0, wanted - width))), of_presentations, ["presentation", NEUROID])


def padded_source(metric: Any, source: xr.DataArray, what: str = "source") -> xr.DataArray:
    """The source padded to its bucket, if the metric's score does not depend on it."""
    mapping = getattr(metric, "mapping", None)
    if isinstance(mapping, PLS) and mapping.n_components > source.sizes[NEUROID]:
        return source  # will be refused, with how many features there are
    return padded_to_bucket(source, what) if _is_blind_to_zeros(metric) else source


def compare(metric: Any, *assemblies: xr.DataArray) -> Score:
    """``metric(*assemblies)`` by a program that other sources and targets of similar size share.

    Args:
        metric: any; those that would see the padding get the assemblies as they are.
        assemblies: source and target; or ``source_train, source_test, target_train, target_test``.

    Returns:
        The metric's score, up to rounding.

    Raises:
        ValueError: what the metric raises.

    Example:
        >>> from bsjax.labelled import load_metric
        >>> values = np.random.default_rng(0).normal(size=(60, 17))
        >>> x = xr.DataArray(values, {"stimulus_id": ("presentation", range(60))}, ["presentation", "neuroid"])
        >>> compare(load_metric("cka"), x, x)
        Score(1.0000, r)
    """
    if not _is_blind_to_zeros(metric):
        return metric(*assemblies)
    names, half = _NAMES[len(assemblies)], len(assemblies) // 2
    named = list(zip(assemblies, names, strict=True))
    sources = [padded_source(metric, source, what) for source, what in named[:half]]
    mapping = getattr(metric, "mapping", None)
    if isinstance(mapping, RidgeCV) and mapping.alpha_per_target:
        # Neuroids of zeros would choose penalties too, and be counted among those at the edge.
        return metric(*sources, *assemblies[half:])
    targets = [padded_to_bucket(target, what) for target, what in named[half:]]
    score, target = metric(*sources, *targets), assemblies[-1]
    return score if targets[-1].sizes[NEUROID] == target.sizes[NEUROID] else of_neuroids(score, target)


def of_neuroids(score: Score, target: xr.DataArray, neuroids: Any = None) -> Score:
    """The score of some of the neuroids that a regression was scored on, as if it had been of them alone.

    Args:
        score: of a regression.
        target: the neuroids that the score is to be of.
        neuroids: where they are among those of ``score``; by default the first.
    """
    if score.raw is None or NEUROID not in score.raw.dims:  # one value for all neuroids together
        return score
    chosen = score.raw.isel({NEUROID: slice(target.sizes[NEUROID]) if neuroids is None else neuroids})
    coords: dict[str, Any] = {str(name): (c.dims, c.values) for name, c in chosen.coords.items() if name != SPLIT}
    over = over_splits if SPLIT in chosen.dims else over_neuroids
    return over(chosen.values, {**coords, **neuroid_coords(target)}, score.provenance)


def fits_neuroids_alone(metric: Any) -> bool:
    """Whether a neuroid is predicted as it would be without the others, so that those of all subjects fit at once."""
    if not isinstance(metric, CrossRegressedCorrelation | TrainTestSplitCorrelation):
        return False
    return fits_targets_alone(metric.mapping)


def _is_blind_to_zeros(metric: Any) -> bool:
    """Whether scores stay as they are when columns of zeros are added."""
    if isinstance(metric, CrossRegressedCorrelation | TrainTestSplitCorrelation):
        return isinstance(metric.mapping, PLS | Ridge | RidgeCV | NeuronToNeuron)
    if isinstance(metric, RepresentationalSimilarity | CrossValidatedSimilarity):
        return metric.rotation_invariant
    return False
