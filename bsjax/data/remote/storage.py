"""Objects in S3 or a compatible store: their addresses, and reading them with or without credentials.

Settings are those of every AWS tool: credentials from the environment, ``~/.aws`` or the machine's role,
``AWS_PROFILE``, and ``AWS_ENDPOINT_URL_S3`` (or ``AWS_ENDPOINT_URL``) for a mirror.
"""

import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any
from weakref import WeakSet

_MISSING = {"NoSuchKey", "NoSuchVersion", "NoSuchBucket", "NotFound", "HTTP 404", "MethodNotAllowed"}


@dataclass(frozen=True)
class RemoteFile:
    """One object in a bucket, with the expected digests of its content.

    Args:
        bucket: the bucket, or "bucket/folder"; the folder is prepended to the key.
        key: the name of the object in it.
        version_id: the version of the object, in a bucket with versioning. "null" is a version, too: that of an object
            stored before versioning was enabled.
        sha1: digest of its content, 40 hexadecimal digits.
        sha256: digest of its content, 64 hexadecimal digits.

    Raises:
        ValueError: the bucket or a digest is invalid, or the key has no file name.

    Example:
        >>> RemoteFile("brainscore-storage/brainio-brainscore", "assy_A.nc", version_id="null").key
        'brainio-brainscore/assy_A.nc'
        >>> str(RemoteFile("brainscore-storage", "assy_A.nc", version_id="null"))
        "s3://brainscore-storage/assy_A.nc (version 'null')"
    """

    bucket: str
    key: str
    version_id: str | None = None
    sha1: str | None = None
    sha256: str | None = None

    def __post_init__(self) -> None:
        bucket, _, folder = self.bucket.partition("/")
        if not bucket or ":" in bucket:
            raise ValueError(f"not a bucket: {self.bucket!r}; it is written 'bucket' or 'bucket/folder'")
        key = "/".join(part for part in (folder.strip("/"), self.key) if part)
        if key.rpartition("/")[2] in ("", ".", ".."):
            raise ValueError(f"{self.key!r} in bucket {self.bucket!r} has no file name at its end")
        object.__setattr__(self, "bucket", bucket)
        object.__setattr__(self, "key", key)
        for name, digits in (("sha1", 40), ("sha256", 64)):
            digest = getattr(self, name)
            if digest is None:
                continue
            if len(digest) != digits or set(digest.lower()) - set("0123456789abcdef"):
                raise ValueError(f"{name} of {self} has to be {digits} hexadecimal digits, got {digest!r}")
            object.__setattr__(self, name, digest.lower())

    def __str__(self) -> str:
        version = f" (version {self.version_id!r})" if self.version_id else ""
        return f"s3://{self.bucket}/{self.key}{version}"

    @property
    def name(self) -> str:
        """The last part of the key, i.e. the file name."""
        return self.key.rpartition("/")[2]

    @property
    def url(self) -> str:
        """The object's address at Amazon, without its version."""
        return f"https://{self.bucket}.s3.amazonaws.com/{self.key}"

    @property
    def digests(self) -> dict[str, str]:
        """The known digests, by name of the algorithm."""
        known = {"sha1": self.sha1, "sha256": self.sha256}
        return {name: digest for name, digest in known.items() if digest is not None}


_PREFIXES = {"csv": "stimulus_", "zip": "stimulus_", "nc": "assy_"}


def store_name(identifier: str, file_type: str, filename_prefix: str | None = None) -> str:
    """The name of a file in the bucket.

    Args:
        identifier: identifier of the stimulus set or assembly; its dots become underscores.
        file_type: "csv" or "zip" for a stimulus set, "nc" for an assembly.
        filename_prefix: by default "stimulus_" or "assy_".

    Raises:
        ValueError: ``file_type`` is unknown.

    Example:
        >>> store_name("dicarlo.MajajHong2015.public", "nc")
        'assy_dicarlo_MajajHong2015_public.nc'
    """
    if file_type not in _PREFIXES:
        raise ValueError(f"unknown file type {file_type!r}: expected one of {', '.join(_PREFIXES)}")
    prefix = _PREFIXES[file_type] if filename_prefix is None else filename_prefix
    return f"{prefix}{identifier.replace('.', '_')}.{file_type}"


