"""Imports of open data from a public repository or a clone of one; afterwards they load without ``folder=``.

Imported data are in ``$BSJAX_HOME/imported/<name>``, with a record of every file's digest. They remain under the terms
of their publishers:

================  ==========================================================  ======================================
name              from                                                        licence stated there
================  ==========================================================  ======================================
Algonauts2019     github.com/cvai-roig-lab/Net2Brain                          BSD-3-Clause
Cowley2026        github.com/cowleygroup/V4_compact_models                    GPL-3.0
Geirhos2021       github.com/bethgelab/model-vs-human                         MIT for the code; none for the trials
Kriegeskorte2008  github.com/rsagroup/rsatoolbox                              MIT
================  ==========================================================  ======================================
"""

import json
import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

from bsjax.core.digests.files import digests_of, mismatch
from bsjax.core.disk_errors import explaining
from bsjax.core.files import cache_dir, exclusive, write_atomically, written_aside
from bsjax.core.messages import in_words, some
from bsjax.data.importers.sources import Source, SourceFile, find_files, source
from bsjax.data.remote.web_files import fetch_address

BASE_URL = "https://raw.githubusercontent.com"

# The maximal file size in a GitHub repository; a longer response is an error.
MOST_BYTES = 100 << 20


def base_address(given: str | None = None) -> str:
    """The address to download from: ``given``, else ``$BSJAX_GITHUB_RAW_URL`` (a mirror), else GitHub.

    Raises:
        ValueError: the address does not begin with https:// or http://.

    Example:
        >>> base_address("file:///etc")
        Traceback (most recent call last):
        ...
        ValueError: expected an address that begins with https:// or http://, got 'file:///etc'
    """
    url = given or os.environ.get("BSJAX_GITHUB_RAW_URL") or BASE_URL
    if not url.startswith(("https://", "http://")):
        raise ValueError(f"expected an address that begins with https:// or http://, got {url!r}")
    return url.rstrip("/")


def fetch_pinned(wanted: Source, file: SourceFile, to: Path, base: str) -> str | None:
    """Download one file to ``to``, from the first of the source's commits that has it with its digest.

    Returns:
        The address of the download; None if no commit has the file and it is optional.

    Raises:
        FileNotFoundError: no commit has the file.
        ValueError: the download has another digest, or exceeds GitHub's maximal file size; it is deleted.
        PermissionError, ConnectionError: the server refuses, cannot be reached, or never sends the whole file.
        OSError: the file cannot be written.
    """
    to.parent.mkdir(parents=True, exist_ok=True)
    part = to.with_name(f".{to.name}.part")
    expected = {} if file.sha256 is None else {"sha256": file.sha256}
    wrong = ""
    for commit in wanted.commits:
        url = f"{base}/{wanted.repository}/{commit}/{quote(file.path)}"
        try:
            if not fetch_address(url, part, MOST_BYTES):
                continue
            if part.stat().st_size > MOST_BYTES:
                raise ValueError(f"{url} is not a file of a repository: it has more than {in_words(MOST_BYTES)}")
            now = mismatch(part, expected)
            if not now:
                os.replace(part, to)
                return url
            wrong = f"{url} is not the file it should be: {now}{_pointer(part)}"
        finally:
            part.unlink(missing_ok=True)
    if wrong:
        raise ValueError(wrong + ". What came was removed.")
    if file.optional:
        return None
    raise FileNotFoundError(f"{base}/{wanted.repository} has no {file.path} at commit {', '.join(wanted.commits)}")


def _pointer(part: Path) -> str:
    with open(part, "rb") as file:
        pointer = file.read(40).startswith(b"version https://git-lfs")
    return " (it is a pointer of Git LFS, not the file itself)" if pointer else ""


RECORD = "imported.json"

_BY_DIGEST = "published digest"
_BY_TRUST = "trusted on first import"

Progress = Callable[[str, int, int], None]
"""Called with the name of a file, the number of files available so far, and the total."""


