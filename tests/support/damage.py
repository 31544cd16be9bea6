"""A dozen kinds of damage to files, and what comes of each: run in a process of its own, which may hang or crash.

    python -m tests.support.damage FOLDER READER...          what came of each damaged file, a line of JSON each
    python -m tests.support.damage --some FOLDER READER...   of a third of the kinds for each reader, as in the tests

A damaged file may be refused by a clear error, or read as what it was; where bsjax has not written it, it may also read
as something else. All else is a defect of its reader.
"""

import hashlib
import json
import os
import random
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

_MEMORY = 6 << 30
_CLEAN = (ValueError, KeyError, FileNotFoundError, NotADirectoryError, PermissionError, OSError)


def _put(content: bytes, at: float, piece: bytes) -> bytes:
    start = int(at * len(content))
    return content[:start] + piece + content[start + len(piece) :]


def _flip(content: bytes, at: float) -> bytes:
    start = int(at * len(content))
    return _put(content, at, bytes([content[start] ^ 4])) if start < len(content) else content


KINDS: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "its first bytes": lambda content: content[:8],
    "its first half": lambda content: content[: len(content) // 2],
    "all but a byte": lambda content: content[:-1],
    "more at its end": lambda content: content + b"\0" * 64,
    "a part twice": lambda content: content[: len(content) // 2] + content[len(content) // 3 :],
    "a part lost": lambda content: content[: len(content) // 3] + content[len(content) // 3 + 16 :],
    "another kind of file": lambda content: b"GIF89a" + bytes(200),
    "text": lambda content: b"no such file\n" * 9,
    "no head": lambda content: _put(content, 0, b"\xff" * 16),
    "zeros inside": lambda content: _put(content, 0.4, bytes(64)),
    "a bit of its head": lambda content: _flip(content, 0.02),
    "a bit of its middle": lambda content: _flip(content, 0.5),
    "a bit of its end": lambda content: _flip(content, 0.97),
}


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


def defects(name: str, folder: Path, every: int = 1) -> Iterator[tuple[str, str]]:
    """Damage to the files of a reader that it does not refuse as it should, and what it says; of every n-th kind."""
    from tests.support.readers import READERS

    reader, original, here = READERS[name], folder / name / "original", folder / name / "read"
    original.mkdir(parents=True)
    reader.make(original)
    shutil.copytree(original, here)
    whole = fingerprint(reader.read(here))
    files = sorted(path.relative_to(original) for path in original.rglob(reader.files) if path.is_file())
    for kind, damage in list(KINDS.items())[list(READERS).index(name) % every :: every]:
        print(f"{name}: {kind}", file=sys.stderr, flush=True)  # the last thing said before a crash
        file = random.Random(f"{name} {kind}").choice(files)
        shutil.rmtree(here)
        shutil.copytree(original, here)
        (here / file).write_bytes(damage((original / file).read_bytes()))
        try:
            read = reader.read(here)
        except Exception as error:
            own = type(error) in _CLEAN or type(error).__module__.startswith("bsjax") and isinstance(error, _CLEAN)
            if not own or not any(part in str(error) for part in (str(here), file.name, *reader.named)):
                yield f"{kind} in {file}", f"{type(error).__name__}: {error}"
        else:
            if reader.ours and read is not None and fingerprint(read) != whole:
                yield f"{kind} in {file}", "it reads as something else"


def main(folder: Path, names: list[str], every: int) -> None:
    """Print the defects of some readers."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("error")
    os.environ["BSJAX_HOME"] = str(folder / "home")
    for name in names:
        for kind, said in defects(name, folder, every):
            print(json.dumps([name, kind, said]))


if __name__ == "__main__":
    some = sys.argv[1] == "--some"
    place, *asked = sys.argv[1 + some :]
    main(Path(place), asked, 3 if some else 1)