def stimulus_set_files(
    identifier: str,
    bucket: str,
    csv_sha1: str | None,
    zip_sha1: str | None,
    csv_version_id: str | None = None,
    zip_version_id: str | None = None,
    filename_prefix: str | None = None,
    csv_sha256: str | None = None,
    zip_sha256: str | None = None,
) -> tuple[RemoteFile, RemoteFile]:
    """The objects of a stimulus set's table and archive; arguments as for ``load_stimulus_set_from_s3``.

    Example:
        >>> table, archive = stimulus_set_files("hvm-public", "brainscore-storage/brainio", "0" * 40, "1" * 40)
        >>> archive.url
        'https://brainscore-storage.s3.amazonaws.com/brainio/stimulus_hvm-public.zip'
    """
    return (
        RemoteFile(bucket, store_name(identifier, "csv", filename_prefix), csv_version_id, csv_sha1, csv_sha256),
        RemoteFile(bucket, store_name(identifier, "zip", filename_prefix), zip_version_id, zip_sha1, zip_sha256),
    )


def assembly_file(
    identifier: str, version_id: str | None, sha1: str | None, bucket: str, sha256: str | None = None
) -> RemoteFile:
    """The object of an assembly's file; arguments as for ``load_assembly_from_s3``.

    Example:
        >>> assembly_file("A.b", "null", "0" * 40, "brainscore-storage").key
        'assy_A_b.nc'
    """
    return RemoteFile(bucket, store_name(identifier, "nc"), version_id, sha1, sha256)


@dataclass(frozen=True)
class Stream:
    """The response to one request: ``body`` yields the object's bytes from position ``start`` to its end, ``size``.

    ``body.read(n)`` returns at most ``n`` bytes, as soon as any have arrived.
    """

    body: Any
    start: int
    size: int
    etag: str


@contextmanager
def understood(remote: RemoteFile) -> Iterator[None]:
    """Context manager for requests to S3 that names the object if a response header is invalid.

    Raises:
        ConnectionError: a header is invalid. Errors that botocore recognises are raised unchanged.
    """
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except (OSError, BotoCoreError, ClientError):
        raise
    except Exception as error:  # any error of int() or of the date parser
        raise unreadable(remote, error) from error


def unreadable(remote: RemoteFile, what: object) -> ConnectionError:
    """The error for a response that S3 would not give; ``what`` is the reason, or an error that states it.

    Example:
        >>> print(unreadable(RemoteFile("lab", "a.nc"), "its Content-Length is -5"))
        the answer for s3://lab/a.nc cannot be used (its Content-Length is -5): does a proxy on the way alter it, or
        does the server that AWS_ENDPOINT_URL_S3 names not speak S3's protocol?
    """
    return ConnectionError(
        f"the answer for {remote} cannot be used ({' '.join(str(what).split())}): does a proxy on the way alter it, or "
        "does the server that AWS_ENDPOINT_URL_S3 names not speak S3's protocol?"
    )


class ObjectChanged(Exception):
    """The response does not continue the partial download, e.g. the object has changed: restart from the beginning."""


