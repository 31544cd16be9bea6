"""Numbers of dimensions that encode shape and texture: Islam et al. (2021).

The stimuli are images of 20 kinds of objects (PASCAL VOC 2012), each in five textures. Pairs of images that share one
factor and differ in the other show how much of a representation encodes the shared factor. There is no comparison with
a brain.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bsjax.benchmarks.ceilings import constant_ceiling
from bsjax.benchmarks.kinds.recording import RecordingBenchmark
from bsjax.benchmarks.rows.row import BenchmarkRow
from bsjax.core.labels import require_columns
from bsjax.data import NeuroidAssembly, StimulusSet
from bsjax.labelled import Score, load_metric

if TYPE_CHECKING:
    from bsjax.models import BrainModel

_SEED = 1751


class Pairs(NamedTuple):
    """A partner for every image: its row, and the shared factor, ``"shape"`` or ``"texture"``."""

    partner: np.ndarray
    factor: np.ndarray


class SharedDimensions(RecordingBenchmark):
    """The proportion of a region's dimensions that encode a factor of the images.

    Example:
        >>> from bsjax import load_benchmark
        >>> load_benchmark("Islam2021-shape_v1_dimensionality").region
        'V1'
    """

    def __init__(self, row: BenchmarkRow) -> None:
        super().__init__(row, load_metric(row.metric, row.settings["factor"]), constant_ceiling(1.0, "all dimensions"))

    def stimuli_for(self, candidate: BrainModel) -> StimulusSet:
        """The stimuli; each fills the model's field of view."""
        return self.stimuli

    def compare(self, observed: NeuroidAssembly) -> Score:
        """The proportion; ``raw`` has the proportions for shape, texture, and neither."""
        pairs = pair_images(self.stimuli)
        coords = {"factor": ("presentation", pairs.factor), "sample": ("presentation", np.arange(len(pairs.factor)))}
        sides = (observed, observed.isel(presentation=pairs.partner))
        return self.metric(*(side.assign_coords(coords) for side in sides))


def pair_images(stimuli: StimulusSet, seed: int = _SEED) -> Pairs:
    """Draw a partner for each image; the pairs are the same as Brain-Score's.

    Row by row, a generator of Python's ``random`` chooses the factor that the two images share. If it is shape, the
    partner is the same photograph in another texture; if it is texture, the partner is an image of another shape in
    the same texture. Candidates are ordered: names alphabetically, images by row.

    Args:
        stimuli: a set with the columns ``shape``, ``texture`` and ``original_image_id``, the photograph.
        seed: seed of the generator.

    Raises:
        ValueError: a column is missing, there is only one shape or texture, or an image has no possible partner.

    Example:
        >>> stimuli = StimulusSet({"stimulus_id": list("abcd"), "shape": ["cat", "cat", "dog", "dog"],
        ...     "texture": ["woven", "marbled"] * 2, "original_image_id": [1, 1, 2, 2]})
        >>> pairs = pair_images(stimuli)
        >>> pairs.partner.tolist(), pairs.factor.tolist()
        ([1, 0, 0, 1], ['shape', 'shape', 'texture', 'texture'])
    """
    require_columns(stimuli, ["shape", "texture", "original_image_id"], "the stimulus set")
    table = list(zip(stimuli["shape"], stimuli["texture"], stimuli["original_image_id"], strict=True))
    shapes, textures = (sorted({row[column] for row in table}) for column in (0, 1))
    if min(len(shapes), len(textures)) < 2:
        raise ValueError(f"pairs need several shapes and textures, there are {len(shapes)} and {len(textures)}")
    of_photograph: dict[tuple[object, str], list[int]] = {}
    of_kind: dict[tuple[str, str], list[int]] = {}
    for row, (shape, texture, photograph) in enumerate(table):
        of_photograph.setdefault((photograph, texture), []).append(row)
        of_kind.setdefault((shape, texture), []).append(row)
    draw = random.Random(seed)
    partner, factor = [], []
    for row, (shape, texture, photograph) in enumerate(table):
        shared = draw.choice(("shape", "texture"))
        if shared == "shape":
            other = draw.choice([one for one in textures if one != texture])
            found, what = of_photograph.get((photograph, other)), f"no such photograph in {other}"
        else:
            other = draw.choice([one for one in shapes if one != shape])
            found, what = of_kind.get((other, texture)), f"no {other} in {texture}"
        if not found:
            name = stimuli["stimulus_id"].iloc[row]
            raise ValueError(f"stimulus {name} has no partner of the same {shared}: {what}")
        partner.append(found[0] if shared == "shape" else draw.choice(found))
        factor.append(shared)
    return Pairs(np.array(partner), np.array(factor))
