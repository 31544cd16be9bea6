"""Uploads, which are written to a temporary file within limits on size and time."""

import asyncio
import os
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from fastapi import HTTPException, Request
from starlette.requests import ClientDisconnect

from bsjax.core.files import cache_dir
from bsjax.core.messages import in_words
from bsjax.service.limits import Limits
from bsjax.submission.accounts import Account


def folder() -> Path:
    """The folder of uploads in progress."""
    return cache_dir().absolute() / "submissions" / "uploads"


def sweep(limits: Limits) -> None:
    """Remove unfinished uploads of a service that was killed."""
    for path in folder().glob("*.zip"):
        with suppress(FileNotFoundError):
            if path.stat().st_mtime < time.time() - limits.seconds:
                path.unlink()


@contextmanager
def upload_file() -> Iterator[Path]:
    """The path for an upload; the file is removed at the end of the block."""
    folder().mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder() / f"{uuid.uuid4().hex}.zip"
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def most_bytes(account: Account, limits: Limits) -> int:
    """Get the largest size of an upload of an account, in bytes."""
    return int(account.limits.get("bytes", limits.n_bytes))


def check_length(request: Request, most: int) -> int | None:
    """Get the declared length of a body in bytes; None if it is not declared.

    Raises:
        HTTPException: 413 if it is too long; 400 if it is not a number.
    """
    said = request.headers.get("content-length")
    if said is None:
        return None
    if not (said.isascii() and said.isdigit()):
        raise HTTPException(400, "Content-Length is no number of bytes")
    if int(said) > most:
        raise HTTPException(413, f"an upload may have {in_words(most)}, this one has {in_words(int(said))}")
    return int(said)


async def save_body(request: Request, path: Path, most: int, limits: Limits) -> None:
    """Write the body of a request to a file while it is received.

    Raises:
        HTTPException: 413 if it exceeds ``most`` bytes; 408 if it is too slow; 400 if it is empty, or its length is
            not the declared one.
    """
    said, n, parts = check_length(request, most), 0, request.stream().__aiter__()
    try:
        async with asyncio.timeout(limits.seconds):
            with path.open("xb") as file:
                while True:
                    async with asyncio.timeout(limits.pause):
                        part: Any = await anext(parts, None)
                    if part is None:
                        break
                    n += len(part)
                    if n > most:
                        raise HTTPException(413, f"an upload may have {in_words(most)}, this one has more")
                    file.write(part)
    except TimeoutError:
        raise HTTPException(408, f"too slow: {in_words(n)} came; nothing is kept of them") from None
    except ClientDisconnect:
        raise HTTPException(400, f"the upload broke off after {in_words(n)}") from None
    if not n or (said is not None and n != said):
        raise HTTPException(400, f"expected {said or 'some'} bytes, got {n}")


def save_file(file: Any, path: Path) -> None:
    """Write the file of a form to a path."""
    with path.open("xb") as to:
        shutil.copyfileobj(file, to)
        to.flush()
        os.fsync(to.fileno())