class Storage:
    """Access to S3 for several objects, from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._session: Any = None
        self._clients: dict[str, Any] = {}
        self._worked: dict[str, str] = {}  # bucket -> the kind of access that succeeded
        self._open: WeakSet[Any] = WeakSet()  # responses being read
        self._stopped = False

    def open(self, remote: RemoteFile, start: int = 0, etag: str = "") -> Stream:
        """Begin to read an object, with credentials if there are any, and without if those fail.

        Args:
            remote: the object.
            start: the position of the first byte to read.
            etag: the object's ETag when the bytes before ``start`` were read.

        Raises:
            ObjectChanged: ``start`` is not 0, and the object's ETag has changed, it is shorter, or other bytes came.
            FileNotFoundError: the bucket, object or version does not exist.
            PermissionError: access is refused; the message says what access is needed.
            ConnectionError: S3 cannot be reached or fails, or the server is not S3.
            ValueError: a name is invalid in S3, or the AWS settings cannot be used.
            InterruptedError: after ``stop``.
        """
        from botocore import exceptions

        request: dict[str, Any] = {"Bucket": remote.bucket, "Key": remote.key}
        if remote.version_id:
            request["VersionId"] = remote.version_id
        if start:
            request |= {"Range": f"bytes={start}-", "IfMatch": etag}
        refusals: dict[str, Exception] = {}
        for access in sorted(self._accesses(), key=lambda access: access != self._worked.get(remote.bucket)):
            client = self._client(access)
            try:
                with understood(remote):
                    answer = checked(client.get_object(**request))
            except exceptions.ParamValidationError as error:
                raise ValueError(f"S3 can have no such bucket, object or version: {remote}") from error
            except (exceptions.ConnectionError, exceptions.HTTPClientError) as error:
                raise ConnectionError(f"no connection for {remote}: {_line(error)}") from error
            except exceptions.ClientError as error:
                if start and http_status(error) in (412, 416):
                    raise ObjectChanged(f"it has changed since its first {start:,} bytes came") from error
                refusals[access] = error
            except exceptions.BotoCoreError as error:  # unusable credentials
                refusals[access] = error
            else:
                self._worked[remote.bucket] = access
                return self._watched(stream(answer, start, etag), remote)
        raise _explained(remote, refusals)

    def stop(self) -> None:
        """Stop all reading, including reads that wait for a server, and start no more; for interrupts."""
        with self._lock:
            self._stopped = True
            for raw in self._open:
                with suppress(OSError, ValueError, RuntimeError):  # it has already ended
                    raw.shutdown()

    def _watched(self, opened: Stream, remote: RemoteFile) -> Stream:
        with self._lock:
            if self._stopped:
                opened.body.close()
                raise InterruptedError(f"the fetch of {remote} was stopped")
            self._open.add(opened.body.__enter__())
        return opened

    def _accesses(self) -> list[str]:
        """The kinds of access to try, in order: with credentials, if any are set, and without."""
        from botocore.exceptions import BotoCoreError

        with self._lock:
            try:
                self._session = self._session or aws_session()
                found = self._session.get_credentials() is not None
            except (BotoCoreError, ValueError) as error:
                raise ValueError(f"the AWS settings of this machine cannot be used: {_line(error)}") from error
        return ["with", "without"] if found else ["without"]

    def _client(self, access: str) -> Any:
        from botocore.exceptions import BotoCoreError

        with self._lock:
            if access not in self._clients:
                try:
                    self._clients[access] = s3_client(self._session, access)
                except (BotoCoreError, ValueError) as error:
                    raise ValueError(f"the AWS settings of this machine cannot be used: {_line(error)}") from error
        return self._clients[access]


def checked(answer: dict[str, Any]) -> dict[str, Any]:
    """Verify that a response states the length of its object, which is needed to detect truncation.

    Raises:
        ValueError: the length is missing or invalid.
    """
    length = answer.get("ContentLength")
    if length is None or not 0 <= length < 10**18:
        if "Body" in answer:
            answer["Body"].close()
        said = "it has no Content-Length" if length is None else f"its Content-Length is {length}"
        raise ValueError(f"{said}, where a number of bytes was expected")
    return answer


def s3_client(session: Any, access: str = "with") -> Any:
    """A client of a session, "with" or "without" credentials."""
    from botocore import UNSIGNED
    from botocore.config import Config

    # A mirror rarely has a subdomain for each bucket.
    mirror = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    config = Config(
        connect_timeout=20,
        read_timeout=60,
        max_pool_connections=32,
        signature_version=UNSIGNED if access == "without" else None,
        s3={"addressing_style": "path"} if mirror else None,
    )
    region = session.get_config_variable("region") or "us-east-1"
    return session.create_client("s3", region_name=region, config=config)


def aws_session() -> Any:
    """A session with the current settings, which shares botocore's parsed description of S3."""
    from botocore.session import Session

    session = Session()
    session.register_component("data_loader", _loader())
    return session