def import_data(
    name: str, folder: str | Path | None = None, *, base_url: str | None = None, progress: Progress | None = None
) -> Path:
    """Import published data, so that ``bsjax.load_dataset`` finds them without ``folder=``.

    Files are copied from ``folder`` if it is given, otherwise downloaded at a pinned commit of the public repository.
    Each is compared with its known SHA-256. For some further files (other models' trials in Geirhos2021, session 201016
    of Cowley2026) no digest is known; they are *trusted on first import*: their digest is recorded, and a later import
    of a different file is refused. The imported folder is written atomically. An existing, intact one is reused, and
    replaced if it lacks a file of ``folder``.

    Args:
        name: "Algonauts2019", "Cowley2026", "Geirhos2021" or "Kriegeskorte2008".
        folder: a clone of the repository, or a folder with the same files. By default they are downloaded.
        base_url: address to download from, e.g. a mirror; by default ``$BSJAX_GITHUB_RAW_URL``, or GitHub.
        progress: called after each file.

    Returns:
        The imported folder.

    Raises:
        KeyError: the name is unknown.
        FileNotFoundError: files are missing in the folder, or at the commit.
        ValueError: a file does not match its digest, or differs from the first import; the message names it.
        ConnectionError, PermissionError: the repository cannot be reached, or refuses. Downloaded files are kept for
            the next call.
        OSError: the cache folder cannot be written.

    Example:
        >>> import_data("Geirhos2021", "no/such/folder")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        FileNotFoundError: no/such/folder lacks raw-data/colour/colour_subject-01_session_1.csv, ...
    """
    wanted, place = source(name), _place(name)
    if folder is None:
        base = base_address(base_url)
        with explaining(f"keep {name}", place.parent), exclusive(place):
            _recover(place)
            if not _is_intact(place):
                _fetch(wanted, place, base, progress)
        return place
    found = find_files(wanted, folder)
    with explaining(f"keep {name}", place.parent), exclusive(place):
        _recover(place)
        _copy(wanted, found, Path(folder), place, progress)
    return place


def imported_folder(name: str) -> Path:
    """The folder of imported data.

    Raises:
        KeyError: the name is unknown.
        FileNotFoundError: the data have not been imported; the message says how to import them.

    Example:
        >>> imported_folder("Kriegeskorte2007")
        Traceback (most recent call last):
        ...
        bsjax.core.registry.UnknownIdentifier: no data 'Kriegeskorte2007' to import; nearest: Kriegeskorte2008; there
            are: Algonauts2019, Cowley2026, Geirhos2021, Kriegeskorte2008
    """
    wanted, place = source(name), _place(name)
    if not (place / RECORD).is_file():
        raise FileNotFoundError(
            f"{name} has not been imported into {place}: run `bsjax data import {name}`, which fetches it from "
            f"{wanted.url} (licence: {wanted.licence}), or, with a clone of that, `bsjax data import {name} --from "
            "CLONE`; or pass folder=CLONE"
        )
    return place


def imported_files(name: str) -> list[Path]:
    """The files of imported data; empty if they have not been imported.

    Raises:
        KeyError: the name is unknown.
    """
    source(name)
    place = _place(name)
    return [place / to for to in _recorded(place)]


def _place(name: str) -> Path:
    return cache_dir() / "imported" / name


def _fetch(wanted: Source, place: Path, base: str, progress: Progress | None) -> None:
    aside = _aside(place)
    origins: dict[SourceFile, str | None] = {}

    def fetch(file: SourceFile) -> tuple[SourceFile, str | None]:
        there = aside / file.to
        if file.sha256 and there.is_file() and not mismatch(there, {"sha256": file.sha256}):
            return file, f"{base}/{wanted.repository}"  # downloaded by an earlier call
        return file, fetch_pinned(wanted, file, there, base)

    with ThreadPoolExecutor(max_workers=8, thread_name_prefix="import") as pool:
        try:
            for file, origin in pool.map(fetch, wanted.files):
                origins[file] = origin
                if progress is not None:
                    progress(file.to, len(origins), len(wanted.files))
        except (ConnectionError, PermissionError, FileNotFoundError) as error:
            pool.shutdown(cancel_futures=True)
            if error.errno is not None:  # an error of this machine's disk
                raise
            raise type(error)(
                f"{error}; with a clone of {wanted.url}, use `bsjax data import {wanted.name} --from CLONE`"
            ) from error
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    _finish(wanted, place, {file: origin for file, origin in origins.items() if origin})


