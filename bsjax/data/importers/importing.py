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
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from bsjax.core.digests.files import digests_of, mismatch
from bsjax.core.files import cache_dir, exclusive, explaining, write_atomically, written_aside
from bsjax.core.messages import some
from bsjax.data.importers.sources import Source, SourceFile, find_files, source
from bsjax.data.remote.web_files import fetch_address

BASE_URL = "https://raw.githubusercontent.com"


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
        ValueError: the download has another digest; it is deleted.
        PermissionError, ConnectionError: the server refuses, cannot be reached, or never sends the whole file.
        OSError: the file cannot be written.
    """
    to.parent.mkdir(parents=True, exist_ok=True)
    part = to.with_name(f".{to.name}.part")
    wrong = ""
    try:
        for commit in wanted.commits:
            url = f"{base}/{wanted.repository}/{commit}/{quote(file.path)}"
            if not fetch_address(url, part):
                continue
            now = mismatch(part, {"sha256": file.sha256} if file.sha256 else {})
            if not now:
                os.replace(part, to)
                return url
            wrong = f"{url} is not the file it should be: {now}. What came was removed"
    finally:
        part.unlink(missing_ok=True)
    if wrong:
        raise ValueError(wrong)
    if file.optional:
        return None
    raise FileNotFoundError(f"{base}/{wanted.repository} has no {file.path} at commit {', '.join(wanted.commits)}")


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
    of a different file is refused. Files that were imported before and are intact are kept. The data can be loaded once
    all files are there.

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
    base = base_address(base_url)
    found = None if folder is None else find_files(wanted, folder)
    with explaining(f"keep {name}", place.parent), exclusive(place):
        before = _recorded(place)
        # Of a file without a published digest, the first import decides.
        files = [
            replace(file, sha256=file.sha256 or before.get(file.to, {}).get("sha256")) for file in found or wanted.files
        ]
        given = dict(zip(files, found.values(), strict=True)) if found else {}
        _refuse_others(wanted, given, place)

        def obtain(file: SourceFile) -> tuple[SourceFile, str | None]:
            """Put one file into its place; also returns where it is from, or None if there is none."""
            to = place / file.to
            if file.sha256 and to.is_file() and not mismatch(to, {"sha256": file.sha256}):
                return file, str(given.get(file, f"{base}/{wanted.repository}"))
            if not given:
                return file, fetch_pinned(wanted, file, to, base)
            with written_aside(to) as copy:
                shutil.copyfile(given[file], copy)
            return file, str(given[file])

        origins: dict[str, str] = {}
        with ThreadPoolExecutor(max_workers=8, thread_name_prefix="import") as pool:
            try:
                for number, (file, origin) in enumerate(pool.map(obtain, files), start=1):
                    if origin is not None:
                        origins[file.to] = origin
                    if progress is not None:
                        progress(file.to, number, len(files))
            except BaseException as error:
                pool.shutdown(cancel_futures=True)
                remote = isinstance(error, ConnectionError | PermissionError | FileNotFoundError) and not error.errno
                if not remote:
                    raise
                raise type(error)(
                    f"{error}; with a clone of {wanted.url}, use `bsjax data import {name} --from CLONE`"
                ) from error
        _record(wanted, place, before, origins)
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


def _refuse_others(wanted: Source, given: dict[SourceFile, Path], place: Path) -> None:
    """Raise an error if given files are not the published ones, or not those that were imported first."""
    published = {file.to for file in wanted.files if file.sha256}
    wrong = {
        file: said
        for file, path in given.items()
        if (said := mismatch(path, {"sha256": file.sha256} if file.sha256 else {}))
    }
    unpublished = [f"{given[file]} ({said})" for file, said in wrong.items() if file.to in published]
    if unpublished:
        raise ValueError(
            f"not the published files of {wanted.name}: {some(unpublished, 3)}. Get them again; a clone must not "
            "change line endings (git -c core.autocrlf=false clone)"
        )
    if wrong:
        raise ValueError(
            f"not the files of {wanted.name} that were imported first, and no digest is published that could decide: "
            f"{some([given[file] for file in wrong], 3)}. To trust these instead, remove {place} and import again"
        )


def _record(wanted: Source, place: Path, before: dict[str, dict[str, Any]], origins: dict[str, str]) -> None:
    """Record the files in their folder, of which the data can be loaded from then on."""
    published = {file.to for file in wanted.files if file.sha256}
    files = {
        to: {
            **digests_of(place / to, ["sha256"]),
            "bytes": (place / to).stat().st_size,
            "checked": _BY_DIGEST if to in published else _BY_TRUST,
            "from": origin,
        }
        for to, origin in sorted(origins.items())
        if to not in before
    }
    if files:
        record = {
            "name": wanted.name,
            "repository": wanted.url,
            "licence": wanted.licence,
            "files": {**before, **files},
        }
        write_atomically(place / RECORD, (json.dumps(record, indent=1) + "\n").encode())


def _recorded(place: Path) -> dict[str, dict[str, Any]]:
    try:
        files = json.loads((place / RECORD).read_bytes())["files"]
        return {str(to): {**file, "sha256": str(file["sha256"])} for to, file in files.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}
