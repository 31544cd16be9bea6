"""Downloads of files from the web, with retries after lost connections."""

import math
import os
import re
import time
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from bsjax.data.remote.pace import paced

ATTEMPTS = 3
TIMEOUT = 60


def fetch_address(url: str, to: Path, most: float = math.inf) -> bool:
    """Download the file at an address.

    Args:
        url: the address.
        to: the destination; after an error it may hold a part of the file.
        most: maximal number of bytes; reading stops soon after, so a longer result means a larger file.

    Returns:
        Whether the file exists.

    Raises:
        PermissionError, ConnectionError: the server refuses, cannot be reached, or never sends the whole file.
        OSError: the file cannot be written.
    """
    reason: Exception | None = None
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with urlopen(Request(url, headers={"User-Agent": "bsjax"}), timeout=TIMEOUT) as answer:
                _save(answer, to, most)
            return True
        except HTTPError as error:
            error.close()
            if error.code == 404:
                return False
            if error.code in (401, 403):
                raise PermissionError(f"{url} was refused: {error.code} {error.reason}") from error
            reason = error
        except (URLError, HTTPException, TimeoutError, ConnectionError, ValueError) as error:
            reason = error  # a ValueError is a redirection to an invalid address
        if attempt < ATTEMPTS:
            time.sleep(0.2 * 4 ** (attempt - 1))
    raise ConnectionError(f"cannot fetch {url} ({' '.join(str(reason).split())})") from reason


def _save(answer: HTTPResponse, to: Path, most: float) -> None:
    stated, chunked = answer.headers.get("Content-Length"), "Transfer-Encoding" in answer.headers
    if stated is None and not chunked:
        raise HTTPException("the answer has no Content-Length, by which a whole file is told from a part")
    if stated is not None and not re.fullmatch(r"[0-9]{1,18}", stated):
        raise HTTPException(f"the answer's Content-Length is {stated[:30]!r}, where a number was expected")
    came, read = 0, paced(answer.read1)
    with open(to, "wb") as file:
        while came <= most and (piece := read(1 << 20)):
            file.write(piece)
            came += len(piece)
        file.flush()
        os.fsync(file.fileno())
    if stated is not None and came != int(stated) and came <= most:
        raise HTTPException(f"{came:,} of {int(stated):,} bytes came")
