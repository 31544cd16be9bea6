"""How many dimensions code for shape, and how many for texture: Islam et al. (2021).

Images of 20 kinds of objects (PASCAL VOC 2012), each in five textures. Pairs of images that share one of the two and
differ in the other say how much of a representation codes for what they share; nothing is compared with a brain.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bsjax.benchmarks.ceilings import constant_ceiling
from bsjax.benchmarks.kinds.recording import RecordingBenchmark, stimuli_digest
from bsjax.data import StimulusSet, load_stimulus_set
from bsjax.labelled import Score, load_metric

if TYPE_CHECKING:
    from bsjax.models import BrainModel

BIBTEX = """@inproceedings{islam2021shape,
  title = {Shape or Texture: Understanding Discriminative Features in {CNN}s},
  author = {Islam, Md Amirul and Kowal, Matthew and Esser, Patrick and Jia, Sen and Ommer, Bj{\\"o}rn and
    Derpanis, Konstantinos G. and Bruce, Neil},
  booktitle = {International Conference on Learning Representations},
  year = {2021},
  url = {https://openreview.net/forum?id=NcFEZOi-rLa}
}"""

_SEED = 1751


class Pairs(NamedTuple):
    """A partner for every image: its row, and what the two share, ``"shape"`` or ``"texture"``."""

    partner: np.ndarray
    factor: np.ndarray


class SharedDimensions(RecordingBenchmark):
    """The share of a region's dimensions that code for a factor of the images.

    Args:
        region: "V1", "V2", "V4" or "IT".
        factor: "shape" or "texture".

    Example:
        >>> SharedDimensions("V1", "shape").identifier
        'Islam2021-shape_v1_dimensionality'
    """

    def __init__(self, region: str, factor: str) -> None:
        super().__init__(
            f"Islam2021-{factor}_{region.lower()}_dimensionality",
            region=region,
            time_bins=[(70, 170)],
            visual_degrees=None,
            metric=load_metric("factor_dimensionality", factor),
            stimuli="the 21,845 images of Islam2021 (20 kinds of objects in 5 textures)",
            compared=(
                f"with no brain: the share of the model's dimensions that code for {factor}, by how responses to "
                "images of the same shape, or of the same texture, covary (factor_dimensionality)"
            ),
            ceiling="no normalisation; ceiling: 1, all dimensions",
            ceiling_func=constant_ceiling(1.0, "all dimensions"),
            version=1,
            parent="Islam2021",
            bibtex=BIBTEX,
        )

    def __call__(self, candidate: BrainModel) -> Score:
        """Score ``candidate``.

        Returns:
            The share; ``score.raw`` has those of shape, texture, and neither.

        Raises:
            ValueError: the model cannot record from the region.
        """
        start = datetime.now(UTC)
        stimuli = load_stimulus_set("Islam2021")
        recording = self.recording(self.on_screen(stimuli, candidate), candidate)
        pairs = pair_images(stimuli)
        coords = {"factor": ("presentation", pairs.factor), "sample": ("presentation", np.arange(len(pairs.factor)))}
        sides = (recording, recording.isel(presentation=pairs.partner))
        score = self.metric(*(side.assign_coords(coords) for side in sides))
        return self.labelled(
            score,
            candidate,
            start=start,
            region=self.region,
            stimuli=stimuli_digest(stimuli),
            n_stimuli=len(stimuli),
        )


def pair_images(stimuli: StimulusSet, seed: int = _SEED) -> Pairs:
    """A partner for each image, drawn as in Brain-Score, so that the pairs are the same.

    Row by row, a generator of Python's ``random`` chooses what the two are to share. For shape the partner is the same
    photograph in one of the other textures; for texture it is an image of one of the other shapes in that texture. What
    is chosen from is in order: names in that of the alphabet, images in that of their rows.

    Args:
        stimuli: with the columns ``shape``, ``texture`` and ``original_image_id``, the photograph.
        seed: of the generator.

    Raises:
        ValueError: a column is missing, there is a single shape or texture, or an image has no such partner.

    Example:
        >>> stimuli = StimulusSet({"stimulus_id": list("abcd"), "shape": ["cat", "cat", "dog", "dog"],
        ...     "texture": ["woven", "marbled"] * 2, "original_image_id": [1, 1, 2, 2]})
        >>> pairs = pair_images(stimuli)
        >>> pairs.partner.tolist(), pairs.factor.tolist()
        ([1, 0, 0, 1], ['shape', 'shape', 'texture', 'texture'])
    """
    missing = {"shape", "texture", "original_image_id"} - set(stimuli.columns)
    if missing:
        raise ValueError(
            f"the stimuli have no column {', '.join(sorted(missing))}; they have {', '.join(map(str, stimuli.columns))}"
        )
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


shape_v1 = partial(SharedDimensions, "V1", "shape")
shape_v2 = partial(SharedDimensions, "V2", "shape")
shape_v4 = partial(SharedDimensions, "V4", "shape")
shape_it = partial(SharedDimensions, "IT", "shape")
texture_v1 = partial(SharedDimensions, "V1", "texture")
texture_v2 = partial(SharedDimensions, "V2", "texture")
texture_v4 = partial(SharedDimensions, "V4", "texture")
texture_it = partial(SharedDimensions, "IT", "texture")
