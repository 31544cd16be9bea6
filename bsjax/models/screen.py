"""Placement of images at their size in degrees of visual angle."""

import hashlib
import io
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from bsjax.core.file_reading import reading_as
from bsjax.core.files import cache_dir, explaining, write_atomically
from bsjax.core.sealed_files import is_as_sealed, sealed
from bsjax.data import StimulusSet
from bsjax.data.files.images import image_size, load_image

_GRAY = 128


def place_on_screen(
    stimulus_set: StimulusSet,
    target_visual_degrees: float,
    source_visual_degrees: float | None = None,
) -> StimulusSet:
    """Show stimuli at their true size in a visual field of ``target_visual_degrees``.

    Each image is centred on a gray (128, 128, 128) canvas, or cropped about its centre, so that it covers the fraction
    of the picture given by its size in degrees. Pixels are never resampled: the canvas is the image's own size times
    target / source degrees, rounded half to even, and the offset of the image is rounded likewise.

    The new files are stored in the cache folder, under names derived from the content of the source and the size of
    the canvas, so files are unique and written once. They are lossless PNG, except for JPEG sources, which are encoded
    as JPEG again at Pillow's default quality of 75. This adds slight noise, but reproduces the pixels that Brain-Score
    shows its models exactly.

    Args:
        stimulus_set: the stimuli; their sizes are in the column ``degrees`` unless ``source_visual_degrees`` is given.
        target_visual_degrees: width of the model's visual field in degrees of visual angle.
        source_visual_degrees: width of every image, in degrees of visual angle.

    Returns:
        A set with the same rows, ``degrees`` set to the target, and the new paths. An image that already has the
        target size keeps its path. If all do, the same set is returned.

    Raises:
        ValueError: degrees are given both as an argument and as a column, or not at all, or are not positive; an image
            cannot be read, or would be cropped to nothing; a stimulus has several sizes.
        FileNotFoundError: a stimulus has no file.

    Example:
        >>> import tempfile
        >>> from PIL import Image
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Image.new("RGB", (10, 10), "red").save(f"{folder}/red.png")
        ...     stimuli = StimulusSet({"stimulus_id": ["red"]}, stimulus_paths={"red": f"{folder}/red.png"})
        ...     shown = place_on_screen(stimuli, target_visual_degrees=8, source_visual_degrees=4)
        >>> image_size(shown.get_stimulus("red"))
        (20, 20)
    """
    source = _source_degrees(stimulus_set, source_visual_degrees)
    target = float(target_visual_degrees)
    bad = [degrees for degrees in (target, *source) if not 0 < degrees < np.inf]
    if bad:
        raise ValueError(f"degrees of visual angle must be positive, got {bad[0]:g}")
    if (source == target).all():
        return stimulus_set

    placed: dict[tuple[Path, float], Path] = {}
    paths: dict[Any, Path] = {}
    for stimulus_id, degrees in zip(stimulus_set["stimulus_id"].tolist(), source.tolist(), strict=True):
        path = Path(stimulus_set.get_stimulus(stimulus_id))
        if (path, degrees) not in placed:
            placed[path, degrees] = path if degrees == target else _placed_file(path, target / degrees)
        if paths.setdefault(stimulus_id, placed[path, degrees]) != placed[path, degrees]:
            raise ValueError(f"stimulus {stimulus_id!r} has rows of different degrees; give each size an id of its own")

    shown = stimulus_set.copy()
    shown["degrees"] = target
    shown.stimulus_paths = paths
    if stimulus_set.identifier is not None:
        was = None if source_visual_degrees is None else float(source_visual_degrees)
        shown.identifier = f"{stimulus_set.identifier}--target{target!r}--source{was!r}"
    return shown


def _source_degrees(stimulus_set: StimulusSet, source_visual_degrees: float | None) -> np.ndarray:
    has_column = "degrees" in stimulus_set.columns
    if has_column and source_visual_degrees is not None:
        raise ValueError(
            f"stimulus set {stimulus_set.identifier!r} has a column 'degrees' with the size of its images: leave out "
            "visual_degrees= of the benchmark (source_visual_degrees= of place_on_screen)"
        )
    if has_column:
        return stimulus_set["degrees"].to_numpy(dtype=float)
    if source_visual_degrees is None:
        raise ValueError(
            f"the size of the images of {stimulus_set.identifier!r} is unknown: give source_visual_degrees, "
            "or a column 'degrees'"
        )
    return np.full(len(stimulus_set), float(source_visual_degrees))


def _placed_file(path: Path, ratio: float) -> Path:
    """The file of the image on its canvas, written if it is missing or damaged."""
    width, height = (int(side) for side in np.round(ratio * np.array(image_size(path))))
    if min(width, height) < 1:
        raise ValueError(f"{path} would be cropped to {width} x {height} pixels, {ratio:g} of its size")
    content = path.read_bytes()
    with reading_as("an image", path, ""), Image.open(io.BytesIO(content)) as source:
        kind, suffix = ("JPEG", "jpg") if source.format in ("JPEG", "MPO") else ("PNG", "png")
    file = cache_dir() / "screen" / f"{hashlib.sha256(content).hexdigest()[:32]}-{width}x{height}.{suffix}"
    if not file.exists() or not is_as_sealed(file):  # missing, truncated by a power cut, or modified
        encoded = io.BytesIO()
        Image.fromarray(_on_canvas(load_image(path), width, height)).save(encoded, kind, compress_level=1)
        with explaining("write images as they are shown", file.parent):
            write_atomically(file, sealed(encoded.getvalue()), sync=False)
    return file


def _on_canvas(image: np.ndarray, width: int, height: int) -> np.ndarray:
    """The image, ``(height, width, 3)``, centred on gray or cropped about its centre."""
    canvas = np.full((height, width, 3), _GRAY, np.uint8)
    on_canvas, on_image = zip(*map(_overlap, canvas.shape[:2], image.shape[:2]), strict=True)
    canvas[on_canvas] = image[on_image]
    return canvas


def _overlap(canvas: int, image: int) -> tuple[slice, slice]:
    """Where the image lies on the canvas along one axis, and which part of the image is visible."""
    offset = round((canvas - image) / 2)  # half to even
    length = min(canvas, image)
    return slice(max(offset, 0), max(offset, 0) + length), slice(max(-offset, 0), max(-offset, 0) + length)