@cache
def _loader() -> Any:
    from botocore.session import Session

    return Session().get_component("data_loader")


def stream(answer: dict[str, Any], start: int = 0, etag: str = "") -> Stream:
    """The stream of a checked response; ``start``, ``etag`` and errors as for ``Storage.open``."""
    body, length, now = answer["Body"], answer["ContentLength"], answer.get("ETag", "")
    said = answer.get("ContentRange", "") if start else ""
    if not said:  # a server without range requests sends the whole object
        return Stream(_at_once(body), 0, length, now)
    known = re.fullmatch(rf"bytes {start}-[0-9]+/([0-9]{{1,18}})", said)
    if known and now == etag:
        return Stream(_at_once(body), start, int(known[1]), now)
    body.close()
    if now != etag:
        raise ObjectChanged(f"its ETag was {etag} and is now {now}")
    raise ObjectChanged(f"the bytes from {start} on were asked for, and what came is {said!r} by its Content-Range")


def _at_once(body: Any) -> Any:
    """The body of a response, with a ``read`` that does not wait for the full number of bytes."""
    raw = body.__enter__()  # the stream that botocore reads, to compare it with its length and checksum
    raw.read = raw.read1
    return body


def _explained(remote: RemoteFile, refusals: dict[str, Exception]) -> Exception:
    """The error to raise after every kind of access to an object has failed."""
    codes = {access: _code(error) for access, error in refusals.items()}
    said = ", ".join(f"{code} {access} credentials" for access, code in codes.items())
    if "with" not in codes:
        said += " (none are set)"
    missing = next((code for code in codes.values() if code in _MISSING), None)
    if missing == "NoSuchBucket":
        return FileNotFoundError(f"there is no bucket {remote.bucket!r}, where {remote} should be")
    if missing == "NoSuchKey" or missing and not remote.version_id:
        return FileNotFoundError(f"there is no object {remote.key!r} in bucket {remote.bucket!r}")
    if missing or any("version" in str(error).lower() and http_status(error) == 400 for error in refusals.values()):
        return FileNotFoundError(
            f"object {remote.key!r} in bucket {remote.bucket!r} has no version {remote.version_id!r}"
        )
    if any(http_status(error) >= 500 or http_status(error) == 429 for error in refusals.values()):
        return ConnectionError(f"S3 failed to send {remote}: {said}")
    permission = "s3:GetObjectVersion" if remote.version_id else "s3:GetObject"
    return PermissionError(
        f"S3 refused {remote}: {said}. Reading it takes the permission {permission} on "
        f"arn:aws:s3:::{remote.bucket}/{remote.key}: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
        f"AWS_PROFILE, of an account to which the owner of bucket {remote.bucket!r} has given it. (To those who may "
        "not list a bucket, S3 says the same of an object that does not exist.)"
    )


def http_status(error: BaseException) -> int:
    """The HTTP status of an error response of S3; 0 without a response."""
    response = getattr(error, "response", {})
    return int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def _code(error: Exception) -> str:
    response = getattr(error, "response", None)
    if not response:
        return _line(error)
    code = response.get("Error", {}).get("Code", "") or str(http_status(error))
    return f"HTTP {code}" if code.isdigit() else code  # a response without a body


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
