"""Single files of a pinned commit of a public repository, fetched over HTTPS."""

import os
from pathlib import Path
from urllib.parse import quote

from bsjax.core.digests.files import mismatch
from bsjax.core.messages import in_words
from bsjax.data.importers.sources import Source, SourceFile
from bsjax.data.remote.web_files import fetch_address

BASE_URL = "https://raw.githubusercontent.com"

# GitHub takes no larger file into a repository: an answer that goes on has no end.
MOST_BYTES = 100 << 20


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
        ValueError: what came has another digest, or is larger than a file at GitHub can be; it is not kept.
        PermissionError, ConnectionError: the server refuses, or cannot be reached, or never sends the whole file.
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
