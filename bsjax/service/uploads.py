"""Uploads: what is sent goes to a file, within bounds, and is handed in from there."""

from __future__ import annotations

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
    """Where uploads are while they come in."""
    return cache_dir().absolute() / "submissions" / "uploads"


def sweep(limits: Limits) -> None:
    """Remove what a service that was killed has left of uploads."""
    for path in folder().glob("*.zip"):
        with suppress(FileNotFoundError):
            if path.stat().st_mtime < time.time() - limits.seconds:
                path.unlink()


@contextmanager
def upload_file() -> Iterator[Path]:
    """A place for an upload, which is removed at the end."""
    folder().mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder() / f"{uuid.uuid4().hex}.zip"
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def most_bytes(account: Account, limits: Limits) -> int:
    """How large an upload of an account may be."""
    return int(account.limits.get("bytes", limits.n_bytes))


def check_length(request: Request, most: int) -> int | None:
    """How long a body is said to be; None if that is not said.

    Raises:
        HTTPException: 413, longer than may be; 400, no number.
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
    """Write the body of a request to a file, as it comes.

    Raises:
        HTTPException: 413, more than so many bytes; 408, too slow; 400, shorter than it was said to be, or empty.
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
    """Write a file of a form to a place."""
    with path.open("xb") as to:
        shutil.copyfileobj(file, to)
        to.flush()
        os.fsync(to.fileno())
