"""``alignment_pattern``: whether a model of a region is as similar to all other regions as the region itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bsjax.labelled.align import parts_by
from bsjax.labelled.settings import whole_number
from bsjax.scoring.arrays import assemblies_of, by_name, loaded
from bsjax.scoring.display.bars import shown

if TYPE_CHECKING:
    from bsjax.labelled import Score

_LEAST_REGIONS, _LEAST_NEUROIDS = 4, 4
Parts = dict[str, xr.DataArray]


def alignment_pattern(
    recordings: xr.DataArray | Mapping[str, Any],
    models: Mapping[str, Any],
    metric: str | Callable[..., Score] = "cka",
    crossvalidation_kwargs: Mapping[str, Any] | None = None,
    *,
    splits: int = 5,
    seed: int = 1,
    progress: bool | None = None,
    **metric_kwargs: Any,
) -> xr.Dataset:
    r"""Test whether a model reproduces the profile of similarities of a brain region to all other regions.

    A model of region A may score high on A for reasons that hold of any region. It should also be as similar as A to
    each *other* region :math:`B`. Part :math:`g` of the neuroids, a subject or a random half, gives the profile that is
    to be reproduced; the model, and for the ceiling the region A in all other parts, take the place of its region A.
    Neighbouring regions may have similar profiles: compare the alignment of a model with several of them.

    .. math:: \mathrm{alignment}(m, A) = \frac{1}{G} \sum_g
        \mathrm{corr}_{B \ne A} \bigl(s(m, B_g),\ s(A_g, B_g)\bigr)

    Args:
        recordings: responses of at least four regions to the same stimuli: an assembly whose neuroids have a coordinate
            ``region``, or region -> responses ``(stimuli, neuroids)``. If the neuroids have a coordinate ``subject``
            and all subjects have all regions, the parts are subjects; else they are random halves of the neuroids.
        models: name -> responses of a model, e.g. of one layer, to the same stimuli, ``(stimuli, units)``.
        metric: the similarity s: a name of :func:`bsjax.list_metrics` that compares two assemblies, or a metric object.
            In a regression, the model and A predict B.
        crossvalidation_kwargs: arguments of the splits of a regression.
        splits: number of random pairs of halves.
        seed: seed of the halves.
        progress: True shows progress, False hides it. By default it is shown on a terminal and in notebooks.
        **metric_kwargs: further arguments of the metric.

    Returns:
        ``alignment`` (model, region) and ``ceiling`` (region), means over the parts, with ``alignment_sd`` and
        ``ceiling_sd`` over them; and ``similarity`` (source, region), the mean profile of each model and region, where
        that of a region with itself is NaN. Correlations are NaN where a profile is undefined or constant.

    Raises:
        KeyError: the metric is unknown.
        ValueError: there are fewer than four regions, a region has fewer than four neuroids, a model has the name of a
            region, stimuli differ, or the metric refuses the data.

    Source: Kriegeskorte, Mur & Bandettini 2008 (second-order comparison of regions); Thobani et al. 2025.

    Example:
        >>> import bsjax
        >>> rng = np.random.default_rng(0)
        >>> seen = [rng.normal(size=(80, 6)) for _ in range(4)]
        >>> weights = {"V1": [1, 0, 0, 1], "V2": [1, 1, 0, 0], "V4": [0, 1, 1, 0], "IT": [0, 0, 2, 0]}
        >>> see = lambda w: sum(a * s for a, s in zip(w, seen)) @ rng.normal(size=(6, 30))
        >>> found = bsjax.alignment_pattern({name: see(w) for name, w in weights.items()}, {"a V2": see([1, 1, 0, 0])})
        >>> str(found["alignment"].sel(model="a V2").idxmax("region").item())
        'V2'
    """
    is_whole = isinstance(recordings, xr.DataArray)
    brain = parts_by(recordings, "region", "recordings") if is_whole else by_name(recordings, "recordings")
    if len(brain) < _LEAST_REGIONS:
        raise ValueError(f"a profile over other regions needs at least {_LEAST_REGIONS} regions, got {len(brain)}")
    models = by_name(models, "models")
    if same := brain.keys() & models.keys():
        raise ValueError(f"regions and models need different names, got {sorted(same)} twice")
    made, regions, names = (
        loaded(metric, crossvalidation_kwargs, metric_kwargs, interval=False),
        list(brain),
        list(models),
    )
    sides = dict(zip([*regions, *names], assemblies_of({**brain, **models}), strict=True))
    of_models = [sides[name] for name in names]
    places = _parts(brain, sides, whole_number(splits, "splits", 1), seed)
    found = []
    with shown(progress=progress):
        for own, rest in places:
            of_part = np.full((len(names) + 2 * len(regions), len(regions)), np.nan)
            for column, region in enumerate(regions):
                others = [row for row, name in enumerate(regions) if name != region]
                sources = [*of_models, *(side[regions[row]] for side in (own, rest) for row in others)]
                rows = [*range(len(names)), *(len(names) + at + row for at in (0, len(regions)) for row in others)]
                of_part[rows, column] = [float(score) for score in made.of_many(sources, own[region])]
            found.append(of_part)
    similarity = np.array(found)  # (parts, sources, regions)
    of_model, of_own, of_rest = np.split(similarity, [len(names), len(names) + len(regions)], axis=1)
    alignment = np.array([_alike(of_part, own) for of_part, own in zip(of_model, of_own, strict=True)])
    ceiling = np.array([np.diag(_alike(rest, own)) for rest, own in zip(of_rest, of_own, strict=True)])
    profiles = similarity[:, : len(names) + len(regions)].mean(axis=0)
    return xr.Dataset(
        {
            "alignment": (("model", "region"), alignment.mean(axis=0)),
            "alignment_sd": (("model", "region"), alignment.std(axis=0)),
            "ceiling": ("region", ceiling.mean(axis=0)),
            "ceiling_sd": ("region", ceiling.std(axis=0)),
            "similarity": (("source", "region"), profiles),
        },
        {"model": names, "region": regions, "source": [*names, *regions]},
        {"metric": made.identifier, "parts": len(found)},
    )


def _alike(profiles: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Correlations of profiles ``(sources, regions)`` with that of each region, over the other regions."""
    kept = [np.delete(np.arange(len(own)), row) for row in range(len(own))]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.array(
            [[np.corrcoef(one[k], mine[k])[0, 1] for k, mine in zip(kept, own, strict=True)] for one in profiles]
        )