def _copy(wanted: Source, found: dict[SourceFile, Path], folder: Path, place: Path, progress: Progress | None) -> None:
    aside = _aside(place)
    shutil.rmtree(aside, ignore_errors=True)
    try:
        for number, (file, path) in enumerate(found.items(), start=1):
            with written_aside(aside / file.to) as copy:
                shutil.copyfile(path, copy)
            if progress is not None:
                progress(file.to, number, len(found))
        _finish(wanted, place, {file: str(path) for file, path in found.items()})
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise


def _finish(wanted: Source, place: Path, origins: dict[SourceFile, str]) -> None:
    """Check and record the files in the temporary folder, and move them into place in one step."""
    aside, before = _aside(place), _recorded(place)
    files: dict[str, dict[str, Any]] = {}
    wrong, changed = [], []
    for file, origin in sorted(origins.items(), key=lambda item: item[0].to):
        path = aside / file.to
        digest = digests_of(path, ["sha256"])["sha256"]
        if file.sha256 and digest != file.sha256:
            wrong.append(f"{origin} (expected sha256 {file.sha256}, got {digest})")
        elif not file.sha256 and before.get(file.to, {}).get("sha256", digest) != digest:
            changed.append(origin)
        files[file.to] = {
            "sha256": digest,
            "bytes": path.stat().st_size,
            "checked": _BY_DIGEST if file.sha256 else _BY_TRUST,
            "from": origin,
        }
    if wrong:
        raise ValueError(
            f"not the published files of {wanted.name}: {some(wrong, 3)}. Get them again; a clone must not change "
            "line endings (git -c core.autocrlf=false clone)"
        )
    if changed:
        raise ValueError(
            f"not the files of {wanted.name} that were imported first, and no digest is published that could decide: "
            f"{some(changed, 3)}. To trust these instead, remove {place} and import again"
        )
    if _digests(before) | _digests(files) == _digests(before) and _is_intact(place):
        shutil.rmtree(aside)  # everything has been imported before
        return
    for leftover in [path for path in aside.rglob("*") if path.is_file()]:
        if leftover.relative_to(aside).as_posix() not in files:
            leftover.unlink()
    record = {"name": wanted.name, "repository": wanted.url, "licence": wanted.licence, "files": files}
    write_atomically(aside / RECORD, (json.dumps(record, indent=1) + "\n").encode())
    if place.exists():
        os.rename(place, _old(place))
    os.rename(aside, place)
    shutil.rmtree(_old(place), ignore_errors=True)


def _recover(place: Path) -> None:
    """Complete or undo a replacement that was interrupted between its two steps."""
    if _old(place).exists():
        if place.exists():
            shutil.rmtree(_old(place))
        else:
            os.rename(_old(place), place)


def _is_intact(place: Path) -> bool:
    recorded = _recorded(place)
    try:
        return bool(recorded) and all(
            not mismatch(place / to, {"sha256": file["sha256"]}) for to, file in recorded.items()
        )
    except OSError:
        return False


def _recorded(place: Path) -> dict[str, dict[str, Any]]:
    try:
        files = json.loads((place / RECORD).read_bytes())["files"]
        return {str(to): {**file, "sha256": str(file["sha256"])} for to, file in files.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def _digests(files: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {to: file["sha256"] for to, file in files.items()}


def _aside(place: Path) -> Path:
    return place.with_name(f".{place.name}.importing")


def _old(place: Path) -> Path:
    return place.with_name(f".{place.name}.replaced")
