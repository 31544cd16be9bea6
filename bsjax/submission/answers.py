"""Submissions of stored activations or choices without a model, and the manifest that describes them."""

from pathlib import Path

import msgspec

MANIFEST = "model.json"
"""Name of the manifest, which describes activations or choices that are submitted without a model."""


class Answers(msgspec.Struct, forbid_unknown_fields=True):
    """A model whose activations or choices were computed elsewhere: the manifest ``model.json`` next to their file.

    Attributes:
        identifier: name of the model.
        activations: name of the file or folder of activations, in a format that :func:`bsjax.adapters.from_stored`
            reads.
        choices: alternatively, name of a table of choices, or a folder of tables, in a format that
            :func:`~bsjax.data.files.choice_tables.read_choices` reads, or of a ``.nc`` behavioural assembly.
        visual_degrees: width of the visual field, in degrees.
        region_layer_map: region -> layer or layers.
        layers: candidate layers, from which the layer of each region is selected.
        behavioral_readout_layer: layer from which behavioural tasks are decoded.
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
        """The name of the file or folder of activations or choices."""
        return self.activations or self.choices or ""


def answers_of(folder: Path) -> Answers:
    """Read the manifest of a submission without a model.

    Raises:
        ValueError: the manifest is invalid, or names a file that is not in the folder.
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
