"""``variance_partition``: which feature spaces explain which part of the responses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bsjax.labelled.align import aligned
from bsjax.metrics.regression.variance import shapley_shares, subsets
from bsjax.scoring.arrays import assemblies_of, by_name, loaded
from bsjax.scoring.display.bars import shown

if TYPE_CHECKING:
    from bsjax.labelled import Score

_MOST = 6


def variance_partition(
    spaces: Mapping[str, Any],
    responses: Any,
    metric: str | Callable[..., Score] = "ridgecv",
    crossvalidation_kwargs: Mapping[str, Any] | None = None,
    *,
    progress: bool | None = None,
    **metric_kwargs: Any,
) -> xr.Dataset:
    r"""Divide the explained variance of each neuroid among feature spaces, such as layers, models or annotations.

    Each subset of the spaces predicts the responses by the same cross-validated regression and splits. What a space
    explains *uniquely* is what the prediction loses without it. Its *Shapley* share also has its part of what several
    spaces explain alike; the shares sum to the variance that all spaces explain together.

    .. math:: u_b = R^2_{\text{all}} - R^2_{\text{all} \setminus b},\qquad \sum_b \phi_b = R^2_{\text{all}}

    Args:
        spaces: name -> features ``(stimuli, features)``: arrays, tables or assemblies; two to six of them.
        responses: measured responses ``(stimuli, neuroids)``, rows matched as in :func:`bsjax.score_arrays`.
        metric: a cross-validated regression; ``"ridgecv"``, the default, chooses its penalty for each subset.
        crossvalidation_kwargs: arguments of the splits, e.g. ``{"splits": 5}``.
        progress: True shows progress, False hides it. By default it is shown on a terminal and in notebooks.
        **metric_kwargs: further arguments of the metric, e.g. ``alpha_per_target=True``.

    Returns:
        ``explained`` (subset, neuroid), the cross-validated R² of each subset, averaged over splits; ``unique`` and
        ``shapley`` (space, neuroid). Values may be negative where features predict worse than none.

    Raises:
        ValueError: there are fewer than two spaces or more than six, stimuli differ, or the metric predicts nothing.

    Source: Nunez-Elizalde, Huth & Gallant 2019; Lindeman, Merenda & Gold 1980 (shares by Shapley values).

    Example:
        >>> rng = np.random.default_rng(0)
        >>> shape, colour = rng.normal(size=(200, 4)), rng.normal(size=(200, 3))
        >>> neurons = shape @ rng.normal(size=(4, 5)) + rng.normal(size=(200, 5))
        >>> found = variance_partition({"shape": shape, "colour": colour}, neurons)
        >>> bool((found["unique"].sel(space="shape") > found["unique"].sel(space="colour")).all())
        True
    """
    spaces = by_name(spaces, "feature spaces")
    if not 2 <= len(spaces) <= _MOST:
        raise ValueError(f"a partition takes two to {_MOST} feature spaces, got {len(spaces)}: join some of them")
    made, names = loaded(metric, crossvalidation_kwargs, metric_kwargs, interval=False), list(spaces)
    *sides, target = assemblies_of({**spaces, "responses": responses})
    features = {name: aligned(side, target, (name, "responses")) for name, side in zip(names, sides, strict=True)}
    with shown(progress=progress):
        explained = {
            subset: made.explained_variance(xr.concat([features[each] for each in subset], "neuroid"), target)
            for subset in subsets(names)
        }
    everything = explained[tuple(names)]
    unique = [everything - explained[tuple(each for each in names if each != space)] for space in names]
    return xr.Dataset(
        {
            "explained": (("subset", "neuroid"), np.stack(list(explained.values()))),
            "unique": (("space", "neuroid"), np.stack(unique)),
            "shapley": (("space", "neuroid"), shapley_shares(explained, names)),
        },
        {"subset": [" + ".join(subset) for subset in explained], "space": names, "neuroid": np.arange(len(everything))},
    )
