"""Answers of S3 servers, whose headers can be trusted as little as any others of the web."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bsjax.data.remote.storage import RemoteFile

# What bsjax wants to know of an object that it reads.
_READ = {"content-length", "content-range", "etag"}


def check_answers(client: Any) -> None:
    """Have a client of S3 look at headers before botocore does, which raises what ``int`` does and names no object."""
    client.meta.events.register("before-parse.s3.GetObject", _check_object)
    client.meta.events.register("before-parse.s3.HeadObject", _check_length)


@contextmanager
def understood(remote: "RemoteFile") -> Iterator[None]:
    """A block that asks S3 for an object, or about it; of a header that makes no sense it says whose it is.

    Raises:
        ConnectionError: such a header. Errors that botocore has words for stay as they are.
    """
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except (OSError, BotoCoreError, ClientError):
        raise
    except Exception as error:  # whatever int() and the reader of dates raise
        raise unreadable(remote, error) from error


def unreadable(remote: "RemoteFile", what: object) -> ConnectionError:
    """The error for an answer that S3 does not give; ``what`` says why, or is an error that does.

    Example:
        >>> from bsjax.data.remote.storage import RemoteFile
        >>> print(unreadable(RemoteFile("lab", "a.nc"), "its Content-Length is -5"))
        the answer for s3://lab/a.nc cannot be used (its Content-Length is -5): does a proxy on the way alter it, or
        does the server that AWS_ENDPOINT_URL_S3 names not speak S3's protocol?
    """
    return ConnectionError(
        f"the answer for {remote} cannot be used ({' '.join(str(what).split())}): does a proxy on the way alter it, or "
        "does the server that AWS_ENDPOINT_URL_S3 names not speak S3's protocol?"
    )


def _check_object(response_dict: dict[str, Any], **_: Any) -> None:
    if response_dict["status_code"] >= 300:
        return
    try:
        _check_length(response_dict)
    except ValueError:
        response_dict["body"].close()
        raise
    headers = response_dict["headers"]
    for name in [name for name in headers if name.lower() not in _READ]:
        del headers[name]  # a date that is none is no reason to refuse the object


def _check_length(response_dict: dict[str, Any], **_: Any) -> None:
    length = response_dict["headers"].get("Content-Length")
    if response_dict["status_code"] >= 300:
        return
    if length is None:
        raise ValueError("it has no Content-Length, by which a whole object is told from a part of it")
    if not re.fullmatch(r"[0-9]{1,18}", length):
        raise ValueError(f"its Content-Length is {length[:30]!r}, where a number of bytes was expected")
