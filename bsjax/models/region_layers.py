"""Maps from regions to layers, their files, and the choice of layers for missing regions."""

import json
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path

from bsjax.core.file_reading import reading_as
from bsjax.core.registry import Registry
from bsjax.models.brain_model import RecordingTarget, region_name

Layers = str | Sequence[str]

layer_choice_registry = Registry("layer choice")
"""Regions whose layer can be chosen automatically, and the function for it: ``(model, region) -> layers``."""
for _region in RecordingTarget:
    layer_choice_registry.register(_region.value, "bsjax.scoring.layers.commitment:committed_layers")


def layers_by_region(
    region_layer_map: Mapping[str, Layers] | str | PathLike[str] | None,
) -> dict[str, list[str]]:
    """The layers of each region, from a mapping or from a JSON file with one.

    Keys of a file that begin with ``_`` are notes.

    Raises:
        ValueError: a region or layer is not a valid name, or the file has no such mapping.
        FileNotFoundError: the file does not exist.

    Example:
        >>> layers_by_region({"V1": "conv1", "IT": ["block3", "block4"]})["IT"]
        ['block3', 'block4']
    """
    if isinstance(region_layer_map, (str, PathLike)):
        with reading_as("a region_layer_map", Path(region_layer_map), ""):
            return layers_by_region(_read(Path(region_layer_map)))
    return {
        region_name(region): layer_names(f"region_layer_map[{str(region)!r}]", names)
        for region, names in (region_layer_map or {}).items()
    }


def layer_names(what: str, names: Layers) -> list[str]:
    """One name or several, as a list.

    Raises:
        ValueError: they are not names, or not all different; the message begins with ``what``.

    Example:
        >>> layer_names("behavioral_readout_layer", "logits")
        ['logits']
    """
    listed = list(names) if isinstance(names, Iterable) and not isinstance(names, str) else [names]
    if not listed or not all(isinstance(name, str) for name in listed) or len(set(listed)) != len(listed):
        raise ValueError(f"{what} must be a layer's name, or a list of different ones, got {names!r}")
    return listed


def _read(path: Path) -> dict[str, Layers]:
    if not path.is_file():
        raise FileNotFoundError(f"region_layer_map: there is no file {path}")
    read = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(read, dict):
        raise ValueError(f"region_layer_map: {path} must hold a mapping of regions to layers, got {read!r}")
    return {region: names for region, names in read.items() if not region.startswith("_")}
