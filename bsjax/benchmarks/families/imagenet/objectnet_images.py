"""ObjectNet in a folder of the user."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from bsjax.benchmarks.families.imagenet.image_folders import existing, image_names, refuse_unknown, with_paths
from bsjax.benchmarks.kinds.engineering import SELECTION
from bsjax.core.file_reading import reading_as
from bsjax.core.messages import some
from bsjax.data import StimulusSet, load_image
from bsjax.models.tasks.imagenet import synsets

_FRAME = 2  # pixels


def objectnet_images(folder: str | Path) -> StimulusSet:
    """The images of ObjectNet whose object is exactly one of ImageNet's classes, as in Brain-Score's BarbuMayo2019.

    Args:
        folder: the unpacked ObjectNet, with ``images/<object>/*.png`` and ``mappings/``; or a folder with folders
            ``<object>`` and a file ``mapping.json``, ``{object: WordNet id, or a list of them}``.

    Returns:
        A set with ``stimulus_id``, ``synset`` and ``object``; ``attrs["selection"]`` says how many objects are used and
        left out.

    Raises:
        FileNotFoundError: the folder or the mapping is missing, or an object has no images.
        ValueError: a class is not in ImageNet, or the images still have their red frame.
    """
    root = existing(folder)
    classes = _object_classes(root)
    images = root / "images" if (root / "images").is_dir() else root
    single = {name: ids[0] for name, ids in sorted(classes.items()) if len(ids) == 1}
    refuse_unknown(single.values(), root)
    absent = [name for name in single if not (images / name).is_dir()]
    if absent or not single:
        raise FileNotFoundError(f"{images} has no folder {some(absent) or 'of an object with one class of ImageNet'}")
    rows = [
        (f"{name}/{image}", synset, name) for name, synset in single.items() for image in image_names(images / name)
    ]
    table = pd.DataFrame(rows, columns=["stimulus_id", "synset", "object"])
    if not len(table):
        raise FileNotFoundError(f"there is no image in the folders of objects in {images}")
    stimuli = with_paths(table, images, "ObjectNet")
    first = stimuli.get_stimulus(table["stimulus_id"][0])
    if _framed(load_image(first)):
        raise ValueError(
            f"{first} has the red frame of {_FRAME} pixels that ObjectNet asks to remove: cut it off from a copy of "
            f"the images, e.g. with ImageMagick, `mogrify -shave {_FRAME}x{_FRAME} images/*/*.png`"
        )
    left_out = len(classes) - len(single)
    stimuli.attrs[SELECTION] = (
        f"{len(single)} objects that are one class of ImageNet; {left_out} that are several are left out"
    )
    return stimuli


def _object_classes(root: Path) -> Mapping[str, Sequence[str]]:
    """Object folder -> the WordNet ids of its classes."""
    own = root / "mapping.json"
    if own.is_file():
        with reading_as("a mapping of objects to WordNet ids", own, ""):
            mapping = json.loads(own.read_text(encoding="utf-8"))
            return {name: [ids] if isinstance(ids, str) else list(map(str, ids)) for name, ids in mapping.items()}
    folder = root / "mappings"
    files = ("folder_to_objectnet_label", "objectnet_to_imagenet_1k", "pytorch_to_imagenet_2012_id")
    paths = [folder / f"{name}.json" for name in files] + [folder / "imagenet_to_label_2012_v2"]
    missing = [path.name for path in paths if not path.is_file()]
    if missing:
        raise FileNotFoundError(
            f"{root} has no mapping.json, {{object: WordNet id}}, and its mappings/ lacks ObjectNet's {some(missing)}"
        )
    with reading_as(f"ObjectNet's mappings {some([path.name for path in paths])}", folder):
        labels, of_label, units = (json.loads(path.read_text(encoding="utf-8")) for path in paths[:3])
        unit_of = {number: int(unit) for unit, number in units.items()}
        lines = paths[3].read_text(encoding="utf-8").splitlines()
        synset_of = {line.strip(): synsets()[unit_of[number]] for number, line in enumerate(lines) if number in unit_of}
        return {
            name: [synset_of[words] for words in of_label[label].split("; ")]
            for name, label in labels.items()
            if label in of_label
        }


def _framed(image: np.ndarray) -> bool:
    """Whether all pixels at the image border are red."""
    edges = (image[:_FRAME], image[-_FRAME:], image[:, :_FRAME], image[:, -_FRAME:])
    return all((edge[..., 0] > 200).all() and (edge[..., 1:] < 60).all() for edge in edges)
