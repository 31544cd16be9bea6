"""The pixels of the image as a model, as a baseline for the images alone."""

from bsjax.adapters import from_jax, unit_preprocessing
from bsjax.models.brain_model import RecordingTarget
from bsjax.models.builtin.any_region import AnyRegion

_SIZE = 32


def pixels() -> AnyRegion:
    """The 3072 RGB values of the image at 32 x 32 pixels, in [0, 1], as the units of every region.

    The layer ``pixels`` has shape ``(32, 32, 3)``; the visual field is 8 degrees wide.

    Example:
        >>> pixels().activations_model.layers()
        {'pixels': (32, 32, 3)}
    """
    activations = from_jax(lambda images: {"pixels": images}, "pixels", preprocess=unit_preprocessing(_SIZE))
    return AnyRegion(
        "pixels", activations, layers=["pixels"], region_layer_map=dict.fromkeys(RecordingTarget, "pixels")
    )
