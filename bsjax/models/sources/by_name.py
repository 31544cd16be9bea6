"""Models of other libraries by name: ``torchvision:resnet50@layer4``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bsjax.activations.checks import unknown_layers
from bsjax.adapters import (
    ActivationsModel,
    from_huggingface,
    from_stored,
    from_timm,
    from_torchvision,
)
from bsjax.models.brain_model import RecordingTarget
from bsjax.models.commitment import ModelCommitment

_PRETRAINED = {"torchvision": from_torchvision, "timm": from_timm, "huggingface": from_huggingface}
_GRAMMAR = "source:name[?weights=...&seed=...&degrees=...]@layers"
_MOST_LISTED = 100


@dataclass(frozen=True)
class Name:
    """The parts of ``source:name?settings@layers``.

    Attributes:
        source: "torchvision", "timm", "huggingface" or "stored".
        name: of the model there, or the path of a file or folder.
        settings: those given after the question mark.
        layers: region -> layers side by side; one entry for the region ``""`` stands for all regions. Empty if none are
            named.

    Example:
        >>> Name.of("timm:resnet18?weights=none&degrees=6@V1=layer1,IT=layer3+layer4")
        Name(source='timm', name='resnet18', settings={'weights': 'none', 'degrees': '6'},
             layers={'V1': ['layer1'], 'IT': ['layer3', 'layer4']})
        >>> Name.of("stored:./activations.npz@conv").layers
        {'': ['conv']}
    """

    source: str
    name: str
    settings: Mapping[str, str]
    layers: Mapping[str, list[str]]

    @classmethod
    def of(cls, identifier: str) -> Name:
        """Take an identifier apart.

        Raises:
            ValueError: it does not follow the grammar.
        """
        network, _, layers = identifier.rpartition("@") if "@" in identifier else (identifier, "", "")
        source, _, rest = network.partition(":")
        name, _, given = rest.partition("?")
        parts = [part.partition("=") for part in given.split("&") if part]
        settings = {setting: value for setting, _, value in parts}
        if not name or not all(settings.values()):
            raise ValueError(f"expected {_GRAMMAR}, got {identifier!r}")
        return cls(source, name, settings, _layers(identifier, layers))


def load_by_name(identifier: str) -> ModelCommitment:
    """A brain model of a network that another library has, or of stored activations.

    Args:
        identifier: ``source:name?settings@layers``. The source is ``torchvision``, ``timm``, ``huggingface`` (a name on
            the hub, or a folder such as ``./folder``) or ``stored`` (a file or folder of activations). The layers are
            one, recorded in every region (``@layer4``), or one for each region (``@V1=layer1,IT=layer4``); ``+`` puts
            several side by side (``@layer3+layer4``). A layer of ``huggingface`` may be named as in the base model,
            without the name of that: ``layers.5`` for ``vit.layers.5``. Settings are optional: ``weights``, as the
            library calls them, or ``none`` for random ones; their ``seed``; and ``degrees``, the width of the visual
            field, 8 if not given.

    Returns:
        The model. It sees images as the library preprocesses them for the weights.

    Raises:
        KeyError: the library has no such network or weights.
        ImportError: the library is not installed; the message has the command that installs it.
        FileNotFoundError: the weights, or a file, are neither here nor can be fetched; the message says what was looked
            for and where.
        ValueError: no layer is named, or a layer, region or setting does not exist; the message lists those that do.

    Example:
        >>> load_by_name("stored:no-such-file.npz@conv")
        Traceback (most recent call last):
        ...
        FileNotFoundError: no stored activations at no-such-file.npz
    """
    name = Name.of(identifier)
    degrees = _degrees(identifier, name.settings)
    activations = _activations(identifier, name)
    known = activations.layers()
    if not name.layers:
        listed = ", ".join(f"{layer} {shape}" for layer, shape in list(known.items())[:_MOST_LISTED])
        more = f", ... ({len(known)} in all)" if len(known) > _MOST_LISTED else ""
        raise ValueError(
            f"{identifier!r} names no layer; add one, '{identifier}@LAYER', or one for each region, "
            f"'{identifier}@V1=LAYER,IT=LAYER'. Its layers, with the shape for one image: {listed}{more}"
        )
    in_full = _in_full(name, known)
    missing = [layer for layers in name.layers.values() for layer in layers if layer not in in_full]
    if missing:
        raise unknown_layers(activations.identifier, list(dict.fromkeys(missing)), known)
    in_all = dict.fromkeys((region.value for region in RecordingTarget), name.layers.get("", []))
    wanted = in_all if "" in name.layers else name.layers
    region_layer_map = {region: [in_full[layer] for layer in layers] for region, layers in wanted.items()}
    layers = list(dict.fromkeys(layer for layers in region_layer_map.values() for layer in layers))
    return ModelCommitment(
        identifier, activations, layers=layers, region_layer_map=region_layer_map, visual_degrees=degrees
    )


def _layers(identifier: str, given: str) -> dict[str, list[str]]:
    if not given:
        return {}
    regions = [part.rpartition("=")[::2] if "=" in part else ("", part) for part in given.split(",")]
    layers = {region: names.split("+") for region, names in regions}
    if len(layers) < len(regions) or ("" in layers and len(layers) > 1) or not all(map(all, layers.values())):
        raise ValueError(
            f"layers must be one, LAYER, or one for each region, V1=LAYER,IT=LAYER; got {given!r} in {identifier!r}"
        )
    return layers


def _degrees(identifier: str, settings: Mapping[str, str]) -> float:
    try:
        return float(settings.get("degrees", 8))
    except ValueError:
        raise ValueError(f"degrees must be a number, got {settings['degrees']!r} in {identifier!r}") from None


def _activations(identifier: str, name: Name) -> ActivationsModel:
    own = identifier.rpartition("@")[0] or identifier
    known = ["weights", "seed", "degrees"] if name.source in _PRETRAINED else ["degrees"]
    unknown = [setting for setting in name.settings if setting not in known]
    if unknown:
        raise ValueError(
            f"no setting {', '.join(map(repr, unknown))} of {name.source}, "
            f"which has {', '.join(known)}; got {identifier!r}"
        )
    if name.source == "stored":
        return from_stored(name.name, own)
    weights = name.settings.get("weights", "default")
    seed = name.settings.get("seed", "0")
    if not seed.isdigit():
        raise ValueError(f"seed must be a whole number, got {seed!r} in {identifier!r}")
    load = _PRETRAINED[name.source]
    return load(name.name, own, weights=None if weights.lower() == "none" else weights, seed=int(seed))


def _in_full(name: Name, known: Mapping[str, object]) -> dict[str, str]:
    """What a layer may be called -> what the network calls it."""
    short = {layer.partition(".")[2]: layer for layer in known} if name.source == "huggingface" else {}
    return {**short, **{layer: layer for layer in known}}
