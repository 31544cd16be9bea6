"""Objects in S3 or a compatible store: their addresses, and reading them with or without credentials.

Settings are those of every AWS tool: credentials from the environment, ``~/.aws`` or the machine's role,
``AWS_PROFILE``, and ``AWS_ENDPOINT_URL_S3`` (or ``AWS_ENDPOINT_URL``) for a mirror.
"""

import os
import threading
from dataclasses import dataclass
from typing import Any

from bsjax.core.discovery import one_line


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


class Storage:
    """Reading of objects in S3 from several threads, with credentials if there are any, and without if those fail."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._clients: list[Any] = []

    def open(self, remote: RemoteFile, start: int = 0) -> tuple[Any, int, int] | None:
        """Begin to read an object.

        Args:
            remote: the object.
            start: the position of the first byte to read.

        Returns:
            botocore's stream of the bytes, the position of its first byte (0 if the server cannot start elsewhere), and
            the size of the whole object; None if the object ends before ``start``.

        Raises:
            FileNotFoundError: the bucket, object or version does not exist.
            PermissionError: access is refused; the message says what access is needed.
            ConnectionError: S3 cannot be reached or fails.
            ValueError: a name is invalid in S3, or the AWS settings cannot be used.
        """
        from botocore.exceptions import BotoCoreError, ClientError

        request = {"Bucket": remote.bucket, "Key": remote.key}
        if remote.version_id:
            request["VersionId"] = remote.version_id
        if start:
            request["Range"] = f"bytes={start}-"
        refusals: list[Exception] = []
        for client in self._accesses():
            try:
                answer = client.get_object(**request)
            except (BotoCoreError, ClientError) as error:
                if http_status(error) == 416:
                    return None
                permission = "s3:GetObjectVersion" if remote.version_id else "s3:GetObject"
                refusals.append(as_python(error, remote, permission))
                if isinstance(refusals[-1], ConnectionError):
                    raise refusals[-1] from error
            else:
                start = start if "ContentRange" in answer else 0
                return answer["Body"], start, start + answer["ContentLength"]
        raise next((error for error in refusals if isinstance(error, FileNotFoundError)), refusals[0])

    def _accesses(self) -> list[Any]:
        with self._lock:
            self._clients = self._clients or s3_clients()
        return self._clients


def s3_clients() -> list[Any]:
    """The clients to try, in order: with the credentials of this machine, if it has any, and without.

    Raises:
        ValueError: the AWS settings cannot be used.
    """
    import boto3
    from botocore import UNSIGNED
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError

    # A mirror rarely has a subdomain for each bucket.
    mirror = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    config = Config(
        connect_timeout=20,
        read_timeout=60,
        max_pool_connections=32,
        s3={"addressing_style": "path"} if mirror else None,
    )
    try:
        session = boto3.Session()
        accesses = [None, UNSIGNED] if session.get_credentials() else [UNSIGNED]
        return [
            session.client(
                "s3", session.region_name or "us-east-1", config=config.merge(Config(signature_version=access))
            )
            for access in accesses
        ]
    except (BotoCoreError, ValueError) as error:
        raise ValueError(f"the AWS settings of this machine cannot be used: {one_line(error)}") from error


def as_python(error: BaseException, remote: RemoteFile, permission: str) -> Exception:
    """Convert an error of boto3 into one of Python's, with advice.

    Args:
        error: the error.
        remote: the object of the request.
        permission: what the request takes, for the advice.
    """
    from botocore import exceptions

    said, status = one_line(error), http_status(error)
    if isinstance(error, exceptions.ParamValidationError):
        return ValueError(f"S3 can have no such bucket, object or version: {remote} ({said})")
    if isinstance(error, exceptions.ConnectionError | exceptions.HTTPClientError):
        return ConnectionError(f"no connection for {remote}: {said}")
    if not status:
        return ValueError(f"the AWS settings of this machine cannot be used for {remote}: {said}")
    if "NoSuchBucket" in said:
        return FileNotFoundError(f"there is no bucket {remote.bucket!r}, which {remote} names")
    if status in (404, 405) or status == 400 and "version" in said.lower():
        what = f"object {remote.key!r} in bucket {remote.bucket!r}"
        if remote.version_id and "NoSuchKey" not in said:
            return FileNotFoundError(f"{what} has no version {remote.version_id!r}")
        return FileNotFoundError(f"there is no {what}")
    if status >= 500 or status == 429:
        return ConnectionError(f"S3 failed for {remote}: {said}")
    return PermissionError(
        f"S3 refused {remote}: {said}. It takes the permission {permission} on "
        f"arn:aws:s3:::{remote.bucket}/{remote.key}: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
        f"AWS_PROFILE, of an account to which the owner of bucket {remote.bucket!r} has given it. (To those who may "
        "not list a bucket, S3 says the same of an object that does not exist)"
    )


def http_status(error: Any) -> int:
    """The HTTP status of an error response of S3; 0 without a response."""
    return int(getattr(error, "response", {}).get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
