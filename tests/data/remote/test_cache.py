"""The cache: each file verified once, whole or not there, whatever happens in between."""

import hashlib
import io
import json
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

from bsjax.data.remote.cache import cached_path, fetch_file, fetch_files, showing
from bsjax.data.remote.downloads import CHUNK
from bsjax.data.remote.storage import RemoteFile
from tests.support.processes import printed_by

SIZE = 2 * CHUNK + 77
CONTENT = np.random.default_rng(1).bytes(SIZE)
SHA1 = hashlib.sha1(CONTENT).hexdigest()
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def remote(s3, relay, bucket) -> RemoteFile:
    """An object of some chunks."""
    s3.put_object(Bucket=bucket, Key="folder/a.bin", Body=CONTENT)
    return RemoteFile(f"{bucket}/folder", "a.bin", sha1=SHA1)


def fetch(remote: RemoteFile, **options) -> Path:
    return fetch_files([remote], **options)[0]


def files_in(folder: Path) -> list[str]:
    """Files that can be seen, and those that should not be left; not the locks."""
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return sorted(name for name in found if not name.endswith(".lock"))


def fetching(remote: RemoteFile) -> str:
    """A program that fetches a file, and prints its path or the error."""
    return (
        "from bsjax.data.remote.cache import fetch_file\n"
        f"try: print(fetch_file({remote.bucket!r}, {remote.key!r}, {remote.sha1!r}))\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )


def test_a_file_is_fetched_and_verified_once(remote, relay, brainio_home):
    path = fetch_file(remote.bucket, remote.key, SHA1)
    assert path == brainio_home / SHA1 / "a.bin" == cached_path(remote) and path.read_bytes() == CONTENT
    assert files_in(brainio_home) == [f"{SHA1}/.a.bin.verified", f"{SHA1}/a.bin"]
    # A change that neither size nor time tells of would only be found by reading the content again.
    before = path.stat()
    path.write_bytes(bytes(SIZE))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert fetch(remote).read_bytes() == bytes(SIZE) and len(relay.asked) == 1


def test_a_later_change_is_noticed_and_mended(remote, relay):
    path = fetch(remote)
    path.write_bytes(CONTENT[::-1])
    with pytest.warns(UserWarning, match=rf"removed {path}: expected sha1 {SHA1}, got [0-9a-f]{{40}}; fetching it"):
        assert fetch(remote).read_bytes() == CONTENT
    assert len(relay.asked) == 2


@pytest.mark.parametrize("harm", ["none", "not a note", "removed"])
def test_a_file_of_brain_score_is_verified_and_kept(harm, remote, relay):
    path = cached_path(remote)
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT)
    fetch(remote)
    note = path.with_name(".a.bin.verified")
    assert json.loads(note.read_text())["digests"] == {"sha1": SHA1}
    if harm == "removed":
        note.unlink()
    elif harm == "not a note":
        note.write_text("[]")
    assert fetch(remote).read_bytes() == CONTENT and relay.asked == []
    assert json.loads(note.read_text())["size"] == SIZE


@pytest.mark.slow
def test_a_second_digest_is_verified_when_it_is_asked_for(remote, relay):
    fetch(remote)
    both = RemoteFile(remote.bucket, remote.key, sha1=SHA1, sha256=SHA256.upper())
    assert fetch(both) == cached_path(remote) and len(relay.asked) == 1
    wrong = RemoteFile(remote.bucket, remote.key, sha1=SHA1, sha256="0" * 64)
    with pytest.warns(UserWarning, match="removed"), pytest.raises(ValueError, match=f"expected sha256 {'0' * 64}"):
        fetch(wrong)
    assert not cached_path(remote).is_file()
    alone = RemoteFile(remote.bucket, remote.key, sha256=SHA256)
    assert fetch(alone).parent.name == SHA256


@pytest.mark.parametrize("fault", ["wrong digest", "altered on the way"])
def test_a_wrong_object_is_refused_removed_and_named(fault, remote, relay, brainio_home):
    if fault == "wrong digest":
        remote = RemoteFile(remote.bucket, remote.key, sha1="12" * 20)
    else:
        relay.trouble.alter = 1
    with pytest.raises(ValueError, match=rf"{remote} is not the file it should be: expected sha1 {remote.sha1}, got"):
        fetch(remote)
    assert files_in(brainio_home) == []


def test_a_piece_at_fault_costs_a_second_fetch_only(remote, relay):
    relay.trouble.cut_after = [2 * CHUNK]
    relay.trouble.alter = 1
    assert fetch(remote).read_bytes() == CONTENT
    assert [asked.range for asked in relay.asked] == [None, f"bytes={2 * CHUNK}-", None]


def many(s3, bucket: str, number: int) -> list[RemoteFile]:
    remotes = []
    for index in range(number):
        content = bytes([index]) * 200_000
        s3.put_object(Bucket=bucket, Key=f"{index}.bin", Body=content)
        remotes.append(RemoteFile(bucket, f"{index}.bin", sha1=hashlib.sha1(content).hexdigest()))
    return remotes


