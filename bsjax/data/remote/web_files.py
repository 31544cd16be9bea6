"""Downloads of files from the web, with retries after lost connections."""

import shutil
import time
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

ATTEMPTS = 3
TIMEOUT = 60


def fetch_address(url: str, to: Path) -> bool:
    """Download the file at an address.

    Args:
        url: the address.
        to: the destination; after an error it may hold a part of the file.

    Returns:
        Whether the file exists.

    Raises:
        PermissionError, ConnectionError: the server refuses, cannot be reached, or never sends the whole file.
        OSError: the file cannot be written.
    """
    reason: Exception | None = None
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(0.2 * 4 ** (attempt - 1))
        try:
            with urlopen(Request(url, headers={"User-Agent": "bsjax"}), timeout=TIMEOUT) as answer:
                with open(to, "wb") as file:
                    shutil.copyfileobj(answer, file, 1 << 20)
                if answer.length:
                    raise HTTPException(f"the last {answer.length:,} bytes did not come")
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
    raise ConnectionError(f"cannot fetch {url} ({' '.join(str(reason).split())})") from reason
