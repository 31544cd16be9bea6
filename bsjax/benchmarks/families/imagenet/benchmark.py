"""ImageNet, ImageNet-C and ObjectNet: a model's accuracy in naming photographs among 1000 classes.

The images come from the user: ``data=DIR``, or ``--data DIR`` on the command line. ImageNet requires it. For the other
two, Brain-Score's published stimuli are used by default, if access is granted. Each image fills the model's field of
view. The model answers with ImageNet's classes and must have been trained on them.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from bsjax.benchmarks.families.imagenet.image_folders import (
    corrupted_images,
    objectnet_images,
    sampled,
    validation_images,
)
from bsjax.benchmarks.kinds.engineering import SELECTION, EngineeringAccuracy
from bsjax.benchmarks.rows.row import BenchmarkRow
from bsjax.data import StimulusSet, load_stimulus_set


def imagenet(row: BenchmarkRow, data: str | Path | None = None) -> EngineeringAccuracy:
    """A model's accuracy on ImageNet's 50,000 validation images.

    Args:
        row: the row of ``"ImageNet-top1"``.
        data: the folder of the images, as for
            :func:`~bsjax.benchmarks.families.imagenet.image_folders.validation_images`. It may hold only some of them;
            ``score.provenance["selection"]`` then says how many.

    Source:
        Deng et al. (2009), CVPR; Russakovsky et al. (2015), IJCV.

    Example:
        >>> from bsjax import load_benchmark
        >>> load_benchmark("ImageNet-top1").fitting_stimuli, load_benchmark("ImageNet-top1").parent
        ('imagenet', 'ImageNet')
    """

    def load() -> StimulusSet:
        if data is None:
            raise FileNotFoundError(
                f"{row.identifier} needs ImageNet's validation images of 2012: give their folder as data=DIR, or "
                "--data DIR on the command line; they are at https://image-net.org, for those who agree to its terms"
            )
        return validation_images(data)

    return EngineeringAccuracy(row, load, "synset", "imagenet")


def imagenet_c(
    row: BenchmarkRow, data: str | Path | None = None, sampling_factor: int | None = None, seed: int = 0
) -> EngineeringAccuracy:
    """A model's accuracy on corrupted images, over all corruptions of a kind and their five levels.

    By default a random tenth of the images of each corruption and level is used, drawn with a seed;
    ``score.provenance["selection"]`` records this. ``score.raw`` is in the order of ``benchmark.stimuli``, whose
    columns ``noise_type`` and ``noise_level`` identify the corruption.

    Args:
        row: the row of ``"ImageNet-C-noise-top1"``, or with ``blur``, ``weather`` or ``digital``.
        data: the folder of the images, as for
            :func:`~bsjax.benchmarks.families.imagenet.corrupted_images.corrupted_images`; by default the published
            stimuli are used.
        sampling_factor: 10 takes a tenth, 1 all.
        seed: seed of the random selection.

    Source:
        Hendrycks & Dietterich (2019), ICLR.

    Example:
        >>> from bsjax import load_benchmark
        >>> load_benchmark("ImageNet-C-blur-top1").version
        2
    """
    factor = row.settings["sampling_factor"] if sampling_factor is None else sampling_factor
    cells = row.settings["corruptions"], row.settings["levels"]

    def load() -> StimulusSet:
        if data is not None:
            return corrupted_images(data, *cells, factor, seed)
        stimuli, selection = sampled(load_stimulus_set(row.data[0]), *cells, factor, seed)
        if selection:
            stimuli.attrs[SELECTION] = selection
        return stimuli

    share = "" if factor == 1 else f", a random 1 in {factor} of each corruption and level (seed {seed})"
    images = f"validation images of ImageNet with {', '.join(row.settings['corruptions'])}{share}"
    return EngineeringAccuracy(row, load, "synset", "imagenet", images=images)


def objectnet(row: BenchmarkRow, data: str | Path | None = None) -> EngineeringAccuracy:
    """A model's accuracy on the images of ObjectNet whose object is one of ImageNet's classes.

    Args:
        row: the row of ``"ObjectNet-top1"``.
        data: the folder of the images, as for
            :func:`~bsjax.benchmarks.families.imagenet.objectnet_images.objectnet_images`; by default the published
            stimuli are used, 17,261 images of 104 classes.

    Source:
        Barbu et al. (2019), NeurIPS.

    Example:
        >>> from bsjax import load_benchmark
        >>> load_benchmark("ObjectNet-top1").parent
        'engineering'
    """

    load = partial(load_stimulus_set, row.data[0]) if data is None else partial(objectnet_images, data)
    return EngineeringAccuracy(row, load, "synset", "imagenet")
