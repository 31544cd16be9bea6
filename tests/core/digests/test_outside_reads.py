"""What code reads from outside when it runs: it is found, and its value is a part of the digest."""

import io
import os
import pathlib
from os import environ, getenv
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bsjax.core.digests.outside_reads import reads_of
from bsjax.core.digests.values import Undigestible, digest_of

NAME, FOLDER = "BSJAX_TEST_GAIN", Path("/somewhere")
FILE = FOLDER / "gains.txt"
NAMES = [NAME]


def variable(name=NAME):
    return [("environment variable", name)]


def file(name):
    return [("file", str(name))]


def imports_inside():
    import os as system
    from pathlib import Path as Place

    return system.environ[NAME], Place("x")


def imports_a_part_inside():
    import os.path
    from os import environ as variables

    def inner():
        return os.environ["A"]

    return variables["B"], inner


def closes_over():
    import os as system

    name = "BSJAX_TEST_GAIN"
    return lambda: system.environ[name]


def reads_an_open_file():
    with open(FILE, "rb") as opened:
        return np.load(opened)


def compresses(image, quality=10):
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=quality)
    return Image.open(buffer), Image.open(io.BytesIO(buffer.getvalue()))


def in_a_loop(images):
    return [os.getenv("BSJAX_TEST_GAIN", default="1") for _ in images]


FOUND = {
    "brackets": (lambda: os.environ["BSJAX_TEST_GAIN"], variable()),
    "a global name": (lambda: os.environ[NAME], variable()),
    "get": (lambda: os.environ.get("BSJAX_TEST_GAIN"), variable()),
    "get with a default": (lambda x: os.environ.get("BSJAX_TEST_GAIN", str(x) + NAME), variable()),
    "getenv": (lambda: os.getenv("BSJAX_TEST_GAIN", "2"), variable()),
    "by their own names": (lambda: (environ["A"], getenv("B")), [*variable("A"), *variable("B")]),
    "in": (lambda: "BSJAX_TEST_GAIN" in os.environ, variable()),
    "not in": (lambda: NAME not in environ, variable()),
    "bytes": (lambda: os.environb[b"A"], variable("A")),
    "inside of an argument": (lambda x: float(x * int(os.environ["A"])), variable("A")),
    "inside of an inner function": (lambda: lambda: os.environ["A"], variable("A")),
    "inside of a comprehension": (in_a_loop, variable()),
    "imported inside": (imports_inside, variable()),
    "imported by a part": (imports_a_part_inside, [*variable("A"), *variable("B")]),
    "closed over": (closes_over(), variable()),
    "open": (lambda: open("gains.txt"), file("gains.txt")),
    "open for reading": (lambda: open(FILE, "rb", buffering=0), file(FILE)),
    "a context": (lambda: [line for line in open("a.txt", encoding="ascii")], file("a.txt")),
    "numpy": (lambda: np.load("a.npy", allow_pickle=True) * 2, file("a.npy")),
    "an image": (lambda: Image.open(FILE).convert("RGB"), file(FILE)),
    "the text of a path": (lambda: FILE.read_text(encoding="utf-8"), file(FILE)),
    "by a file that is open": (reads_an_open_file, file(FILE)),
    "in memory": (compresses, []),
    "for writing": (lambda x: open("log", "a").write(x), []),
    "for writing to a path that is made": (lambda x: open(x + "log", "wb"), []),
    "what only looks like it": (lambda x: (x.environ["A"], x.getenv("A"), x.open("A"), os.path.join("a", x)), []),
    "another module of files": (lambda: (pathlib.Path("a").name, NAME.lower(), FILE.name), []),
}
UNKNOWN = {
    "an argument": lambda name: os.environ[name],
    "an element": lambda: os.environ[NAMES[0]],
    "an attribute": lambda: os.getenv(FILE.name),
    "what is joined": lambda x: os.environ["A" + x],
    "what is joined of globals": lambda: os.environ[NAME + NAME],
    "what is written with a value": lambda x: os.environ.get(f"BSJAX_{x}"),
    "what is written with a global": lambda: os.getenv(f"BSJAX_{NAME}"),
    "a choice": lambda x: os.environ.get("A" if x else "B"),
    "all of them": lambda: dict(os.environ),
    "an alias": lambda: [environ for environ in [os.environ]],
    "a loop": lambda: [name for name in os.environ],
    "a path that is made": lambda x: open(FOLDER / x),
    "a path by its text": lambda: np.load(str(FILE)),
    "an element of a dict": lambda paths: open(paths["a"]),
    "a function handed on": lambda paths: list(map(open, paths)),
    "the text of a path that is made": lambda x: (FOLDER / x).read_text(),
}


@pytest.mark.parametrize("how", FOUND)
def test_what_is_named_in_the_code_is_found(how):
    function, expected = FOUND[how]
    assert sorted(reads_of(function)) == expected


@pytest.mark.parametrize("how", UNKNOWN)
def test_a_name_that_is_made_when_the_code_runs_is_refused(how):
    with pytest.raises(Undigestible, match="reads (an environment variable|a file by .*), whose name its code makes"):
        list(reads_of(UNKNOWN[how]))


def helper(x):
    return x * float(os.environ.get("BSJAX_TEST_GAIN", "1"))


def through_another(x):
    return helper(x) + 1


class Object:
    table = [through_another]

    def __init__(self, source="gains"):
        self.gains = os.environ[source] if source in os.environ else None  # it is kept, and digested as such

    def __call__(self, x):
        return self.scaled(x)

    def scaled(self, x):
        return self.table[0](x)

    def save(self, path):
        with open(path) as opened:
            return opened


class Reads(Object):
    def scaled(self, x):
        with open(self.gains) as opened:
            return x * float(opened.read())


class Maker:
    def __call__(self, x):
        return Object(x)


@pytest.mark.parametrize("value", [helper, through_another, Object(), Object().__call__, [Object()]])
def test_a_digest_knows_what_is_read_by_code_that_may_run(value, monkeypatch):
    monkeypatch.delenv("BSJAX_TEST_GAIN", raising=False)
    digests = [digest_of(value), digest_of(value)]
    for gain in ("1", "2", "2"):
        monkeypatch.setenv("BSJAX_TEST_GAIN", gain)
        digests.append(digest_of(value))
    assert digests[0] == digests[1] and digests[3] == digests[4] and len(set(digests)) == 3
    monkeypatch.setenv("BSJAX_TEST_ANOTHER", "3")
    assert digest_of(value) == digests[4]


def test_constructors_count_when_code_that_runs_makes_an_object():
    digest_of(Object())
    for value, where in ((Reads(), "Reads.scaled reads a file by open"), (Maker(), "Object.__init__ reads an envir")):
        with pytest.raises(Undigestible, match=where):
            digest_of(value)


def test_a_digest_knows_the_content_of_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def reads(x):
        return x * float(Path("gain.txt").read_text()) if x else open("gain.txt").read()

    with pytest.raises(Undigestible, match=r"read_text\(\)"):
        digest_of(reads)
    reads = FOUND["numpy"][0]
    digests = [digest_of(reads)]
    for gain in (1, 2):
        np.save("a.npy", gain)
        digests.append(digest_of(reads))
    assert len(set(digests)) == 3
    np.save("a.npy", 1)
    assert digest_of(reads) == digests[1]
