"""Taking the images out of a zip file, once, into the cache."""

import hashlib
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from bsjax.data.files import write_atomically

IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png")


def extract_images(archive: str | Path, into: str | Path) -> list[Path]:
    """The images of a zip file as files, extracted where they are not there already.

    The files lie in a folder named after the SHA-256 of the archive. Each is checked against the size and
    checksum that the archive states for it, so that a truncated or altered one is written anew. Other members
    are left alone.

    Args:
        archive: a zip file. Folders inside it are dropped: images are named by the last part of their path.
        into: the folder to make that folder in.

    Returns:
        Paths of the images, sorted by name.

    Raises:
        ValueError: not a readable zip file, a member whose path leads outside, two images of one name, or no
            image.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with zipfile.ZipFile(f"{folder}/a.zip", "w") as file:
        ...         file.writestr("image0001.jpg", b"bytes of the image")
        ...     [path.name for path in extract_images(f"{folder}/a.zip", into=f"{folder}/cache")]
        ['image0001.jpg']
    """
    archive = Path(archive)
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()[:16]
    folder = Path(into) / digest
    try:
        with zipfile.ZipFile(archive) as file:
            members = _image_members(archive, file)
            for name, member in members.items():
                if not _is_complete(folder / name, member):
                    write_atomically(folder / name, file.read(member), sync=False)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise ValueError(f"cannot read {archive} as a zip file ({error}): fetch it again") from error
    return [folder / name for name in sorted(members)]


def is_image(name: str) -> bool:
    """Whether a file name, with any folders before it, is that of an image, not of a hidden copy of one."""
    parts = PurePosixPath(name).parts
    hidden = any(part.startswith(".") or part == "__MACOSX" for part in parts)
    return not hidden and name.lower().endswith(IMAGE_SUFFIXES)


def _image_members(archive: Path, file: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    members: dict[str, zipfile.ZipInfo] = {}
    for member in file.infolist():
        path = member.filename.replace("\\", "/")
        if path.startswith("/") or ".." in path.split("/") or ":" in path:
            raise ValueError(f"{archive} holds a member that leads outside of it, {member.filename!r}: do not use it")
        if member.is_dir() or not is_image(path):
            continue
        name = PurePosixPath(path).name
        if name in members:
            raise ValueError(f"{archive} holds two images named {name!r}")
        members[name] = member
    if not members:
        raise ValueError(f"{archive} holds no image ({', '.join(IMAGE_SUFFIXES)})")
    return members


def _is_complete(path: Path, member: zipfile.ZipInfo) -> bool:
    try:
        if path.stat().st_size != member.file_size:
            return False
        return zlib.crc32(path.read_bytes()) == member.CRC
    except FileNotFoundError:
        return False
