"""Media types of stimulus files, told from their first bytes and compared with their names."""

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO

from bsjax.data.files.images import load_image

# A table of its own: that of the standard library depends on the machine.
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
    """The media type that a file's name states; for one that is not in the table, its extension.

    Example:
        >>> media_type("dog.JPG"), media_type("dog.mp4"), media_type("dog.xyz")
        ('image/jpeg', 'video/mp4', '.xyz')
    """
    suffix = Path(path).suffix.lower()
    return _TYPES.get(suffix, suffix or "no extension")


def media_problem(path: str | Path) -> str:
    """What is wrong with a file; "" if nothing is found.

    Images are decoded whole. Of an MP4 file the structure is walked: a file that was cut off, or has no video in it,
    is found, a damaged picture is not. Other files only must not be empty.

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
    except (OSError, ValueError) as error:  # also a file that may not be read
        return str(error)
    return ""


def media_problems(paths: Iterable[str | Path]) -> list[str]:
    """``media_problem`` of each file that has one, in the order given; several files are read at once.

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
    """Whether a box ``trak`` holds pictures: ``trak/mdia/hdlr`` says what it is a track of."""
    media = [span for kind, *span in _boxes(file, start, end) if kind == b"mdia"]
    handlers = [content for span in media for kind, content, _ in _boxes(file, *span) if kind == b"hdlr"]
    for content in handlers:
        file.seek(content + 8)
        if file.read(4) == b"vide":
            return True
    return False


def _boxes(file: BinaryIO, start: int, end: int) -> list[tuple[bytes, int, int]]:
    """Kind, first byte of the content, and end of each box in a part of an MP4 file (ISO/IEC 14496-12).

    The last one may end after ``end``: there the file was cut off.
    """
    boxes = []
    while start < end:
        file.seek(start)
        head = file.read(16)
        length, kind, content = int.from_bytes(head[:4], "big"), head[4:8], start + 8
        if length == 1:
            length, content = int.from_bytes(head[8:16], "big"), start + 16
        elif length == 0:  # up to the end
            length = end - start
        stop = start + max(length, content - start)
        boxes.append((kind, content, stop))
        start = stop
    return boxes
