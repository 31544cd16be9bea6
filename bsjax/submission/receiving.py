"""Receiving of submitted folders and zip files. All names and sizes are checked before anything is written."""

import hashlib
import io
import os
import re
import shutil
import stat
import tempfile
import time
import unicodedata
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from bsjax.core.discovery import KINDS
from bsjax.core.discovery import plugins_under as plugins_in
from bsjax.core.file_reading import refuse_pipe
from bsjax.core.files import as_json, explaining
from bsjax.core.left_behind import is_left_behind
from bsjax.core.messages import in_words, printable
from bsjax.data.files.archives import Refused, leads_outside, opened
from bsjax.submission.answers import MANIFEST

_EXPECTED = (
    "expected a folder such as models/NAME/ (or benchmarks/, metrics/, data/) whose __init__.py registers something, "
    f"or {MANIFEST} beside activations or choices"
)
_ASIDE, _DAY = ".receiving-", 24 * 3600
_LONGEST_PATH = 1_000
_IN_THE_DIRECTORY, _OF_LOCAL_HEADER = b"PK\x01\x02", 30
_COPIED_AT_ONCE = 1 << 20
_WHAT = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


@dataclass(frozen=True)
class Bounds:
    """Upper limits on the size of a submission.

    Attributes:
        n_bytes: total size of all files, in bytes.
        n_files: number of files.
        ratio: ratio of the unpacked size to the size of the zip file.
        depth: depth of nested folders.
        length: length of the name of a file or folder, in bytes.
        directory: size of the zip file's table of contents, in bytes.
        code: size of a Python file, in bytes.
    """

    n_bytes: int = 1 << 30
    n_files: int = 10_000
    ratio: int = 200
    depth: int = 20
    length: int = 200
    directory: int = 100 << 20
    code: int = 1 << 20


class Received(NamedTuple):
    """The files of a submission.

    Attributes:
        folder: the folder that contains them, named after ``content``.
        content: SHA-256 of their names and bytes.
    """

    folder: Path
    content: str


class _File(NamedTuple):
    name: str
    size: int
    open: Callable[[], IO[bytes]]


def receive(source: str | Path, into: str | Path, bounds: Bounds = Bounds(), name: str = "") -> Received:
    """Copy a submitted folder or zip file into a folder that is named after its content.

    Files that operating systems and programs leave behind, such as hidden files and ``__pycache__``, are skipped. A
    single top folder that contains everything else is stripped; a single plugin is put in a folder of its name. The new
    folder appears atomically.

    Args:
        source: the folder or zip file.
        into: the parent of the new folder.
        bounds: limits on the size.
        name: name of the submission, used for the folder of a single plugin; by default that of the source.

    Raises:
        ValueError: the zip file is not readable; or the submission is too large, contains a harmful name or kind of
            file, or nothing that can be scored. The message names the member, and nothing is kept.
        FileNotFoundError: the source does not exist.
        OSError: a file cannot be read or written.

    Example:
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with zipfile.ZipFile(f"{folder}/mine.zip", "w") as file:
        ...         file.writestr("mine/models/doe/__init__.py", "model_registry['doe'] = lambda: 1")
        ...     received = receive(f"{folder}/mine.zip", f"{folder}/received")
        ...     [path.relative_to(received.folder).as_posix() for path in received.folder.rglob("*.py")]
        ['models/doe/__init__.py']
    """
    source, into = Path(source), Path(into)
    if source.is_dir():
        found = _in_folder(source, source.resolve(), bounds)
        return _received(source, found, into, bounds, name or source.resolve().name)
    refuse_pipe(source)
    with _Guarded(source, bounds) as file, opened(source, file, "pack it again") as archive:
        file.bounds = None
        return _received(source, _in_zip(source, archive, bounds), into, bounds, name or source.stem)


