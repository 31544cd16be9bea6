"""Stimulus sets from images in the user's own folders, including ImageNet's validation images.

A set is a table of paths; building it reads no image. Ids are the paths of the images within the folder.
"""

import os
import re
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from bsjax.benchmarks.kinds.engineering import SELECTION
from bsjax.core.file_reading import reading_as
from bsjax.core.labels import require_columns
from bsjax.core.left_behind import files_in, is_left_behind
from bsjax.core.messages import some
from bsjax.data import StimulusSet
from bsjax.data.files.tables import read_table
from bsjax.models.tasks.imagenet import synsets

_SUFFIXES = (".jpeg", ".jpg", ".png")
_WORDNET_ID = re.compile(r"n\d{8}")
_CLASSES, _PER_CLASS = 1000, 50


def validation_images(folder: str | Path) -> StimulusSet:
    """ImageNet's validation images of 2012, in one of three folder layouts.

    ============================  ================================================================================
    ``n01440764/any_name.JPEG``   a folder for each class, named by its WordNet id
    images and one CSV file       with columns ``filename`` and ``synset``
    images and one text file      lines ``filename synset``; or ``synset`` alone, for the images sorted by name
    ============================  ================================================================================

    Args:
        folder: the folder of the images.

    Returns:
        A set with ``stimulus_id`` and ``synset``. If it does not have 50 images of each of 1000 classes,
        ``attrs["selection"]`` and a warning describe the images found.

    Raises:
        FileNotFoundError: the folder is missing or has no image or none of these layouts, or an image of the table is
            missing.
        ValueError: there are several tables, the table cannot be read in this layout, or a class is not in ImageNet.
    """
    root = existing(folder)
    classes = sorted(entry.name for entry in os.scandir(root) if entry.is_dir() and _WORDNET_ID.fullmatch(entry.name))
    if classes:
        rows = [(f"{name}/{image}", name) for name in classes for image in image_names(root / name)]
    else:
        rows = _listed_images(root)
    table = pd.DataFrame(rows, columns=["stimulus_id", "synset"])
    refuse_unknown(table["synset"], root)
    if not len(table):
        raise FileNotFoundError(f"there is no image of a class in {root}")
    stimuli = with_paths(table, root, "ImageNet2012-validation")
    counts = table["synset"].value_counts()
    if len(counts) != _CLASSES or not (counts == _PER_CLASS).all():
        of = f"{_CLASSES * _PER_CLASS} of {_CLASSES} classes"
        stimuli.attrs[SELECTION] = f"{len(table)} images of {len(counts)} classes, of the {of}"
        warnings.warn(f"{root} has {stimuli.attrs[SELECTION]}: the score is of these only", stacklevel=2)
    return stimuli


def existing(folder: str | Path) -> Path:
    """The path of a folder, after checking that it exists.

    Raises:
        FileNotFoundError: the folder does not exist.
    """
    path = Path(folder).expanduser()
    if not path.is_dir():
        raise FileNotFoundError(f"no folder {path}")
    return path


def image_names(folder: Path) -> list[str]:
    """Sorted names of the images in a folder, without hidden files, pipes and folders."""
    names = (entry.name for entry in os.scandir(folder) if entry.is_file())
    return sorted(name for name in names if name.lower().endswith(_SUFFIXES) and not is_left_behind(name))


def with_paths(table: pd.DataFrame, root: Path, identifier: str) -> StimulusSet:
    """A table as a stimulus set, whose ids are paths within the folder ``root``."""
    paths = {name: root / name for name in table["stimulus_id"]}
    return StimulusSet(table, identifier=identifier, stimulus_paths=paths)


def refuse_unknown(classes: Iterable[str], root: Path) -> None:
    """Raise an error if a class is not in ImageNet.

    Raises:
        ValueError: a class is unknown; the message names it and the folder ``root``.
    """
    unknown = sorted(set(map(str, classes)) - set(synsets()))
    if unknown:
        raise ValueError(
            f"{root} has classes that are none of the {_CLASSES} of ImageNet: {some(unknown)}. They go by WordNet ids "
            "such as n01440764; numbers are not accepted, since there are several orders of the classes"
        )


def _listed_images(root: Path) -> list[tuple[str, str]]:
    """(file, synset) of each image in a folder without class folders, read from its single table."""
    tables = [path for path in files_in(root) if path.suffix in (".csv", ".txt")]
    if not tables:
        raise FileNotFoundError(
            f"{root} has no folders that are named by WordNet ids (n01440764 ...), and no .csv or .txt file that says "
            "which image shows which class"
        )
    if len(tables) > 1:
        raise ValueError(
            f"{root} has several tables, {some([path.name for path in tables])}: leave the one of the classes"
        )
    images = image_names(root)
    with reading_as("a table of classes", tables[0], ""):
        rows = _csv_rows(tables[0]) if tables[0].suffix == ".csv" else _text_rows(tables[0], images)
    have = set(images)
    lost = [name for name, _ in rows if name not in have]
    if lost:
        raise FileNotFoundError(f"{len(lost)} of {len(rows)} images of {tables[0]} are not in its folder: {some(lost)}")
    return rows


def _csv_rows(path: Path) -> list[tuple[str, str]]:
    table = read_table(path, text=("filename", "synset"))
    require_columns(table, ["filename", "synset"], str(path))
    return list(zip(table["filename"], table["synset"], strict=True))


def _text_rows(path: Path, images: Sequence[str]) -> list[tuple[str, str]]:
    lines = [line.split() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    if lines and all(len(line) == 2 for line in lines):
        return [(name, synset) for name, synset in lines]
    if lines and all(len(line) == 1 for line in lines):
        if len(lines) != len(images):
            raise ValueError(f"{path} has {len(lines)} lines, for the {len(images)} images beside it")
        return [(name, synset) for name, [synset] in zip(images, lines, strict=True)]
    raise ValueError(f"{path} must have lines `filename synset`, or `synset` alone for the images sorted by name")