def test_several_files_at_once(s3, relay, bucket):
    remotes = many(s3, bucket, 6)
    relay.trouble.together = 3
    paths = fetch_files([*remotes, remotes[0]], at_once=3)
    assert paths == [cached_path(remote) for remote in [*remotes, remotes[0]]]
    assert [path.read_bytes()[0] for path in paths] == [0, 1, 2, 3, 4, 5, 0]
    assert relay.most_at_once == 3 and len(relay.asked) == 6


def test_of_several_files_each_that_fails_is_named(s3, relay, bucket):
    good = many(s3, bucket, 2)
    bad = [RemoteFile(bucket, "0.bin", sha1="0" * 40), RemoteFile(bucket, "gone.bin", sha1="1" * 40)]
    with pytest.raises(OSError, match=r"2 of 4 files were not fetched: .*0.bin is not the file.*no object 'gone.bin'"):
        fetch_files([good[0], *bad, good[1]])
    assert all(cached_path(file).is_file() for file in good)
    with pytest.raises(FileNotFoundError):
        fetch_files([good[0], bad[1]])


def test_progress_is_reported_to_whom_it_was_asked_for(remote, s3, bucket):
    reported = []
    with showing(lambda *report: reported.append(report)):
        fetch(remote)
    assert reported == [("a.bin", here, SIZE) for here in (0, CHUNK, 2 * CHUNK, SIZE)]
    fetch_files(many(s3, bucket, 3), progress=lambda *report: reported.append(report))
    assert {report[0] for report in reported} == {"a.bin", "0.bin", "1.bin", "2.bin"}
    assert ("2.bin", 200_000, 200_000) in reported


def test_an_interrupt_stops_all_and_what_has_come_stays(s3, relay, bucket):
    remotes = many(s3, bucket, 8)

    def interrupt(name: str, here: int, size: int) -> None:
        if name == "0.bin":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch_files(remotes, progress=interrupt, at_once=2)
    assert len({asked.path for asked in relay.asked}) < 8 and not cached_path(remotes[0]).exists()
    assert len(fetch_files(remotes)) == 8


def without_privileges(code: str) -> str:
    """The program, in a process for which the permissions of files hold, as they do not for root."""
    if os.geteuid():
        return code
    return (
        "import ctypes, os, sys\n"
        # PR_CAPBSET_DROP of CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, which takes effect with the next program
        "for capability in (1, 2): ctypes.CDLL(None, use_errno=True).prctl(24, capability, 0, 0, 0)\n"
        f"os.execv(sys.executable, [sys.executable, '-c', {code!r}])"
    )


@pytest.mark.parametrize("there", ["nothing", "the file", "a wrong file"])
def test_a_cache_that_can_only_be_read(there, remote, relay, brainio_home):
    path = cached_path(remote)
    path.parent.mkdir(parents=True)
    if there != "nothing":
        path.write_bytes(CONTENT if there == "the file" else CONTENT[:-1])
    path.parent.chmod(0o555)
    try:
        said = printed_by("-c", without_privileges(fetching(remote) * 2)).splitlines()
    finally:
        path.parent.chmod(0o755)
    assert len(said) == 2 and said[0] == said[1]
    if there == "the file":
        assert said[0] == str(path)
    else:
        assert said[0].startswith(f"PermissionError cannot keep {remote} in {path.parent} (Permission denied; ")
        assert ("nothing is there" if there == "nothing" else "expected sha1") in said[0]
        assert "make the folder writable, or set BRAINIO_HOME" in said[0]
    assert relay.asked == [] and files_in(path.parent) == ([] if there == "nothing" else ["a.bin"])


@pytest.mark.slow
def test_a_full_disk_is_named_and_what_came_is_continued(remote, relay, brainio_home):
    """A limit on the size of files stops the writing at the same place, and in the same way, as a full disk."""
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({CHUNK + 5}, {CHUNK + 5}))\n"
    said = printed_by("-c", limit + fetching(remote))
    assert said.startswith(
        f"OSError cannot keep {remote} in {brainio_home / SHA1} (File too large; nothing is there): "
    )
    assert "free some room, or set BRAINIO_HOME" in said and not cached_path(remote).is_file()
    relay.asked.clear()
    assert fetch(remote).read_bytes() == CONTENT
    assert [asked.range for asked in relay.asked] == [f"bytes={CHUNK + 5}-"]


def test_a_disk_that_is_too_small_is_named_before_the_download(remote, relay, small_disk, monkeypatch):
    monkeypatch.setenv("BRAINIO_HOME", str(small_disk))
    with pytest.raises(OSError, match=rf"{SIZE:,} bytes are to come and [34]\d\d,\d\d\d are free"):
        fetch(remote)
    assert files_in(small_disk) == [f"{SHA1}/.a.bin.part"]


@pytest.mark.slow
def test_a_kill_at_any_stage_is_mended_by_the_next_fetch(s3, relay, bucket, tmp_path):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for index in range(3):
            file.writestr(f"{index}.png", CONTENT[: CHUNK // 2])
    content = packed.getvalue()
    s3.put_object(Bucket=bucket, Key="s.zip", Body=content)
    arguments = [bucket, "s.zip", hashlib.sha1(content).hexdigest(), tmp_path]
    told = printed_by("-m", "tests.support.crashes", *arguments)
    for stage in ("os.rename", ".s.zip.part", ".s.zip.verified", f"progress {len(content)}", ".s.unzipping/1.png"):
        assert stage in told
