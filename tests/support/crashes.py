"""Kill a fetch at each of its stages in turn, and fetch again: run by test_cache.py in a process of its own.

    python crashes.py BUCKET KEY SHA1 FOLDER

A process is forked for each stage: the k-th is killed (SIGKILL) just before it opens, makes, renames or removes a file
or folder for the k-th time, or hands on the k-th report of its progress. Then it is checked that all that can be seen
is whole, and that the next fetch mends the rest. Prints one line for each stage.
"""

import os
import signal
import sys
import zipfile
from pathlib import Path

from bsjax.core.digests.files import sha1_hash
from bsjax.data.files.archives import unzip
from bsjax.data.remote.cache import cached_path, fetch_file
from bsjax.data.remote.storage import RemoteFile

EVENTS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "shutil.rmtree"}


def run(bucket: str, key: str, sha1: str, progress=None) -> Path:
    return unzip(fetch_file(bucket, key, sha1, progress=progress))


def die_at(stage: int) -> tuple[list[str], object]:
    """Kill this process when it comes to its stage; also what to pass as progress."""
    home = os.environ["BRAINIO_HOME"]
    seen = 0

    def count(event: str, path: object) -> None:
        nonlocal seen
        if seen == stage:
            os.write(1, f"{event} {os.path.relpath(str(path), home)}\n".encode())
            os.kill(os.getpid(), signal.SIGKILL)
        seen += 1

    def hook(event: str, arguments: tuple) -> None:
        if event in EVENTS and str(arguments[0]).startswith(home):
            count(event, arguments[0])

    sys.addaudithook(hook)
    return lambda name, here, size: count(f"progress {here}", home)


def check(condition: bool, message: str) -> None:
    if not condition:
        sys.exit(message)


def main(bucket: str, key: str, sha1: str, folder: str) -> None:
    stage = 0
    while True:
        os.environ["BRAINIO_HOME"] = f"{folder}/{stage}"
        sys.stdout.flush()
        child = os.fork()
        if not child:
            run(bucket, key, sha1, progress=die_at(stage))
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        if os.WIFEXITED(status):
            check(os.WEXITSTATUS(status) == 0, f"stage {stage} failed")
            print(f"{stage} stages")
            return
        path = cached_path(RemoteFile(bucket, key, sha1=sha1))
        check(not path.exists() or sha1_hash(path) == sha1, f"stage {stage}: a part was seen as the file")
        extracted = path.with_suffix("")
        if extracted.exists():
            check_extracted(path, extracted, stage)
        check_extracted(path, run(bucket, key, sha1), stage)
        left = sorted(each.name for each in path.parent.iterdir())
        name, stem = path.name, path.stem
        expected = sorted([name, stem, f".{name}.lock", f".{stem}.lock", f".{name}.verified"])
        strays = [each for each in left if each not in expected]
        # a note of 150 bytes that was being written is all that may stay
        check(len(strays) <= 1 and all(each.endswith(".part") for each in strays), f"stage {stage} left {strays}")
        stage += 1


def check_extracted(archive: Path, folder: Path, stage: int) -> None:
    with zipfile.ZipFile(archive) as file:
        for member in file.infolist():
            whole = (folder / member.filename).read_bytes() == file.read(member)
            check(whole, f"stage {stage}: {member.filename} is not whole")


if __name__ == "__main__":
    main(*sys.argv[1:])