def declared_in(folder: Path, *registries: str) -> list[str]:
    """List the identifiers that the plugins in a folder register in some registries, without running the plugins."""
    found = [each for plugin in plugins_in(folder) for each in plugin.declarations if each.registry in registries]
    return list(dict.fromkeys(each.identifier for each in found))


class _Guarded(io.BufferedReader):
    """A zip file that refuses to read a table of contents that is too large."""

    def __init__(self, path: Path, bounds: Bounds) -> None:
        super().__init__(io.FileIO(path))
        self.path = path
        self.bounds: Bounds | None = bounds

    def read(self, size: int | None = -1, /) -> bytes:
        bounds = self.bounds
        if bounds is not None and (size or 0) > bounds.directory:
            raise Refused(f"{self.path.name} has a table of contents of {in_words(size or 0)}")
        found = super().read(size)
        if bounds is not None and found.count(_IN_THE_DIRECTORY) > bounds.n_files:
            raise Refused(f"{self.path.name} holds more than {bounds.n_files:,} files")
        return found


def _in_folder(root: Path, folder: Path, bounds: Bounds, above: str = "") -> Iterator[_File]:
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            name = above + entry.name
            if _is_skipped(entry.name):
                continue
            if entry.is_dir(follow_symlinks=False):
                _check_depth(root, name, bounds)
                yield from _in_folder(root, Path(entry.path), bounds, f"{name}/")
                continue
            found = entry.stat(follow_symlinks=False)
            _check_kind(root, name, found.st_mode)
            yield _File(name, found.st_size, partial(open, entry.path, "rb"))


def _in_zip(source: Path, archive: zipfile.ZipFile, bounds: Bounds) -> Iterator[_File]:
    size, n_bytes, ends, after = source.stat().st_size, 0, 0, ""
    for member in sorted(archive.infolist(), key=lambda member: member.header_offset):
        name = member.orig_filename
        if leads_outside(name):
            raise _refused(source, name, "leads outside of it")
        if member.header_offset < ends:
            raise _refused(source, name, f"lies over {printable(after)!r}")
        ends, after = member.header_offset + _OF_LOCAL_HEADER + member.compress_size, name
        path = PurePosixPath(name).as_posix()
        if name.endswith("/") or _is_skipped(path):
            continue
        _check_kind(source, name, member.external_attr >> 16)
        if member.flag_bits & 0x1:
            raise _refused(source, name, "is encrypted")
        # Python unpacks other formats in blocks of unlimited size.
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise _refused(source, name, "is packed in a way other than that of ordinary zip files, which is deflate")
        n_bytes += member.file_size
        if n_bytes > bounds.ratio * size:
            raise _refused(source, name, f"makes it {in_words(n_bytes)}, in a zip file of {in_words(size)}")
        yield _File(path, member.file_size, partial(archive.open, member))


def _received(source: Path, found: Iterator[_File], into: Path, bounds: Bounds, name: str) -> Received:
    files = _arranged(_checked(source, found, bounds), name)
    with explaining(f"receive {printable(source.name)}", into):
        into.mkdir(parents=True, exist_ok=True)
        for old in into.glob(f"{_ASIDE}*"):  # left by processes that were killed
            if time.time() - old.stat().st_mtime > _DAY:
                shutil.rmtree(old, ignore_errors=True)
        aside = Path(tempfile.mkdtemp(prefix=_ASIDE, dir=into))
        try:
            content = _written(source, files, aside, bounds)
            if not plugins_in(aside) and not (aside / MANIFEST).is_file():
                raise Refused(f"{printable(source.name)} holds nothing that can be scored: {_EXPECTED}")
            folder = into / content
            if not folder.is_dir():
                _move(aside, folder)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    return Received(folder, content)


