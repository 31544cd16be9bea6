"""Core object recognition: Rajalingham, Issa, Bashivan, Kar, Schmidt & DiCarlo (2018).

People saw an image of one of 24 objects for 100 ms and then chose between that object and another. The metric ``i2n``
measures whether a model finds the same images hard, against the same distractors. It compares the d' of each image and
distractor, relative to the other images of the object.

``Rajalingham2018-i2n`` learns the objects from 2160 images and is tested on 240 others. ``Rajalingham2018public-i2n``
learns from the 2160 images and is tested on the same ones, because people's trials on the others are not public; a
read-out that memorises its training images benefits there.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from bsjax.benchmarks.ceilings import Ceiling
from bsjax.benchmarks.kinds.behavioural import BehavioralBenchmark
from bsjax.benchmarks.kinds.published_behaviours import behavioural_benchmark
from bsjax.benchmarks.lazy_loading import LazyLoad
from bsjax.benchmarks.rows.row import BenchmarkRow
from bsjax.data import load_dataset
from bsjax.labelled import load_metric


def i2n(row: BenchmarkRow) -> BehavioralBenchmark:
    """Whether a model confuses the objects that people confuse, image by image.

    The ceiling of a split is the correlation between the two halves of the trials. A model without noise can correlate
    with half of the trials by at most its square root, so each split is divided by that; the score is the mean.

    Source:
        Rajalingham et al. (2018), Journal of Neuroscience; Schrimpf et al. (2018), bioRxiv.

    Example:
        >>> from bsjax import load_benchmark
        >>> benchmark = load_benchmark("Rajalingham2018public-i2n")
        >>> "fitted and tested on the same images" in " ".join(benchmark.describe().split())
        True
    """
    trials = LazyLoad(lambda: load_dataset(row.data[0]))
    own: dict[str, Any] = {}
    if row.settings["skipna"]:
        own["ceiling_func"] = Ceiling(partial(load_metric("i2n").ceiling, skipna=True), trials)
    return behavioural_benchmark(row, trials, **own)
