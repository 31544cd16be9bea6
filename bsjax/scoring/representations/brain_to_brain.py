"""``brain_to_brain``: how well brains predict one another, and where models stand among them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from bsjax.labelled.align import parts_by
from bsjax.scoring.arrays import assemblies_of, by_name, loaded
from bsjax.scoring.display.bars import shown

if TYPE_CHECKING:
    from bsjax.labelled import Score

_LEAST_SUBJECTS = 3


@dataclass(frozen=True)
class BrainToBrain:
    """How well subjects predict one another, and where models stand; see :func:`brain_to_brain`.

    Attributes:
        between: score of each subject as a source of each other as a target, ``(source, target)``; the diagonal is NaN.
        models: a row per model: ``to_brains`` (its mean score as a source), ``from_brains`` (as a target), the p values
            of both (``p_to_brains``, ``p_from_brains``), and whether it ``passes`` as one more subject.
        level: the significance level of ``passes``.

    Example:
        >>> import xarray as xr
        >>> found = BrainToBrain(xr.DataArray([[float("nan"), 0.5], [0.4, float("nan")]]), pd.DataFrame(), 0.05)
        >>> round(found.mean, 2)
        0.45
    """

    between: xr.DataArray
    models: pd.DataFrame
    level: float

    @property
    def mean(self) -> float:
        """Mean score over all ordered pairs of subjects."""
        return float(np.nanmean(self.between.values))

    def __repr__(self) -> str:
        head = f"{len(self.between)} subjects predict one another with a mean score of {self.mean:.3f}"
        return head if self.models.empty else f"{head}\n{self.models.round(3)}"


def brain_to_brain(
    recordings: xr.DataArray | Mapping[str, Any],
    metric: str | Callable[..., Score] = "ridge",
    models: Mapping[str, Any] | None = None,
    *,
    level: float = 0.05,
    progress: bool | None = None,
    **metric_kwargs: Any,
) -> BrainToBrain:
    r"""Score every subject against every other, and test whether models could be one more subject.

    A model that explains a brain as well as another brain does should be indistinguishable from a further subject, in
    both directions: as a source that predicts brains, and as a target that brains predict. The mean score :math:`m` of
    the model is compared with those :math:`m_s` of the :math:`S` subjects, each averaged over the other subjects:

    .. math:: t = \frac{m - \overline{m_s}}{\mathrm{sd}(m_s) \sqrt{1 + 1 / S}}

    with :math:`S - 1` degrees of freedom. A low p value says that the model scores lower than a further subject would.
    A model ``passes`` if the p values of both directions are at least half the ``level``, so that a further subject
    passes with a probability of about 1 - level.

    Args:
        recordings: responses of all subjects to the same stimuli: an assembly whose neuroids have a coordinate
            ``subject``, or name -> responses ``(stimuli, units)``.
        metric: a name of :func:`bsjax.list_metrics` that compares two assemblies, or a metric object.
        models: name -> responses of a model to the same stimuli, ``(stimuli, units)``.
        level: significance level.
        progress: True shows progress, False hides it. By default it is shown on a terminal and in notebooks.
        **metric_kwargs: further arguments of the metric.

    Returns:
        Scores of all pairs, and a table of the models.

    Raises:
        ValueError: there are fewer than three subjects, stimuli differ, or a score is undefined.

    Source: Thobani et al. 2025, "Model-brain comparison using inter-animal transforms"; the prediction interval of one
        more observation: Hahn & Meeker 1991.

    Example:
        >>> import bsjax
        >>> rng = np.random.default_rng(0)
        >>> seen = rng.normal(size=(80, 5))
        >>> see = lambda: seen @ rng.normal(size=(5, 20)) + rng.normal(size=(80, 20))
        >>> found = bsjax.brain_to_brain({"a": see(), "b": see(), "c": see(), "d": see()},
        ...                              models={"sees": see(), "noise": rng.normal(size=(80, 20))})
        >>> found.models["passes"].to_dict()
        {'sees': True, 'noise': False}
    """
    is_whole = isinstance(recordings, xr.DataArray)
    brains = parts_by(recordings, "subject", "recordings") if is_whole else by_name(recordings, "recordings")
    if len(brains) < _LEAST_SUBJECTS:
        raise ValueError(f"a distribution over subjects needs at least {_LEAST_SUBJECTS} subjects, got {len(brains)}")
    named = by_name(models or {}, "models")
    if same := brains.keys() & named.keys():
        raise ValueError(f"subjects and models need different names, got {sorted(same)} twice")
    made, subjects = loaded(metric, None, metric_kwargs, interval=False), list(brains)
    sides = dict(zip([*subjects, *named], assemblies_of(brains | named), strict=True))
    measured = [sides[name] for name in subjects]
    with shown(progress=progress):
        values = made.all_pairs(measured)
        np.fill_diagonal(values, np.nan)
        ways = {
            name: (
                float(np.mean([float(made(sides[name], target)) for target in measured])),
                float(np.mean([float(score) for score in made.of_many(measured, sides[name])])),
            )
            for name in named
        }
    undefined = np.argwhere(np.isnan(values) & ~np.eye(len(values), dtype=bool))
    if len(undefined):
        source, target = (subjects[place] for place in undefined[0])
        raise ValueError(f"the score of {source} as a source of {target} is undefined: leave one of them out")
    among = np.nanmean(values, axis=1), np.nanmean(values, axis=0)
    rows = {}
    for name, means in ways.items():
        p = [_lower_than_one_more(mean, own) for mean, own in zip(means, among, strict=True)]
        rows[name] = (*means, *p, min(p) >= level / 2)
    columns = ["to_brains", "from_brains", "p_to_brains", "p_from_brains", "passes"]
    between = xr.DataArray(values, {"source": subjects, "target": subjects}, ("source", "target"), made.identifier)
    return BrainToBrain(between, pd.DataFrame.from_dict(rows, orient="index", columns=columns), level)


def _lower_than_one_more(value: float, others: np.ndarray) -> float:
    """The probability that one more of several values would be as low as ``value``."""
    from scipy.stats import t

    spread = float(np.std(others, ddof=1)) * math.sqrt(1 + 1 / len(others))
    if not spread:
        return float(value >= others.mean())
    return float(t.cdf((value - others.mean()) / spread, len(others) - 1))
