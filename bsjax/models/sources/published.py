"""Models published on Brain-Score that use the network and weights of a hub."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from bsjax.core.registry import UnknownIdentifier, hint

if TYPE_CHECKING:
    from bsjax.activations import ActivationsModel
    from bsjax.models.commitment import ModelCommitment


@dataclass(frozen=True)
class PublishedModel:
    """Facts about a published model.

    Attributes:
        identifier: the name under which it is published.
        hub: where its network comes from: "torchvision", "timm" or "huggingface".
        network: its name there.
        weights: their name in the hub; "default" if they belong to the name of the network.
        layers: candidates for the layer of a region that is not in the map.
        behavioral_readout_layer: the layer that behavioural tasks read.
        region_layer_map: region -> its layer; None if none is published.
        preprocessing: arguments of :func:`bsjax.adapters.preprocess_images`, with ImageNet's mean and standard
            deviation by default; None for the hub's own preprocessing.
        resized: side in pixels of the square to which images are resized before the hub's own preprocessing; None if
            they are not resized.
        visual_degrees: width of the visual field in degrees of visual angle.

    Example:
        >>> model = published_models()["alexnet"]
        >>> model.hub, model.network, model.weights, model.visual_degrees
        ('torchvision', 'alexnet', 'IMAGENET1K_V1', 8)
    """

    identifier: str
    hub: str
    network: str
    layers: tuple[str, ...]
    behavioral_readout_layer: str
    region_layer_map: Mapping[str, str] | None = None
    weights: str = "default"
    preprocessing: Mapping[str, Any] | None = None
    resized: int | None = None
    visual_degrees: float = 8


@cache
def published_models() -> Mapping[str, PublishedModel]:
    """All rows of the table, by identifier, sorted.

    Example:
        >>> published_models()["resnet_50_v2"].region_layer_map["V4"]
        'layer2.3'
    """
    table = json.loads((files("bsjax.models.sources") / "published.json").read_text(encoding="utf-8"))
    return MappingProxyType({identifier: _model(identifier, row) for identifier, row in table.items()})


def load_published(identifier: str, weights: str | None = "default", seed: int = 0) -> ModelCommitment:
    """Build a published model: the hub's network with the published layers, preprocessing and visual degrees.

    For a region without a published layer, one of the candidates is chosen, see :class:`~bsjax.ModelCommitment`.

    Args:
        identifier: of a row of :func:`published_models`.
        weights: "default" for those of the publication, None for random ones. The hub's library downloads and caches
            them.
        seed: for random weights.

    Raises:
        KeyError: no such model; the message names the nearest ones.
        ImportError: the hub's library is not installed; the message has the command that installs it.
        FileNotFoundError: the weights are not stored locally and cannot be downloaded; the message names them.
        ValueError: other weights are requested.

    Example:
        >>> load_published("alexnat")
        Traceback (most recent call last):
        ...
        bsjax.core.registry.UnknownIdentifier: no published model 'alexnat'; nearest: alexnet, alexnet_fov4, ...
    """
    if identifier not in published_models():
        near = hint(identifier, published_models())
        raise UnknownIdentifier(f"no published model {identifier!r}{near}; see `bsjax list models --published`")
    if weights not in ("default", None):
        raise ValueError(f"published models have weights 'default' or None, got {weights!r} for {identifier!r}")
    from bsjax.models.commitment import ModelCommitment

    model = published_models()[identifier]
    return ModelCommitment(
        identifier,
        _activations(model, None if weights is None else model.weights, seed),
        layers=model.layers,
        behavioral_readout_layer=model.behavioral_readout_layer,
        region_layer_map=model.region_layer_map,
        visual_degrees=model.visual_degrees,
    )


def _activations(model: PublishedModel, weights: str | None, seed: int) -> ActivationsModel:
    from bsjax.adapters import IMAGENET_MEAN, IMAGENET_STD, from_huggingface, from_timm, from_torchvision
    from bsjax.adapters import preprocess_images as preprocess

    own = None
    if model.preprocessing is not None:
        facts = {"mean": IMAGENET_MEAN, "std": IMAGENET_STD, **model.preprocessing}
        own = partial(preprocess, layout="NCHW", **facts)
    if model.hub == "huggingface":
        return from_huggingface(
            model.network, model.identifier, weights=weights, seed=seed, resize=model.resized, preprocess=own
        )
    load = {"torchvision": from_torchvision, "timm": from_timm}[model.hub]
    return load(model.network, model.identifier, weights, seed, preprocess=own)


def _model(identifier: str, row: dict[str, Any]) -> PublishedModel:
    facts = {"behavioral_readout_layer": row["layers"][-1], **row, "layers": tuple(row["layers"])}
    return PublishedModel(identifier, **facts)
