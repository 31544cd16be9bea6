"""Models from named sources: ``source:name?settings@layers``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bsjax.activations import ActivationsModel
from bsjax.activations.checks import unknown_layers
from bsjax.models.brain_model import RecordingTarget
from bsjax.models.commitment import ModelCommitment

_GRAMMAR = "source:name[?weights=...&seed=...&degrees=...]@layers"
_MOST_LISTED = 100


@dataclass(frozen=True)
class Name:
    """The parts of ``source:name?settings@layers``.

    Attributes:
        source: where the model comes from, e.g. "timm".
        name: of the model there, or the path of a file or folder.
        settings: those given after the question mark.
        layers: region -> layers to concatenate; an entry for the region ``""`` stands for all regions. Empty if none
            are named.

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
        """Parse an identifier.

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


def load_by_name(
    identifier: str, load: Callable[..., ActivationsModel], *, layers_of_base: bool = False
) -> ModelCommitment:
    """Build a brain model from a source's network.

    A source is registered as a function of the whole identifier, which passes on its own loader::

        model_registry.register_source("lab", lambda identifier: load_by_name(identifier, network_of_the_lab))

    Args:
        identifier: ``source:name?settings@layers``. Give one layer for all regions (``@layer4``), or one for each
            region (``@V1=layer1,IT=layer4``); ``+`` concatenates several (``@layer3+layer4``). Settings are optional:
            those of the source, and ``degrees``, the width of the visual field, by default 8.
        load: ``(name, identifier, *, setting="its default") -> activations model``: loads the source's network
            ``name`` and labels it ``identifier``. Its keyword-only arguments are the settings of the source, passed as
            text.
        layers_of_base: whether a layer may also be named without the part before its first dot.

    Raises:
        ValueError: no layer is named, or a layer, region or setting does not exist; the message lists the existing
            ones.

    Example:
        >>> from bsjax.adapters import from_jax
        >>> def statistics(name, identifier, *, axis="1"):
        ...     return from_jax(lambda images: getattr(images, name)(int(axis)), identifier)
        >>> model = load_by_name("lab:mean?axis=2@V1=output", statistics)
        >>> model.identifier, model.region_layer_map
        ('lab:mean?axis=2@V1=output', {'V1': ['output']})
    """
    name = Name.of(identifier)
    degrees = _degrees(identifier, name.settings)
    settings = _settings(identifier, name, load)
    activations = load(name.name, identifier.rpartition("@")[0] or identifier, **settings)
    known = activations.layers()
    if not name.layers:
        listed = ", ".join(f"{layer} {shape}" for layer, shape in list(known.items())[:_MOST_LISTED])
        more = f", ... ({len(known)} in all)" if len(known) > _MOST_LISTED else ""
        alone = identifier.removesuffix("@")
        raise ValueError(
            f"{identifier!r} names no layer; add one, '{alone}@LAYER', or one for each region, "
            f"'{alone}@V1=LAYER,IT=LAYER'. Its layers, with the shape for one image: {listed}{more}"
        )
    in_full = {layer: layer for layer in known}
    if layers_of_base:
        in_full = {layer.partition(".")[2]: layer for layer in known} | in_full
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


def _settings(identifier: str, name: Name, load: Callable[..., ActivationsModel]) -> dict[str, str]:
    """The settings that belong to the source."""
    parameters = inspect.signature(load).parameters.values()
    known = [parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]
    unknown = [setting for setting in name.settings if setting not in (*known, "degrees")]
    if unknown:
        raise ValueError(
            f"no setting {', '.join(map(repr, unknown))} of {name.source}, "
            f"which has {', '.join((*known, 'degrees'))}; got {identifier!r}"
        )
    return {setting: value for setting, value in name.settings.items() if setting in known}
