"""Downloads that are cut off, killed, or altered on their way."""

import hashlib

import numpy as np
import pytest

from bsjax.data.remote.cache import fetch_file
from bsjax.data.remote.downloads import ATTEMPTS, CHUNK, download
from bsjax.data.remote.storage import RemoteFile, Storage

SIZE = 4 * CHUNK + 1234
CONTENT = np.random.default_rng(0).bytes(SIZE)
SHA1 = hashlib.sha1(CONTENT).hexdigest()


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr("bsjax.data.remote.downloads.PAUSE", 0)


@pytest.fixture
def remote(s3, relay, bucket) -> RemoteFile:
    s3.put_object(Bucket=bucket, Key="folder/a.bin", Body=CONTENT)
    return RemoteFile(bucket, "folder/a.bin", sha1=SHA1)


def fetch(remote, tmp_path, report=lambda here, size: None) -> bool:
    """Download into a file; whether it came in pieces."""
    return download(remote, tmp_path / "a", Storage(), report)


def ranges(relay) -> list[str | None]:
    return [asked.range for asked in relay.asked]


def test_in_one_piece(remote, relay, tmp_path):
    reported = []
    assert not fetch(remote, tmp_path, lambda here, size: reported.append((here, size)))
    assert (tmp_path / "a").read_bytes() == CONTENT
    assert reported == [(min(CHUNK * k, SIZE), SIZE) for k in range(6)]
    assert ranges(relay) == [None]
    assert fetch(remote, tmp_path) and (tmp_path / "a").read_bytes() == CONTENT  # all of it is there


def test_a_lost_connection_is_taken_up_where_it_ended(remote, relay, tmp_path):
    relay.trouble.cut_after = [CHUNK, 0, CHUNK + 100]
    assert fetch(remote, tmp_path)
    assert (tmp_path / "a").read_bytes() == CONTENT
    assert ranges(relay)[:2] == [None, f"bytes={CHUNK}-"] and len(relay.asked) == 4
    assert relay.sent < SIZE + CHUNK


def test_a_connection_lost_for_good_leaves_what_came(remote, relay, tmp_path):
    relay.trouble.cut_after = [CHUNK] + [0] * ATTEMPTS
    with pytest.raises(ConnectionError) as error:
        fetch(remote, tmp_path)
    assert f"{remote} was given up after 4 attempts without progress, with {CHUNK:,} bytes" in str(error.value)
    fetch(remote, tmp_path)
    assert (tmp_path / "a").read_bytes() == CONTENT and ranges(relay)[-1] == f"bytes={CHUNK}-"


@pytest.mark.slow
def test_without_a_digest_each_attempt_starts_again(remote, relay, tmp_path, s3):
    """Nothing would tell that the object has changed in between."""
    remote = RemoteFile(remote.bucket, remote.key)
    relay.trouble.cut_after = [CHUNK]
    assert not fetch(remote, tmp_path)
    assert ranges(relay) == [None, None]
    s3.put_object(Bucket=remote.bucket, Key=remote.key, Body=CONTENT[::-1])
    relay.trouble.cut_after = [CHUNK] * ATTEMPTS
    with pytest.raises(ConnectionError, match="given up"):
        fetch(remote, tmp_path)
    assert not fetch(remote, tmp_path) and (tmp_path / "a").read_bytes() == CONTENT[::-1]


@pytest.mark.parametrize("left", [b"of another object", bytes(SIZE + 1)], ids=["another", "too long"])
def test_a_part_of_another_object_is_noticed(left, remote, relay, brainio_home):
    part = brainio_home / SHA1 / ".a.bin.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(left)
    assert fetch_file(remote.bucket, remote.key, SHA1).read_bytes() == CONTENT
    assert ranges(relay) == [f"bytes={len(left)}-", None]


def test_bytes_that_are_not_those_of_the_stored_checksum_are_fetched_again(s3, relay, bucket, tmp_path):
    """S3 keeps a checksum of what was uploaded, also where no digest is registered."""
    s3.put_object(Bucket=bucket, Key="a.bin", Body=CONTENT, ChecksumAlgorithm="CRC32")
    relay.trouble.alter = 1
    fetch(RemoteFile(bucket, "a.bin"), tmp_path)
    assert (tmp_path / "a").read_bytes() == CONTENT and ranges(relay) == [None, None]