def _checked(source: Path, found: Iterator[_File], bounds: Bounds) -> list[_File]:
    """The list of files, after checks of all names and sizes."""
    files: list[_File] = []
    spelled: dict[str, str] = {}
    size = 0
    for file in found:
        files.append(file)
        size += file.size
        _check_name(source, file.name, bounds)
        if len(files) > bounds.n_files:
            raise Refused(f"{printable(source.name)} holds more than {bounds.n_files:,} files")
        if size > bounds.n_bytes:
            raise _too_large(source, file.name, bounds)
        if file.name.endswith(".py") and file.size > bounds.code:
            raise _refused(source, file.name, f"is code of more than {in_words(bounds.code)}")
    folders = {parent.as_posix() for file in files for parent in PurePosixPath(file.name).parents}
    for name in [*(file.name for file in files), *sorted(folders)]:
        # Some file systems do not distinguish names that differ only in case or Unicode normalisation.
        folded = unicodedata.normalize("NFC", name).casefold()
        if folded in spelled:
            raise _refused(source, name, f"has the name of another, {printable(spelled[folded])!r}")
        spelled[folded] = name
    return files


def _check_name(source: Path, name: str, bounds: Bounds) -> None:
    if not name.isprintable():
        raise _refused(source, name, "has characters in its name that cannot be printed")
    if "\\" in name:
        raise _refused(source, name, "has a backslash in its name")
    _check_depth(source, name, bounds)
    if max(len(part.encode()) for part in name.split("/")) > bounds.length or len(name.encode()) > _LONGEST_PATH:
        raise _refused(source, name, f"has a name of more than {bounds.length} bytes, or {_LONGEST_PATH} with folders")


def _check_depth(source: Path, name: str, bounds: Bounds) -> None:
    if name.count("/") > bounds.depth:
        raise _refused(source, name, f"lies more than {bounds.depth} folders deep")


def _check_kind(source: Path, name: str, mode: int) -> None:
    kind = stat.S_IFMT(mode)
    if kind not in (0, stat.S_IFREG):
        raise _refused(source, name, f"is {_WHAT.get(kind, 'no regular file')}")


def _is_skipped(path: str) -> bool:
    return is_left_behind(path) or "__pycache__" in path.split("/")


def _arranged(files: Sequence[_File], name: str) -> list[_File]:
    """The files without a common top folder; those of a single plugin in a folder of its name."""
    names = {file.name for file in files}
    if "__init__.py" in names:
        above = re.sub(r"\W", "_", name)
        above = above if above.isidentifier() else f"plugin_{above}"  # must be a valid package name
        return [file._replace(name=f"{above}/{file.name}") for file in files]
    [top, *others] = {name.partition("/")[0] for name in names} or {""}
    if others or top in names or top in KINDS or f"{top}/__init__.py" in names:
        return list(files)
    return [file._replace(name=file.name.partition("/")[2]) for file in files]


def _written(source: Path, files: Sequence[_File], aside: Path, bounds: Bounds) -> str:
    """Write the files; gives the digest of their names and bytes. Sizes are those read, not those declared."""
    whole, n_bytes = hashlib.sha256(), 0
    for file in sorted(files):
        digest, path = hashlib.sha256(), aside / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        with file.open() as content, open(path, "xb") as target:
            while part := content.read(_COPIED_AT_ONCE):
                n_bytes += len(part)
                if n_bytes > bounds.n_bytes:
                    raise _too_large(source, file.name, bounds)
                digest.update(part)
                target.write(part)
        whole.update(as_json([file.name, digest.hexdigest()]))
    return whole.hexdigest()


def _move(aside: Path, folder: Path) -> None:
    try:
        os.rename(aside, folder)
    except OSError:
        if not folder.is_dir():  # otherwise another process has received the same content
            raise


def _too_large(source: Path, name: str, bounds: Bounds) -> Refused:
    return _refused(source, name, f"makes it more than {in_words(bounds.n_bytes)}")


def _refused(source: Path, name: str, why: str) -> Refused:
    shown = printable(name)
    shown = shown if len(shown) <= 100 else f"{shown[:80]}...{shown[-15:]}"
    return Refused(f"{printable(source.name)} is refused: its member {shown!r} {why}")
