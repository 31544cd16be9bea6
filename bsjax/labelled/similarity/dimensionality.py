"""The number of dimensions of a representation that encode a factor of the stimuli."""

import math
from dataclasses import dataclass

import pandas as pd
import xarray as xr

from bsjax.labelled.align import coordinate, finite_values, matched, two_dimensional
from bsjax.labelled.metric import Metric
from bsjax.labelled.score import Score
from bsjax.labelled.settings import keep
from bsjax.metrics.similarity.dimensionality import factor_shares, whole_units

_FACTOR, _RESIDUAL = "factor", "residual"


@dataclass(frozen=True)
class Dimensionality(Metric):
    """Share of a representation's dimensions that encode a factor of the stimuli.

    The two assemblies hold responses to the two sides of stimulus pairs. A pair's ``factor`` is what its two stimuli
    have in common. For each factor, the covariance of the responses over all its pairs is divided by the variance of
    all responses. These ratios, together with a 1 for the residual, go through a softmax
    (``bsjax.metrics.similarity.dimensionality.factor_shares``). The score is the share of ``factor`` in whole neuroids,
    as in Brain-Score: rounded down for factors, and the rest for the residual. ``raw`` has the unrounded shares of all
    factors.

    The score is NaN if all responses are equal. NaN responses are an error, because both sides of a pair are needed.

    Args:
        factor: an entry of the coordinate ``factor``, or ``"residual"``.
        whole_neuroids: whether the value is rounded to whole neuroids.
        sample_coord: the presentation coordinate that numbers the pairs of each factor and matches their two sides.
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

    Source: Esser, Rombach & Ommer 2020.

    Example:
        >>> coords = {"factor": ("presentation", ["shape", "shape", "colour", "colour"]),
        ...     "sample": ("presentation", [0, 1, 0, 1]), "neuroid_id": ("neuroid", ["a", "b", "c", "d"])}
        >>> a = xr.DataArray([[1.0] * 4, [-1.0] * 4] * 2, coords, ["presentation", "neuroid"])
        >>> b = xr.DataArray([[1.0] * 4, [-1.0] * 4, [-1.0] * 4, [1.0] * 4], coords, ["presentation", "neuroid"])
        >>> float(Dimensionality("shape")(a, b)), float(Dimensionality("colour")(a, b))
        (0.25, 0.0)
    """

    identifier = "factor_dimensionality"
    normalisation = "ceil_score"

    factor: str
    whole_neuroids: bool = True
    sample_coord: str = "sample"
    dtype: str | None = None

    def __post_init__(self) -> None:
        keep(self, factor=str(self.factor))

    def __call__(self, source: xr.DataArray, target: xr.DataArray) -> Score:
        """Estimates the share.

        Args:
            source, target: responses (presentation, neuroid) to the first and to the second sides of the pairs, with
                ``factor`` and ``sample`` on presentation and ``neuroid_id`` on neuroid; rows in any order.

        Raises:
            ValueError: pairs or neuroids are missing on one side or repeat, the factor is unknown, or responses are
                NaN.
        """
        source, target = two_dimensional(source, "source"), two_dimensional(target, "target")
        pairs, theirs = self._pairs(source, "source"), self._pairs(target, "target")
        ours = coordinate(source, "neuroid_id", "neuroid", "source")
        others = coordinate(target, "neuroid_id", "neuroid", "target")
        sides = "target", "source"
        target = target.isel(
            presentation=matched(theirs, pairs, sides, f"({_FACTOR}, {self.sample_coord})", "pairs"),
            neuroid=matched(others, ours, sides, "neuroid_id", "neuroids"),
        )
        codes, names = pd.factorize(pairs.get_level_values(0), sort=True)
        shares = [*map(str, names), _RESIDUAL]
        if _RESIDUAL in names:
            raise ValueError(f"no factor may be called {_RESIDUAL!r}: that is the share of none of them")
        if self.factor not in shares:
            raise ValueError(f"no pair shares the factor {self.factor!r}; there are: {', '.join(shares)}")
        a, b = finite_values(source, "source"), finite_values(target, "target")
        soft = self.run_kernel(factor_shares, a, b, codes, factors=len(names))
        whole = self.run_kernel(whole_units, soft, units=a.shape[1]) if self.whole_neuroids else soft
        value, raw = float(whole[shares.index(self.factor)]), soft.astype(float)
        return Score(
            value,
            raw=xr.DataArray(raw, dims=[_FACTOR], coords={_FACTOR: shares}),
            formula="softmax",
            n_undefined=int(math.isnan(value)),
            provenance=self.provenance(),
        )

    def _pairs(self, assembly: xr.DataArray, what: str) -> pd.MultiIndex:
        columns = [coordinate(assembly, name, "presentation", what) for name in (_FACTOR, self.sample_coord)]
        return pd.MultiIndex.from_arrays(columns, names=[_FACTOR, self.sample_coord])
