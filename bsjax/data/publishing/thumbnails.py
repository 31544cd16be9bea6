"""A sheet of thumbnails of a stimulus set."""

import math
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont, ImageOps

from bsjax.data.files.images import load_image
from bsjax.data.files.media_types import media_type
from bsjax.data.types.stimuli import StimulusSet

_MARGIN = 10
_TEXT = 12  # height of letters, pixels
_LINE = _TEXT + 6
_PAPER, _INK, _EMPTY = (255, 255, 255), (40, 40, 40), (225, 225, 225)


def thumbnail_sheet(stimulus_set: StimulusSet, most: int = 48, columns: int = 8, size: int = 112) -> Image.Image:
    """A sheet of thumbnails of the stimuli, each labelled with its id.

    Of a set with more than ``most`` stimuli, evenly spaced rows are shown, from the first to the last. A stimulus that
    is not an image, or cannot be read, is shown as a grey field with a message.

    Args:
        stimulus_set: the set.
        most: maximal number of stimuli to show.
        columns: number of thumbnails per row.
        size: longer side of a thumbnail, in pixels.

    Raises:
        ValueError: the set is empty or has no column ``stimulus_id``, or a number is not positive.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Image.new("RGB", (64, 48), "green").save(f"{folder}/a.png")
        ...     stimuli = StimulusSet({"stimulus_id": ["a"]}, stimulus_paths={"a": f"{folder}/a.png"})
        ...     thumbnail_sheet(stimuli).size
        (132, 178)
    """
    if min(most, columns, size) < 1:
        raise ValueError(f"most, columns and size must be at least 1, got {most}, {columns} and {size}")
    if "stimulus_id" not in stimulus_set or not len(stimulus_set):
        raise ValueError("a sheet of thumbnails takes a stimulus set with rows and a column 'stimulus_id'")
    rows = np.unique(np.linspace(0, len(stimulus_set) - 1, min(most, len(stimulus_set))).round().astype(int))
    ids = list(stimulus_set["stimulus_id"].iloc[rows])
    columns = min(columns, len(ids))
    lines = math.ceil(len(ids) / columns)
    step = size + _MARGIN, size + _LINE + _MARGIN
    title = f"{stimulus_set.identifier or 'stimulus set'}: {len(ids)} of {len(stimulus_set):,} stimuli"
    sheet = Image.new("RGB", (_MARGIN + columns * step[0], 2 * _MARGIN + _LINE + lines * step[1]), _PAPER)
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(_TEXT)
    draw.text((_MARGIN, _MARGIN), _fitted(title, sheet.width - 2 * _MARGIN, font), fill=_INK, font=font)
    for number, stimulus_id in enumerate(ids):
        left = _MARGIN + number % columns * step[0]
        top = 2 * _MARGIN + _LINE + number // columns * step[1]
        sheet.paste(_picture(stimulus_set, stimulus_id, size, font), (left, top))
        draw.text((left + size // 2, top + size + 3), _fitted(str(stimulus_id), size, font), _INK, font, anchor="ma")
    return sheet


def _picture(stimulus_set: StimulusSet, stimulus_id: Any, size: int, font: Any) -> Image.Image:
    path = stimulus_set.stimulus_paths.get(stimulus_id)
    if path is None or not Path(path).is_file():
        return _field("no file", size, font)
    kind = media_type(path)
    if not kind.startswith("image/"):
        return _field(kind.split("/")[0].removeprefix("."), size, font)
    try:
        image = Image.fromarray(load_image(path))
    except ValueError:
        return _field("cannot be read", size, font)
    # nearest-neighbour enlarging adds no detail; Lanczos shrinking avoids aliasing
    way = Image.Resampling.NEAREST if size >= 2 * max(image.size) else Image.Resampling.LANCZOS
    return ImageOps.pad(image, (size, size), way, _PAPER)


def _field(text: str, size: int, font: Any) -> Image.Image:
    field = Image.new("RGB", (size, size), _EMPTY)
    ImageDraw.Draw(field).text((size // 2, size // 2), _fitted(text, size - 4, font), _INK, font, anchor="mm")
    return field


def _fitted(text: str, width: int, font: Any) -> str:
    """The text, with its middle elided if it is too long, because names differ at both ends."""
    text = text.encode("ascii", "replace").decode()  # Pillow's default font shows a box for other characters
    if font.getlength(text) <= width:
        return text
    for kept in range(len(text) - 1, 1, -1):
        short = f"{text[: (kept + 1) // 2]}…{text[len(text) - kept // 2 :]}"
        if font.getlength(short) <= width:
            return short
    return text[:1]
