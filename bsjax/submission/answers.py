"""Answers that are handed in alone: activations or choices that were computed elsewhere, and what describes them."""

from __future__ import annotations

from pathlib import Path

import msgspec

MANIFEST = "model.json"
"""The file that describes activations or choices that are handed in without a model."""


class Answers(msgspec.Struct, forbid_unknown_fields=True):
    """A model whose answers were computed elsewhere: ``model.json`` beside the file that holds them.

    Attributes:
        identifier: name of the model.
        activations: name of the file, or folder, as :func:`bsjax.adapters.from_stored` reads it.
        choices: instead of these, name of a table of choices, or a folder of them, as
            :func:`~bsjax.data.files.choice_tables.read_choices` reads it, or of a ``.nc`` assembly of behaviour.
        visual_degrees: width of its visual field.
        region_layer_map: region -> layer, or layers.
        layers: candidate layers, where the layer of a region is to be chosen.
        behavioral_readout_layer: read by behavioural tasks.
    """

    identifier: str
    activations: str | None = None
    choices: str | None = None
    visual_degrees: float = 8.0
    region_layer_map: dict[str, str | list[str]] | None = None
    layers: list[str] | None = None
    behavioral_readout_layer: str | None = None

    @property
    def file(self) -> str:
        """The name of the file, or folder."""
        return self.activations or self.choices or ""


def answers_of(folder: Path) -> Answers:
    """What describes answers that were handed in alone.

    Raises:
        ValueError: it cannot be read, or names a file that is not beside it.
    """
    path = folder / MANIFEST
    try:
        described = msgspec.json.decode(path.read_bytes(), type=Answers)
    except msgspec.DecodeError as error:
        raise ValueError(f"{MANIFEST} is not as it should be: {error}") from None
    if (described.activations is None) == (described.choices is None):
        raise ValueError(f"{MANIFEST} names the file of either activations or choices")
    of_layers = described.region_layer_map or described.layers or described.behavioral_readout_layer
    if described.choices is not None and of_layers:
        raise ValueError(f"{MANIFEST} describes choices, which have no layers: it names some")
    there = (folder / described.file).resolve()
    if not there.is_relative_to(folder.resolve()) or not there.exists():
        raise ValueError(f"{MANIFEST} names {described.file!r}, which is not beside it")
    return described
