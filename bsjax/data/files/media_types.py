"""Media types of stimulus files, from their names, and checks that the contents match."""

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bsjax.core.extras import import_extra
from bsjax.core.file_reading import reading_as
from bsjax.data.files.images import load_image

# An own table, because the standard library's depends on the machine.
_TYPES = {
    ".bmp": "image/bmp",
    ".gif": "image/gif",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".mp4": "video/mp4",
    ".png": "image/png",
    ".tif": "image/tiff",
    ".tiff": "image/tiff",
    ".txt": "text/plain",
    ".wav": "audio/wav",
    ".webp": "image/webp",
}


def media_type(path: str | Path) -> str:
    """The media type that a file's name implies; for an unknown extension, the extension itself.

    Example:
        >>> media_type("dog.JPG"), media_type("dog.mp4"), media_type("dog.xyz")
        ('image/jpeg', 'video/mp4', '.xyz')
    """
    suffix = Path(path).suffix.lower()
    return _TYPES.get(suffix, suffix or "no extension")


def media_problem(path: str | Path) -> str:
    """Describe what is wrong with a media file; "" if nothing is found.

    Images and videos are decoded completely. Other files must not be empty.

    Raises:
        ImportError: the file is a video, and ``bsjax[video]`` is not installed.

    Example:
        >>> media_problem("nowhere.png")
        'there is no file nowhere.png'
    """
    path = Path(path)
    try:
        if not path.is_file():
            return f"there is no file {path}"
        if not path.stat().st_size:
            return f"{path} is empty"
        kind = media_type(path)
        if kind.startswith("image/"):
            load_image(path)
        if kind.startswith("video/"):
            _decode_video(path)
    except (OSError, ValueError) as error:  # includes a file without read permission
        return str(error)
    return ""


def media_problems(paths: Iterable[str | Path]) -> list[str]:
    """The problems found by ``media_problem``, in the order of the files, which are read in parallel.

    Example:
        >>> media_problems([])
        []
    """
    with ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1)) as pool:
        return [problem for problem in pool.map(media_problem, dict.fromkeys(map(Path, paths))) if problem]


def _decode_video(path: Path) -> None:
    av = import_extra("av", "video")
    with reading_as("a video", path, ""), av.open(str(path)) as film:
        if not film.streams.video:
            raise ValueError("there is no video in it")
        if not sum(1 for _ in film.decode(video=0)):
            raise ValueError("there is no picture in it")
