"""ImageNet, ImageNet-C and ObjectNet: the share of photographs that a model names right among 1000 classes.

The images are the user's own: ``data=DIR``, or ``--data DIR`` on the command line. ImageNet cannot be had otherwise;
for the other two, Brain-Score's published stimuli are taken without it, where they may be read. Each image fills the
model's field, and the model answers with ImageNet's classes, on which it must have been trained.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bsjax.benchmarks.families.imagenet.corrupted_images import corrupted_images, sampled
from bsjax.benchmarks.families.imagenet.image_folders import validation_images
from bsjax.benchmarks.families.imagenet.objectnet_images import objectnet_images
from bsjax.benchmarks.kinds.engineering import SELECTION, EngineeringAccuracy
from bsjax.benchmarks.rows.row import BenchmarkRow
from bsjax.data import StimulusSet, load_stimulus_set


def imagenet(row: BenchmarkRow, data: str | Path | None = None) -> EngineeringAccuracy:
    """The share of ImageNet's 50,000 validation images that a model names right.

    Args:
        row: of ``"ImageNet-top1"``.
        data: the folder of the images, as for
            :func:`~bsjax.benchmarks.families.imagenet.image_folders.validation_images`. It may hold
            some of them only: ``score.provenance["selection"]`` then says how many.

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

    return _accuracy(row, load)


def imagenet_c(
    row: BenchmarkRow, data: str | Path | None = None, sampling_factor: int | None = None, seed: int = 0
) -> EngineeringAccuracy:
    """The share of corrupted images that a model names right, over all corruptions of a kind and their five levels.

    A tenth of the images is drawn, at random and with a seed, from each corruption and level;
    ``score.provenance["selection"]`` says so. ``score.raw`` is in the order of ``benchmark.stimuli``, whose columns
    ``noise_type`` and ``noise_level`` tell the corruptions apart.

    Args:
        row: of ``"ImageNet-C-noise-top1"``, or with ``blur``, ``weather`` or ``digital``.
        data: the folder of the images, as for
            :func:`~bsjax.benchmarks.families.imagenet.corrupted_images.corrupted_images`; without it, the published
            stimuli.
        sampling_factor: 10 takes a tenth, 1 all.
        seed: of the draw.

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
    return _accuracy(row, load, images)


def objectnet(row: BenchmarkRow, data: str | Path | None = None) -> EngineeringAccuracy:
    """The share of ObjectNet's images that a model names right, of the objects that are one of ImageNet's classes.

    Args:
        row: of ``"ObjectNet-top1"``.
        data: the folder of the images, as for
            :func:`~bsjax.benchmarks.families.imagenet.objectnet_images.objectnet_images`; without it, the published
            stimuli, 17,261 images of 104 classes.

    Source:
        Barbu et al. (2019), NeurIPS.

    Example:
        >>> from bsjax import load_benchmark
        >>> load_benchmark("ObjectNet-top1").parent
        'engineering'
    """

    def load() -> StimulusSet:
        return load_stimulus_set(row.data[0]) if data is None else objectnet_images(data)

    return _accuracy(row, load)


def _accuracy(row: BenchmarkRow, load: Callable[[], StimulusSet], images: str = "") -> EngineeringAccuracy:
    return EngineeringAccuracy(
        row.identifier, load, "synset", "imagenet", images=images or row.about, **row.arguments()
    )
