"""Media types of stimulus files, from their names, and checks that the contents match."""

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO

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

    Images are decoded completely. For MP4 files only the box structure is checked, which finds truncated files and
    files without a video track but not damaged frames. Other files must not be empty.

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
        if kind == "video/mp4":
            wrong = _mp4_problem(path)
            return f"{path} {wrong}" if wrong else ""
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


def _mp4_problem(path: Path) -> str:
    size = path.stat().st_size
    with open(path, "rb") as file:
        boxes = _boxes(file, 0, size)
        kinds = [kind for kind, _, _ in boxes]
        if kinds[:1] != [b"ftyp"]:
            return "is not an MP4 file: it does not begin with a box 'ftyp'"
        if boxes[-1][2] > size:
            return f"is cut off: its last box ends at byte {boxes[-1][2]:,}, the file at {size:,}"
        if b"moov" not in kinds or not {b"mdat", b"moof"} & set(kinds):
            return "has no film in it: a box 'moov' or 'mdat' is missing; write it anew"
        _, start, end = boxes[kinds.index(b"moov")]
        if not any(_is_video(file, start, end) for kind, start, end in _boxes(file, start, end) if kind == b"trak"):
            return "has no video track"
    return ""


def _is_video(file: BinaryIO, start: int, end: int) -> bool:
    """Whether a box ``trak`` is a video track, according to its ``mdia/hdlr``."""
    media = [span for kind, *span in _boxes(file, start, end) if kind == b"mdia"]
    handlers = [content for span in media for kind, content, _ in _boxes(file, *span) if kind == b"hdlr"]
    for content in handlers:
        file.seek(content + 8)
        if file.read(4) == b"vide":
            return True
    return False


def _boxes(file: BinaryIO, start: int, end: int) -> list[tuple[bytes, int, int]]:
    """Kind, start of the content, and end of each box in a part of an MP4 file (ISO/IEC 14496-12).

    The last box may end after ``end`` if the file was truncated.
    """
    boxes = []
    while start < end:
        file.seek(start)
        head = file.read(16)
        length, kind, content = int.from_bytes(head[:4], "big"), head[4:8], start + 8
        if length == 1:
            length, content = int.from_bytes(head[8:16], "big"), start + 16
        elif length == 0:  # extends to the end
            length = end - start
        stop = start + max(length, content - start)
        boxes.append((kind, content, stop))
        start = stop
    return boxes
