"""Adapter of torchvision's classification networks."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Unpack
from urllib.error import URLError

from bsjax.activations.extraction import ExtractedActivations
from bsjax.activations.inputs.preprocessing import Preprocessing
from bsjax.activations.options import ExtractionOptions
from bsjax.adapters.hubs.pretrained import not_found, seeded, transform_images
from bsjax.adapters.torch.adapter import from_torch
from bsjax.core.extras import import_extra
from bsjax.core.registry import UnknownIdentifier, hint

if TYPE_CHECKING:
    import torch


def from_torchvision(
    name: str,
    identifier: str | None = None,
    weights: str | None = "default",
    seed: int = 0,
    device: str | torch.device | None = None,
    preprocess: Preprocessing | None = None,
    **options: Unpack[ExtractionOptions],
) -> ExtractedActivations:
    """Make an activations model from a torchvision network, with the preprocessing of its weights.

    Args:
        name: as in ``torchvision.models.get_model``, e.g. ``"resnet50"``.
        identifier: name of the model; by default ``name``.
        weights: their name in torchvision, e.g. ``"IMAGENET1K_V1"``, by default its best; None for random ones.
            Downloads are stored in ``torch.hub.get_dir()``. Random weights use the preprocessing of the best ones.
        seed: for random weights.
        device: where to run, see :func:`~bsjax.adapters.from_torch`.
        preprocess: list of uint8 ``(height, width, 3)`` images -> batch; by default that of the weights.
        **options: of the extraction, see :class:`~bsjax.activations.ExtractedActivations`.

    Raises:
        ImportError: torchvision is not installed.
        KeyError: no such network, or it has no such weights.
        FileNotFoundError: the weights are not stored locally and cannot be downloaded.

    Example:
        ``from_torchvision("resnet50")``; on the command line ``bsjax score --model torchvision:resnet50@layer4``.
    """
    models = import_extra("torchvision.models", "torchvision")
    torch = import_extra("torch", "torchvision")
    known = models.list_models(module=models)
    if name not in known:
        raise UnknownIdentifier(
            f"torchvision has no classification network {name!r}{hint(name, known)}; see "
            "torchvision.models.list_models(module=torchvision.models)"
        )
    available = models.get_model_weights(name)
    chosen = available.DEFAULT
    if weights is not None and weights.upper() != "DEFAULT":
        if weights.upper() not in available.__members__:
            listed = ", ".join(available.__members__)
            raise UnknownIdentifier(f"torchvision has no weights {weights!r} of {name}; there are {listed} and none")
        chosen = available[weights.upper()]
    if weights is None:
        with seeded(seed):
            module = models.get_model(name, weights=None)
    else:
        try:
            module = models.get_model(name, weights=chosen)
        except URLError as error:
            file = Path(torch.hub.get_dir()) / "checkpoints" / chosen.url.rpartition("/")[2]
            raise not_found(f"weights of torchvision's {name}", f"in {file} and at {chosen.url}", error) from error
    preprocess = preprocess or partial(transform_images, transform=chosen.transforms())
    return from_torch(module, identifier or name, preprocess, device, **options)
