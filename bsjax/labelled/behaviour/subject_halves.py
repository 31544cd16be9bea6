"""Random halves of the subjects, and mean scores over them."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bsjax.labelled.aggregate import mean_and_deviation, spread_or_none
from bsjax.labelled.provenance import Provenance
from bsjax.labelled.score import Score
from bsjax.labelled.settings import whole_number

SPLITS = 100
_OPPOSITE = "the halves of all splits correlate by -1, for which 2r/(1+r) is undefined"


def random_halves(observers: np.ndarray, splits: int, random_state: int, what: str) -> np.ndarray:
    """Masks ``(splits, observers)`` of the first half of each split, which is the smaller half for odd numbers.

    Args:
        observers: their names; copies of an observer have the same name and stay in the same half.
        splits: number of splits.
        random_state: seed of the splits.
        what: name of the data in messages.

    Raises:
        ValueError: fewer than two observers, or no split.
    """
    splits = whole_number(splits, "splits", 1)
    who, names = pd.factorize(observers)
    if len(names) < 2:
        raise ValueError(f"{what} needs at least two subjects to split in halves, there are {len(names)}")
    keys = np.random.default_rng(random_state).random((splits, len(names)))
    return (keys.argsort(axis=1).argsort(axis=1) < len(names) // 2)[:, who]


def over_halves(raw: np.ndarray, formula: str, provenance: Provenance, mask: np.ndarray, **known: Any) -> Score:
    """The mean of one value per split and their spread, without undefined splits; see ``mean_score``.

    The units of the score are those in ``mask``, which is True for the units that count. If the halves are the same in
    all splits, as for two subjects, there is no spread.
    """
    known |= {"n_units": len(mask), "n_undefined": int((~mask).sum())}
    score = mean_and_deviation(xr.DataArray(raw, dims=["split"]), "splits", formula, provenance, **known)
    return spread_or_none(score, f"{len(raw)} random halves")


def reliability(raw: np.ndarray, provenance: Provenance, mask: np.ndarray) -> Score:
    """Spearman-Brown correction of the mean correlation between halves, without undefined splits.

    The mean is corrected rather than each split, because with low reliability a single correlation may be near -1, and
    its correction unbounded.
    """
    half = over_halves(raw, "2r/(1+r)", provenance, mask)
    r = half.value if half.value > -1 else math.nan
    return replace(
        half,
        value=2 * r / (1 + r),
        provenance=replace(half.provenance, reason=half.provenance.reason or (_OPPOSITE if math.isnan(r) else None)),
        error=None if half.error is None else 2 / (1 + r) ** 2 * half.error,
        error_kind=half.error_kind + ("" if half.error is None else ", carried over by the delta method"),
    )
