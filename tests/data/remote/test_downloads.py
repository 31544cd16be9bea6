"""Downloads that are cut off, killed, or altered on their way."""

import hashlib
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from bsjax.data.remote.cache import fetch_file
from bsjax.data.remote.downloads import ATTEMPTS, CHUNK, download, note_of
from bsjax.data.remote.storage import RemoteFile, Storage

SIZE = 4 * CHUNK + 1234
CONTENT = np.random.default_rng(0).bytes(SIZE)
SHA1 = hashlib.sha1(CONTENT).hexdigest()


@pytest.fixture
def remote(s3, relay, bucket) -> RemoteFile:
    s3.put_object(Bucket=bucket, Key="folder/a.bin", Body=CONTENT)
    return RemoteFile(bucket, "folder/a.bin")


def ranges(relay) -> list[str | None]:
    return [asked.range for asked in relay.asked]


def test_in_one_piece(remote, relay, tmp_path):
    reported = []
    pieced = download(remote, tmp_path / "a", Storage(), lambda here, size: reported.append((here, size)))
    assert not pieced and (tmp_path / "a").read_bytes() == CONTENT
    assert reported == [(min(CHUNK * k, SIZE), SIZE) for k in range(6)]
    assert ranges(relay) == [None]


def test_a_lost_connection_is_taken_up_where_it_ended(remote, relay, tmp_path):
    relay.trouble.cut_after = [CHUNK, 0, CHUNK + 100]
    assert download(remote, tmp_path / "a", Storage())
    assert (tmp_path / "a").read_bytes() == CONTENT
    assert ranges(relay)[:2] == [None, f"bytes={CHUNK}-"] and len(relay.asked) == 4
    assert relay.sent < SIZE + CHUNK


def test_a_connection_lost_for_good_leaves_what_came(remote, relay, tmp_path, monkeypatch):
    monkeypatch.setattr("bsjax.data.remote.downloads.PAUSE", 0.01)
    relay.trouble.cut_after = [CHUNK] + [0] * ATTEMPTS
    with pytest.raises(ConnectionError) as error:
        download(remote, tmp_path / "a", Storage())
    assert f"{remote} was given up after 5 requests, with {CHUNK:,} bytes of it here" in str(error.value)
    download(remote, tmp_path / "a", Storage())
    assert (tmp_path / "a").read_bytes() == CONTENT and ranges(relay)[-1] == f"bytes={CHUNK}-"


@pytest.mark.parametrize(
    "said",
    [
        f"bytes 5-9/{SIZE}",
        f"bytes {CHUNK}-{SIZE}/\xb2",
        "nonsense",
    ],
)
def test_ranges_that_were_not_asked_for_end_the_download(remote, relay, tmp_path, said):
    def change(asked, headers):
        if asked.status == 206:
            headers["content-range"] = said

    relay.trouble.change_headers = change
    relay.trouble.cut_after = [CHUNK] * 30
    with pytest.raises(ConnectionError, match=f"{remote} was given up after 8 requests.*what came is '") as error:
        download(remote, tmp_path / "a", Storage())
    assert repr(said) in str(error.value) and len(relay.asked) == 2 * ATTEMPTS


@pytest.mark.parametrize("forget_condition", [False, True])
def test_an_object_that_is_another_each_time_ends_the_download(remote, relay, tmp_path, forget_condition):
    """Whether the server refuses to go on with another object, or sends it."""

    def change(asked, headers):
        headers["etag"] = f'"{len(relay.asked)}"'

    relay.trouble.change_headers, relay.trouble.forget_condition = change, forget_condition
    relay.trouble.cut_after = [CHUNK] * 30
    with pytest.raises(ConnectionError, match=f"{remote} was given up after 8 requests.*(has changed|its ETag was)"):
        download(remote, tmp_path / "a", Storage())
    assert len(relay.asked) == 2 * ATTEMPTS


def test_a_connection_that_brings_next_to_nothing_is_given_up(remote, relay, tmp_path, monkeypatch):
    """Without any wait: what has come is looked at when it comes, and not when there is as much as was asked for."""
    monkeypatch.setattr("bsjax.data.remote.downloads.PAUSE", 0)
    monkeypatch.setattr("bsjax.data.remote.pace.PATIENCE", 0)
    relay.trouble.stop_after = 100
    with pytest.raises(ConnectionError, match=f"{remote} was given up after 4 requests.*only 100 bytes came in 0 s"):
        download(remote, tmp_path / "a", Storage())


