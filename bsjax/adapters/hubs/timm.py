"""Adapter of timm's networks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from bsjax.activations.extraction import ExtractedActivations
from bsjax.activations.inputs.preprocessing import Preprocessing
from bsjax.activations.options import ExtractionOptions
from bsjax.adapters.hubs.pretrained import not_found, seeded, transform_images
from bsjax.adapters.torch.adapter import from_torch
from bsjax.core.extras import import_extra
from bsjax.core.registry import UnknownIdentifier, hint

if TYPE_CHECKING:
    import torch


def from_timm(
    name: str,
    identifier: str | None = None,
    weights: str | None = "default",
    seed: int = 0,
    device: str | torch.device | None = None,
    preprocess: Preprocessing | None = None,
    **options: Unpack[ExtractionOptions],
) -> ExtractedActivations:
    """Make an activations model from a timm network, with its evaluation preprocessing.

    Args:
        name: as in ``timm.create_model``, e.g. ``"resnet18"`` or, for other weights, ``"resnet18.tv_in1k"``.
        identifier: name of the model; by default ``name``.
        weights: "default" for those that belong to the name, None for random ones. Downloads are stored in the Hugging
            Face cache.
        seed: for random weights.
        device: where to run, see :func:`~bsjax.adapters.from_torch`.
        preprocess: list of uint8 ``(height, width, 3)`` images -> batch; by default that of timm.
        **options: of the extraction, see :class:`~bsjax.activations.ExtractedActivations`.

    Raises:
        ImportError: timm is not installed.
        KeyError: no such network.
        ValueError: ``weights`` are named.
        FileNotFoundError: the weights are not stored locally and cannot be downloaded.

    Example:
        ``from_timm("resnet18")``; on the command line ``bsjax score --model timm:resnet18@layer3``.
    """
    timm = import_extra("timm", "timm")
    data = import_extra("timm.data", "timm")
    if weights not in ("default", None):
        raise ValueError(
            "weights of timm are 'default' or None, as others go with the name of the network, "
            f"e.g. 'resnet18.tv_in1k'; got {weights!r}"
        )
    _check_name(timm, name)
    if weights is None:
        with seeded(seed):
            module = timm.create_model(name, pretrained=False)
    else:
        try:
            module = timm.create_model(name, pretrained=True)
        except OSError as error:
            raise not_found(f"weights of timm's {name}", _places(timm, name), error) from error
    if preprocess is None:
        transform = data.create_transform(**data.resolve_model_data_config(module), is_training=False)
        preprocess = partial(transform_images, transform=transform)
    return from_torch(module, identifier or name, preprocess, device, **options)


def _check_name(timm: Any, name: str) -> None:
    if ":" in name:  # not in timm's own list, e.g. hf-hub:owner/name
        return
    architecture, _, tag = name.partition(".")
    if not timm.is_model(architecture):
        near = hint(architecture, timm.list_models())
        raise UnknownIdentifier(f"timm has no network {architecture!r}{near}; see timm.list_models()")
    known = timm.list_pretrained(f"{architecture}.*")
    if tag and name not in known:
        raise UnknownIdentifier(f"timm has no weights {name!r}; there are {', '.join(known) or 'none'}")


def _places(timm: Any, name: str) -> str:
    """The locations where timm looks for weights, in words."""
    constants = import_extra("huggingface_hub.constants", "timm")
    found = None if ":" in name else timm.models.get_pretrained_cfg(name)
    hub = name.partition(":")[2] if found is None else found.hf_hub_id
    if hub:
        return f"in {constants.HF_HUB_CACHE} and at {constants.ENDPOINT}/{hub}"
    return f"at {found.url}" if found is not None and found.url else "in timm's list, which has none"
