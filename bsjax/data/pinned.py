"""Fetching single files of a pinned commit of a public repository over HTTPS."""

import http.client
import os
import shutil
import time
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

from bsjax.data.sources import Source, SourceFile
from bsjax.data.verified import mismatch

BASE_URL = "https://raw.githubusercontent.com"

ATTEMPTS = 3
TIMEOUT = 60


def base_url(given: str | None = None) -> str:
    """Where files are fetched from: what is given, or ``$BSJAX_GITHUB_RAW_URL`` for a mirror, or GitHub.

    Raises:
        ValueError: not an address of the web.

    Example:
        >>> base_url("file:///etc")
        Traceback (most recent call last):
        ...
        ValueError: expected an address that begins with https:// or http://, got 'file:///etc'
    """
    url = given or os.environ.get("BSJAX_GITHUB_RAW_URL") or BASE_URL
    if not url.startswith(("https://", "http://")):
        raise ValueError(f"expected an address that begins with https:// or http://, got {url!r}")
    return url.rstrip("/")


def fetch_pinned(wanted: Source, file: SourceFile, to: Path, base: str) -> str | None:
    """Bring one file to ``to``, from the first of the source's commits that has it with its digest.

    Returns:
        The address that it came from; None if no commit has the file and it is optional.

    Raises:
        FileNotFoundError: no commit has the file.
        ValueError: what came has another digest; it is not kept.
        PermissionError, ConnectionError: the server refuses, or cannot be reached.
        OSError: the file cannot be written.
    """
    to.parent.mkdir(parents=True, exist_ok=True)
    part = to.with_name(f".{to.name}.part")
    expected = {} if file.sha256 is None else {"sha256": file.sha256}
    wrong = ""
    for commit in wanted.commits:
        url = f"{base}/{wanted.repository}/{commit}/{quote(file.path)}"
        try:
            if not _download(url, part):
                continue
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


def _download(url: str, part: Path) -> bool:
    """Whether there is such a file; it is at ``part`` then."""
    reason: Exception | None = None
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with urlopen(Request(url, headers={"User-Agent": "bsjax"}), timeout=TIMEOUT) as answer:
                with open(part, "wb") as file:
                    shutil.copyfileobj(answer, file, 1 << 20)
                    file.flush()
                    os.fsync(file.fileno())
                stated = answer.headers.get("Content-Length")
            if stated is not None and int(stated) != part.stat().st_size:
                raise http.client.IncompleteRead(b"", int(stated) - part.stat().st_size)
            return True
        except HTTPError as error:
            error.close()
            if error.code == 404:
                return False
            if error.code in (401, 403):
                raise PermissionError(f"{url} was refused: {error.code} {error.reason}") from error
            reason = error
        except (URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
            reason = error
        if attempt < ATTEMPTS:
            time.sleep(0.2 * 4 ** (attempt - 1))
    raise ConnectionError(f"cannot fetch {url} ({' '.join(str(reason).split())})") from reason


def _pointer(part: Path) -> str:
    with open(part, "rb") as file:
        pointer = file.read(40).startswith(b"version https://git-lfs")
    return " (it is a pointer of Git LFS, not the file itself)" if pointer else ""
