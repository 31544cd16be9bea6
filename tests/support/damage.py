"""Damaged files, read in processes of their own, so that one that hangs or crashes its reader is told from the others.

    python -m tests.support.damage 20000 REPORT    so many damaged files over all readers; what came of them, in a file

A damaged file may be refused by a clear error, or read as what it was; where bsjax has not written it, it may also read
as something else. All else is a defect of its reader.
"""

import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from tests.support.paths import REPOSITORY

SILENCE = 180  # seconds without a word after which a process hangs, however busy the machine is
_MEMORY = 6 << 30
_CLEAN = (ValueError, KeyError, FileNotFoundError, NotADirectoryError, PermissionError, OSError)


@dataclass(frozen=True)
class Outcome:
    """What came of one damaged file.

    Attributes:
        reader: its name.
        seed: which damage.
        kind: "equal", "other", "refused", "unclean", "hangs" or "crashes".
        detail: the error.
        seconds: of work, that of the processes it started with it.
    """

    reader: str
    seed: int
    kind: str
    detail: str = ""
    seconds: float = 0.0


def damaged(content: bytes, seed: int) -> bytes:
    """The content with a few bytes or bits changed, a part lost, doubled, moved, emptied, or strange bytes put in."""
    chance = random.Random(seed)
    data = bytearray(content)
    for _ in range(chance.choice([1, 1, 1, 2, 5])):
        at = chance.randrange(len(data)) if data else 0
        length = min(chance.choice([1, 2, 8, 64, 512]), max(len(data) - at, 0))
        match chance.randrange(10):
            case 0 | 1 | 2 if data:
                data[at] ^= 1 << chance.randrange(8)
            case 3 | 4 if data:
                data[at] = chance.randrange(256)
            case 5:
                del data[at:]
            case 6:
                data[at : at + length] = bytes(length) if chance.random() < 0.5 else b"\xff" * length
            case 7:
                data[at:at] = chance.choice(
                    [chance.randbytes(length), b"\0" * length, b"9" * length, b',"\n', b"-1e999"]
                )
            case 8:
                other = chance.randrange(len(data)) if data else 0
                data[at : at + length], data[other : other + length] = (
                    data[other : other + length],
                    data[at : at + length],
                )
            case 9:
                del data[at : at + length]
    return bytes(data)


def fingerprint(value: Any) -> str:
    """Equal for what is equal, whatever a reader returns; of a path, the name and the content of its file."""
    digest = hashlib.sha256()
    for part in _parts(value):
        digest.update(part if isinstance(part, bytes) else repr(part).encode(errors="surrogatepass"))
        digest.update(b"\0")
    return digest.hexdigest()


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, xr.DataArray):
        yield type(value).__name__, value.dims, value.name
        yield from _parts(value.values)
        yield from _parts({str(name): (coord.dims, coord.values) for name, coord in value.coords.items()})
        yield from _parts(value.attrs)
    elif isinstance(value, pd.DataFrame):
        yield from _parts({name: value[name].to_numpy() for name in value.columns})
        yield from _parts(dict(getattr(value, "stimulus_paths", {})))
    elif isinstance(value, np.ndarray):
        yield value.shape, str(value.dtype)
        yield value.tolist() if value.dtype.kind in "OUT" else np.ascontiguousarray(value).tobytes()
    elif isinstance(value, dict):
        for name in sorted(value, key=repr):
            yield name
            yield from _parts(value[name])
    elif isinstance(value, list | tuple):
        yield len(value)
        for part in value:
            yield from _parts(part)
    elif isinstance(value, Path):
        yield value.name
        yield value.read_bytes() if value.is_file() else sorted(path.name for path in value.iterdir())
    else:
        yield value


def work(jobs: list[tuple[str, int]], folder: Path) -> None:
    """Read damaged files, and say of each that it comes, and what came of it."""
    import resource

    from tests.support.readers import DEFECTIVE, READERS

    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("error")
    os.environ["BSJAX_HOME"] = str(folder / "home")
    whole: dict[str, str] = {}
    for name, seed in jobs:
        reader, original, here = (READERS | DEFECTIVE)[name], folder / name / "original", folder / name / "read"
        if name not in whole:
            original.mkdir(parents=True)
            reader.make(original)
            shutil.copytree(original, here)
            whole[name] = fingerprint(reader.read(here))
        print(json.dumps([name, seed]), flush=True)
        shutil.rmtree(here)
        shutil.copytree(original, here)
        files = sorted(path.relative_to(original) for path in original.rglob(reader.files) if path.is_file())
        file = random.Random(f"{name} {seed}").choice(files)
        (here / file).write_bytes(damaged((original / file).read_bytes(), seed))
        spent = _work_so_far()
        kind, detail = _try(reader, here, file, whole[name])
        print(json.dumps([kind, detail[:500], _work_so_far() - spent]), flush=True)


