"""Images that bsjax renders itself, stored as PNG files."""

import hashlib
import io
import json
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from bsjax.core.files import cache_dir, exclusive, explaining, write_atomically

Rendering = Callable[[], NDArray[np.uint8]]


def rendered_images(name: str, renderings: Sequence[Rendering], compress_level: int) -> list[Path]:
    """The files of a set of images in ``cache_dir()/stimuli``, rendered unless all of them hold what was written.

    Files are written atomically, and a second process waits while the first renders. If a file is incomplete or
    altered, the set is rendered again.

    Args:
        name: name of the set's folder, which must change whenever a pixel changes.
        renderings: functions that render the images.
        compress_level: 0 to 9, as for PNG files in Pillow.

    Raises:
        OSError: the files cannot be written.
    """
    folder = cache_dir() / "stimuli" / name
    files = [folder / f"{number:04d}.png" for number in range(len(renderings))]
    written = folder / "sha256.json"
    if not _all_there(files, written):
        with explaining("write stimuli", folder), exclusive(folder):
            if not _all_there(files, written):
                with ThreadPoolExecutor(os.cpu_count()) as pool:
                    digests = list(pool.map(partial(_write, compress_level), renderings, files))
                write_atomically(written, json.dumps(digests).encode())
    return files


def _all_there(files: Sequence[Path], written: Path) -> bool:
    """Whether all files hold what was written; a file may be empty after a power cut, or changed."""
    try:
        return json.loads(written.read_bytes()) == [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
    except (OSError, ValueError, RecursionError):
        return False


def _write(compress_level: int, render: Rendering, file: Path) -> str:
    """Write an image and return the digest of its file."""
    content = io.BytesIO()
    Image.fromarray(render()).save(content, "png", compress_level=compress_level)
    write_atomically(file, content.getvalue(), sync=False)
    return hashlib.sha256(content.getvalue()).hexdigest()
