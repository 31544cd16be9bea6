"""Extraction of zip files, once and atomically, so that a partial extraction is never used."""

import lzma
import os
import re
import shutil
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EINVAL
from pathlib import Path, PurePosixPath
from typing import IO

from bsjax.core.digests.files import digests_of
from bsjax.core.file_reading import refuse_pipe
from bsjax.core.files import exclusive, explained
from bsjax.core.left_behind import files_in, is_left_behind

IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png")

# Errors that zipfile raises for a file that is damaged, encrypted, or packed by an unknown method.
_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    OverflowError,
    NotImplementedError,
    RuntimeError,
    ValueError,
)
_OF_THE_ARCHIVE = (None, EINVAL)  # errno of OSErrors from the archive, not the disk: bzip2, or a negative position


def unzip(archive: str | Path, folder: str | Path | None = None) -> Path:
    """Extract a zip file into a folder, or complete an earlier extraction.

    Files left by operating systems (``__MACOSX``, ``Thumbs.db``, hidden files) are skipped. Backslashes, as written by
    Windows, separate folders. Existing files of the size stated in the archive are kept, so a folder extracted by
    Brain-Score is used as it is, and an incomplete one is completed. Files are checked against the archive's checksums,
    written next to the folder, and then moved into it. The folder therefore holds only complete files, and a new folder
    appears in one step.

    Args:
        archive: a zip file.
        folder: the destination; by default the archive's path without its extension.

    Returns:
        ``folder``.

    Raises:
        ValueError: the file is not a readable zip file, is empty, holds a name twice, or has a member whose path leads
            outside. Nothing is extracted in these cases.
        OSError: the folder cannot be written, or the disk is full.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with zipfile.ZipFile(f"{folder}/stimulus_A.zip", "w") as file:
        ...         file.writestr("dog.png", b"bytes of the image")
        ...     extracted = unzip(f"{folder}/stimulus_A.zip")
        ...     extracted.name, (extracted / "dog.png").read_bytes()
        ('stimulus_A', b'bytes of the image')
    """
    archive = Path(archive)
    folder = archive.with_suffix("") if folder is None else Path(folder)
    with opened(archive) as file:
        members = _members(archive, file)
        if not any(_absent(folder, members)):
            return folder
        try:
            with exclusive(folder):
                _extract(file, folder, dict(_absent(folder, members)))
        except OSError as error:
            if error.errno in _OF_THE_ARCHIVE:
                raise
            raise explained(error, f"extract {archive.name}", folder) from error
    return folder


def extract_images(archive: str | Path, into: str | Path) -> list[Path]:
    """Extract a zip file of images, unless it is already extracted.

    Args:
        archive: a zip file.
        into: the folder in which to create the destination, a folder named after the SHA-256 of the archive.

    Returns:
        Paths of the images, sorted by name.

    Raises:
        ValueError: the file has no image; further errors as ``unzip``.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with zipfile.ZipFile(f"{folder}/a.zip", "w") as file:
        ...         file.writestr("image0001.jpg", b"bytes of the image")
        ...     [path.name for path in extract_images(f"{folder}/a.zip", into=f"{folder}/cache")]
        ['image0001.jpg']
    """
    refuse_pipe(archive)
    folder = unzip(archive, Path(into) / digests_of(archive, ["sha256"])["sha256"][:16])
    images = [path for path in files_in(folder, "**/*") if is_image(path.name)]
    if not images:
        raise Refused(f"{archive} holds no image ({', '.join(IMAGE_SUFFIXES)})")
    return sorted(images, key=lambda path: path.name)


def is_image(name: str) -> bool:
    """Whether a path names an image file, other than a hidden copy."""
    return not is_left_behind(name) and name.lower().endswith(IMAGE_SUFFIXES)


class Refused(ValueError):
    """An archive that can be read but must not be used."""


@contextmanager
def opened(archive: Path, file: IO[bytes] | None = None, advice: str = "fetch it again") -> Iterator[zipfile.ZipFile]:
    """Context manager that opens a zip file and turns any damage into one clear error.

    Args:
        archive: the zip file.
        file: an open file to read it from, if any.
        advice: what to do if it cannot be read.

    Raises:
        ValueError: the file is damaged, encrypted, or not a zip file.
    """
    refuse_pipe(archive)
    try:
        with zipfile.ZipFile(file or archive) as found:
            yield found
    except Refused:
        raise
    except (*_UNREADABLE, OSError) as error:
        if isinstance(error, OSError) and error.errno not in _OF_THE_ARCHIVE:
            raise
        raise ValueError(f"cannot read {archive} as a zip file ({error}): {advice}") from error


def _members(archive: Path, file: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """The files in an archive by path, after checking that all stay inside the destination folder."""
    members: dict[str, zipfile.ZipInfo] = {}
    for member in file.infolist():
        if leads_outside(member.filename):
            raise Refused(f"{archive} holds a member that leads outside of it, {member.filename!r}: do not use it")
        path = member.filename.replace("\\", "/")  # zip files from Windows may use backslashes
        name = PurePosixPath(path).as_posix()  # "a//b" and "./a/b" are "a/b"
        if path.endswith("/") or is_left_behind(path):
            continue
        if name in members:
            raise Refused(f"{archive} holds two files named {name!r}")
        members[name] = member
    if not members:
        raise Refused(f"{archive} holds no files")
    under_files = [name for name in members if any(str(parent) in members for parent in PurePosixPath(name).parents)]
    if under_files:
        raise Refused(f"{archive} holds {under_files[0]!r} in a folder that is a file too: do not use it")
    return members


def leads_outside(name: str) -> bool:
    """Whether a member name is empty, or would be extracted outside of the destination folder.

    Example:
        >>> [leads_outside(name) for name in ("a/b.png", "a/../../b.png", "C:b.png", "/b.png", ".")]
        [False, True, True, True, True]
    """
    path = name.replace("\\", "/")
    # On Windows, "C:" is a drive, and any other colon denotes a hidden stream of a file.
    drive = re.match("[A-Za-z]:", path) or (os.name == "nt" and ":" in path)
    parts = path.split("/")
    return path.startswith("/") or ".." in parts or bool(drive) or not set(parts) - {"", "."}


def _absent(folder: Path, members: dict[str, zipfile.ZipInfo]) -> Iterator[tuple[str, zipfile.ZipInfo]]:
    """The members that are missing in the folder, or have another size there."""
    prefix = f"{folder}{os.sep}"
    for name, member in members.items():
        try:
            if os.stat(prefix + name).st_size == member.file_size:
                continue
        except (FileNotFoundError, NotADirectoryError):
            pass
        yield name, member


def _extract(file: zipfile.ZipFile, folder: Path, absent: dict[str, zipfile.ZipInfo]) -> None:
    if not absent:  # another process has extracted them
        return
    aside = folder.with_name(f".{folder.name}.unzipping")
    if aside.exists():  # left by a killed process
        shutil.rmtree(aside)
    try:
        for name, member in absent.items():
            (aside / name).parent.mkdir(parents=True, exist_ok=True)
            # reading to the end verifies the checksum
            with file.open(member) as source, open(aside / name, "xb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
        if not folder.exists():
            os.rename(aside, folder)
            return
        for name in absent:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(aside / name, folder / name)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
