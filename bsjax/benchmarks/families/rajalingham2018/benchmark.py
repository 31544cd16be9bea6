"""Core object recognition: Rajalingham, Issa, Bashivan, Kar, Schmidt & DiCarlo (2018).

People saw an image of one of 24 objects for a tenth of a second and then chose between that object and another.
Whether a model finds the same images hard, against the same distractors, is measured with ``i2n``: the d' of each image
and distractor, relative to that of the other images of the object.

``Rajalingham2018-i2n`` learns the objects from 2160 images and answers for 240 others. ``Rajalingham2018public-i2n``
learns from the 2160 images and answers for the same, as people's trials on the others are not public: a read-out that
learns its images by heart gains there.
"""

from __future__ import annotations

import math

import numpy as np
import xarray as xr

from bsjax.benchmarks.ceilings import Ceiling
from bsjax.benchmarks.kinds.behavioural import BehavioralBenchmark
from bsjax.benchmarks.lazy_loading import LazyLoad
from bsjax.benchmarks.rows.behaviours import behavior_rows, fields_of
from bsjax.data import load_dataset, load_stimulus_set
from bsjax.labelled import Score, load_metric
from bsjax.labelled.aggregate import over


def i2n(identifier: str) -> BehavioralBenchmark:
    """Whether a model confuses the objects that people confuse, image by image.

    The ceiling of a split is the correlation of one half of the trials with the other. A model without noise correlates
    with half of the trials by at most its square root, by which each split is divided; the score is their mean.

    Args:
        identifier: ``"Rajalingham2018-i2n"`` or ``"Rajalingham2018public-i2n"``.

    Raises:
        KeyError: no such benchmark.

    Source:
        Rajalingham et al. (2018), Journal of Neuroscience; Schrimpf et al. (2018), bioRxiv.

    Example:
        >>> benchmark = i2n("Rajalingham2018public-i2n")
        >>> "the very images that it has learned from" in " ".join(benchmark.describe().split())
        True
    """
    row = behavior_rows()[identifier]
    trials = LazyLoad(lambda: load_dataset(row["dataset"]))
    metric = load_metric("i2n")
    return BehavioralBenchmark(
        identifier,
        trials,
        "probabilities",
        metric,
        fitting_stimuli=lambda: load_stimulus_set(row["fitting_stimuli"]),
        ceiling_func=Ceiling(_halves_where_defined if row["skipna"] else metric.ceiling, trials),
        **fields_of(row),
        normalisation=each_split_over_sqrt_ceiling,
        about=row["about"],
    )


def each_split_over_sqrt_ceiling(score: Score, ceiling: Score) -> Score:
    r"""Mean over splits of :math:`r_s / \sqrt{c_s}`, each with the ceiling of the same split.

    A split whose ceiling is 0 or below is undefined: it is left out, and the score is NaN where none is left.

    Args:
        score, ceiling: with one value a split in ``raw``.

    Returns:
        A score whose ``raw`` has the ratios, and whose error is their population standard deviation, as in Brain-Score.

    Raises:
        ValueError: raw values are missing, or are of other splits.

    Source:
        Spearman (1904), American Journal of Psychology.

    Example:
        >>> def splits(*values):
        ...     return Score(sum(values) / 2, raw=xr.DataArray([*values], dims=["split"], coords={"split": [0, 1]}))
        >>> each_split_over_sqrt_ceiling(splits(0.4, 0.3), splits(0.64, 0.36))
        Score(0.5000 ± 0.0000, mean of r/√c)
    """
    raw = []
    for each, what in ((score, "the score"), (ceiling, "the ceiling")):
        if each.raw is None or each.raw.dims != ("split",):
            raise ValueError(f"{what} needs one raw value a split; its raw is {getattr(each.raw, 'dims', None)}")
        raw.append(each.raw)
    r, c = raw
    if r.sizes != c.sizes or not np.array_equal(r["split"].values, c["split"].values):
        raise ValueError(f"score and ceiling have other splits: {r['split'].values} and {c['split'].values}")
    reliable = np.where(c.values > 0, c.values, math.nan)
    ratios = r.values / np.sqrt(reliable)
    return over(
        r.copy(data=ratios),
        "split",
        what="splits of the trials",
        kind="standard deviation",
        ddof=0,
        unceiled=score,
        ceiling=ceiling,
        formula="mean of r/√c",
        n_units=score.n_units,
        n_undefined=score.n_undefined,
        provenance=score.provenance,
    )


def _halves_where_defined(trials: xr.DataArray) -> Score:
    """How well one half of the trials predicts the other, in what both define."""
    return load_metric("i2n").ceiling(trials, skipna=True)