def _parts(brain: Mapping[str, Any], sides: Parts, splits: int, seed: int) -> Iterator[tuple[Parts, Parts]]:
    """For each part, its own neuroids of each region, and those of all other parts."""
    for region in brain:
        if (number := sides[region].sizes["neuroid"]) < _LEAST_NEUROIDS:
            raise ValueError(f"region {region} has {number} neuroids, parts of it need at least {_LEAST_NEUROIDS}")
    subjects = [_subjects(side) for side in brain.values()]
    every = set(subjects[0])
    if len(every) > 1 and all(set(of_region) == every for of_region in subjects):
        masks = [[of_region == name for of_region in subjects] for name in sorted(every)]
    else:
        rng = np.random.default_rng(seed)
        halves = [[rng.permutation(sides[name].sizes["neuroid"]) % 2 == 0 for name in brain] for _ in range(splits)]
        masks = [part for half in halves for part in (half, [~mask for mask in half])]
    for part in masks:
        of_regions = list(zip(brain, part, strict=True))
        yield (
            {name: sides[name].isel(neuroid=np.flatnonzero(mask)) for name, mask in of_regions},
            {name: sides[name].isel(neuroid=np.flatnonzero(~mask)) for name, mask in of_regions},
        )


def _subjects(responses: Any) -> np.ndarray:
    """The subject of each neuroid; none if unknown."""
    known = isinstance(responses, xr.DataArray) and "subject" in responses.coords
    return responses["subject"].values.ravel() if known else np.array([])