def test_an_answer_without_an_end_is_given_up(remote, relay, tmp_path, monkeypatch):
    monkeypatch.setattr("bsjax.data.remote.downloads.PAUSE", 0)
    relay.trouble.endless = True
    with pytest.raises(ConnectionError, match=f"{remote} was given up .*more came than the {SIZE:,} bytes"):
        download(remote, tmp_path / "a", Storage())
    assert not (tmp_path / "a").exists()


def begun(remote, relay, part) -> None:
    """Leave the first chunk in ``part``, as an interrupt does."""

    def interrupt(here: int, size: int) -> None:
        if here:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        download(remote, part, Storage(), interrupt)
    assert part.stat().st_size == CHUNK
    relay.asked.clear()


def test_what_has_come_whole_is_not_asked_for_again(remote, relay, tmp_path):
    download(remote, tmp_path / "a", Storage())
    relay.asked.clear()
    assert download(remote, tmp_path / "a", Storage())
    assert relay.asked == []


def test_a_changed_object_starts_again(remote, relay, tmp_path, s3):
    begun(remote, relay, tmp_path / "a")
    s3.put_object(Bucket=remote.bucket, Key=remote.key, Body=CONTENT[::-1])
    assert not download(remote, tmp_path / "a", Storage())
    assert (tmp_path / "a").read_bytes() == CONTENT[::-1]
    assert [asked.status for asked in relay.asked] == [412, 200]


@pytest.mark.parametrize("harm", ["no note", "damaged note", "another object", "too long"])
def test_a_part_of_unknown_origin_starts_again(harm, remote, relay, tmp_path):
    part = tmp_path / "a"
    begun(remote, relay, part)
    note = note_of(part)
    if harm == "no note":
        note.unlink()
    elif harm == "damaged note":
        note.write_bytes(note.read_bytes()[:20])
    elif harm == "another object":
        note.write_text(note.read_text().replace("a.bin", "b.bin"))
    else:
        part.write_bytes(bytes(SIZE + 1))
    download(remote, part, Storage())
    assert part.read_bytes() == CONTENT and ranges(relay) == [None]


@pytest.mark.parametrize("lack", ["without_etag", "without_ranges"])
def test_a_server_that_cannot_continue_sends_all_again(lack, remote, relay, tmp_path):
    setattr(relay.trouble, lack, True)
    relay.trouble.cut_after = [2 * CHUNK]
    download(remote, tmp_path / "a", Storage())
    assert (tmp_path / "a").read_bytes() == CONTENT
    assert relay.sent == 2 * CHUNK + SIZE


def test_bytes_that_are_not_those_of_the_stored_checksum_are_fetched_again(s3, relay, bucket, tmp_path):
    """S3 keeps a checksum of what was uploaded, also where no digest is registered."""
    s3.put_object(Bucket=bucket, Key="a.bin", Body=CONTENT, ChecksumAlgorithm="CRC32")
    relay.trouble.alter = 1
    download(RemoteFile(bucket, "a.bin"), tmp_path / "a", Storage())
    assert (tmp_path / "a").read_bytes() == CONTENT and ranges(relay) == [None, None]


def test_a_killed_download_is_continued_by_the_next_process(remote, relay, brainio_home):
    relay.trouble.stop_after = 2 * CHUNK
    code = f"from bsjax.data.remote.cache import fetch_file; fetch_file({remote.bucket!r}, {remote.key!r}, {SHA1!r})"
    process = subprocess.Popen([sys.executable, "-c", code], env=os.environ)
    part = brainio_home / SHA1 / ".a.bin.part"
    while not (part.exists() and part.stat().st_size == 2 * CHUNK):
        if process.poll() is not None:
            pytest.fail("the download did not begin")
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (brainio_home / SHA1 / "a.bin").exists()

    relay.trouble.stop_after = None
    relay.asked.clear()
    path = fetch_file(remote.bucket, remote.key, SHA1)
    assert path.read_bytes() == CONTENT
    assert ranges(relay) == [f"bytes={2 * CHUNK}-"] and relay.sent == SIZE - 2 * CHUNK
    assert not part.exists() and not note_of(part).exists()