def _try(reader: Any, here: Path, file: Path, whole: str) -> tuple[str, str]:
    try:
        read = reader.read(here)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        bases = [base for base in type(error).__mro__ if base in _CLEAN]
        own = type(error) in _CLEAN or type(error).__module__.startswith("bsjax")
        names_it = any(part in str(error) for part in (str(here), file.name, *reader.named))
        return ("refused" if own and bases and names_it else "unclean"), said
    if read is None:
        return "refused", "not there any more"
    return ("equal" if fingerprint(read) == whole else "other"), ""


def _work_so_far() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def outcomes(jobs: list[tuple[str, int]], silence: float = SILENCE) -> list[Outcome]:
    """What comes of damaged files, each named by its reader and its seed.

    A process that dies, or says nothing for so many seconds, is replaced by another for what is left.
    """
    found: list[Outcome] = []
    while len(found) < len(jobs):
        before = len(found)
        with tempfile.TemporaryDirectory(prefix="bsjax-damage-") as folder:
            todo, errors = Path(folder, "jobs"), Path(folder, "errors")
            todo.write_text(json.dumps(jobs[before:]))
            with open(errors, "w") as said:
                command = [sys.executable, "-m", "tests.support.damage", "--work", folder]
                process = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=said, text=True)
                begun = None
                for line in _lines(process, silence):
                    if line is None:
                        found.append(Outcome(*(begun or jobs[before]), "hangs"))
                        begun = None
                    elif len(line) == 2:
                        begun = line
                    else:
                        found.append(Outcome(*begun, *line))
                        begun = None
                process.stdout.close()
                code = process.wait()
            if begun is not None:
                found.append(Outcome(*begun, "crashes", f"exit {code}: {errors.read_text()[-300:]}"))
            elif len(found) == before:
                raise RuntimeError(f"no file was read, exit {code}: {errors.read_text()[-2000:]}")
    return found


def _lines(process: subprocess.Popen, silence: float) -> Iterator[Any]:
    """What a process says; None when it has said nothing for too long."""
    said: Queue[Any] = Queue()

    def listen() -> None:
        for line in process.stdout:
            said.put(json.loads(line))
        said.put(StopIteration)

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    timeout = SILENCE  # to start
    while True:
        try:
            line = said.get(timeout=timeout)
        except Empty:
            yield None
            process.kill()
            thread.join()
            return
        if line is StopIteration:
            thread.join()
            return
        timeout = silence
        yield line


def defects(found: list[Outcome]) -> list[Outcome]:
    """What must not come of a damaged file; of one that bsjax wrote, neither may other data."""
    from tests.support.readers import DEFECTIVE, READERS

    bad = {"unclean", "hangs", "crashes"}
    return [
        outcome
        for outcome in found
        if outcome.kind in bad or (outcome.kind == "other" and (READERS | DEFECTIVE)[outcome.reader].ours)
    ]


def main(total: int, report: Path) -> None:
    from tests.support.readers import READERS

    share, began = -(-total // len(READERS)), time.monotonic()
    with open(report, "w") as file:
        for name in READERS:
            found = outcomes([(name, seed) for seed in range(share)])
            bad, counts = defects(found), dict(Counter(outcome.kind for outcome in found))
            slowest = max(outcome.seconds for outcome in found)
            print(f"{name}: {len(found)} files, {counts}, slowest {slowest:.1f} s, {len(bad)} defects", file=file)
            for outcome in bad[:20]:
                print("   ", json.dumps(asdict(outcome)), file=file)
            file.flush()
        print(f"{share * len(READERS)} files in {time.monotonic() - began:.0f} s", file=file)


if __name__ == "__main__":
    if sys.argv[1] == "--work":
        work([(name, seed) for name, seed in json.loads(Path(sys.argv[2], "jobs").read_text())], Path(sys.argv[2]))
    else:
        main(int(sys.argv[1]), Path(sys.argv[2]))
