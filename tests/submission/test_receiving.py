"""What is handed in as a folder or a zip file: taken whole, or refused in one line before anything is written."""

import os
import re
import socket
import stat
import struct
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from bsjax.submission.handing_in import registered_in
from bsjax.submission.receiving import Bounds, plugins_in, receive

MODEL = "from bsjax import model_registry\nmodel_registry['doe'] = lambda: 1\n"
BENCHMARK = "from brainscore_vision import benchmark_registry\nbenchmark_registry['Doe-pls'] = lambda: 1\n"
GOOD = {"models/doe/__init__.py": MODEL, "models/doe/weights.bin": "w" * 100}


def zipped(path: Path, files, compression=zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, content in files.items():
            file.writestr(name, content)
    return path


def written(folder: Path, files) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


def files_of(folder: Path):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def into(tmp_path):
    return tmp_path / "received"


@pytest.fixture
def refused(tmp_path, into):
    """Hands something in that is to be refused so; nothing is written."""

    def check(source, message, bounds=None):
        before = sorted(path for path in tmp_path.rglob("*") if not path.is_relative_to(into))
        with pytest.raises(ValueError, match=message) as raised:
            receive(source, into, bounds or Bounds())
        assert str(raised.value).isprintable() and "\n" not in str(raised.value)
        assert not into.exists() or list(into.iterdir()) == []
        assert before == sorted(path for path in tmp_path.rglob("*") if not path.is_relative_to(into))

    return check


def test_a_folder_and_its_zip_files_are_one_content(tmp_path, into):
    left = {".git/config": "", "models/.hidden": "", "models/doe/__pycache__/a.pyc": "", "__MACOSX/models/._a": ""}
    received = receive(written(tmp_path / "lab", {**GOOD, **left}), into)
    assert files_of(received.folder) == sorted(GOOD) and received.folder == into / received.content
    inside = {f"top/{name}": content for name, content in {**GOOD, **left}.items()}
    for name, files in {"a": GOOD, "b": {**GOOD, **left}, "c": inside}.items():
        assert receive(zipped(tmp_path / f"{name}.zip", files), into) == received
    assert list(into.iterdir()) == [received.folder] and [*registered_in(received.folder)] == ["model"]
    assert (received.folder / "models/doe/weights.bin").read_text() == "w" * 100
    other = receive(zipped(tmp_path / "d.zip", {**GOOD, "models/doe/weights.bin": "v" * 100}), into)
    assert other.content != received.content


@pytest.mark.parametrize(
    ("files", "kept", "kinds"),
    [
        ({"brainscore_vision/benchmarks/doe/__init__.py": BENCHMARK}, "benchmarks/doe", ["benchmark"]),
        ({"lab/benchmarks/doe/__init__.py": BENCHMARK, **{f"lab/{k}": v for k, v in GOOD.items()}}, "", None),
        ({"__init__.py": MODEL}, "my_model__1_", ["model"]),
        ({"doe/__init__.py": MODEL}, "doe", ["model"]),
        ({"lab/model.json": '{"identifier": "doe", "activations": "a.npz"}', "lab/a.npz": "x"}, "", ["model"]),
    ],
)
def test_the_layouts_of_submissions(files, kept, kinds, tmp_path, into):
    folder = receive(zipped(tmp_path / "my model (1).zip", files), into).folder
    found = plugins_in(folder)
    assert [*registered_in(folder)] == (kinds or ["model", "benchmark"])
    if kept:
        assert [plugin.folder.relative_to(folder).as_posix() for plugin in found] == [kept]


def test_a_plugin_that_is_handed_in_alone_is_a_package_by_the_name_of_the_submission(tmp_path, into):
    files = {"__init__.py": MODEL, "test.py": ""}
    first, second = (zipped(tmp_path / name, files) for name in ("0123.zip", "4567.zip"))
    received = [receive(source, into, name="my-model") for source in (first, second)]
    assert received[0] == received[1] and (received[0].folder / "my_model" / "test.py").is_file()
    assert (receive(first, into).folder / "plugin_0123" / "test.py").is_file()


@pytest.mark.parametrize("files", [{}, {"README.md": "x"}, {"models/doe/model.py": "x"}, {"deep/er/model.json": "x"}])
def test_what_holds_nothing_to_score_is_refused(files, tmp_path, refused):
    refused(zipped(tmp_path / "a.zip", files), r"a.zip holds nothing .*models/NAME/ .*model.json beside activations")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("../evil", "leads outside"),
        ("..\\evil", "leads outside"),
        ("/etc/evil", "leads outside"),
        ("C:\\evil", "leads outside"),
        ("models\\doe\\evil", "has a backslash"),
        ("models/\x1b[31mevil", "cannot be printed"),
        ("Models/doe/__init__.py", "has the name of another, 'models/doe/__init__.py'"),
        ("models/doe/__init__.py/evil", "has the name of another"),
        ("cafe\u0301", "has the name of another"),
        ("a/" * 21 + "b", "more than 20 folders deep"),
        ("a" * 201, "has a name of more than 200 bytes"),
    ],
)
def test_names_that_could_do_harm_are_refused(name, why, tmp_path, refused):
    with zipfile.ZipFile(zipped(tmp_path / "a.zip", {**GOOD, "caf\u00e9": "1"}), "a") as file:
        file.writestr(name, "x")
    refused(tmp_path / "a.zip", f"a.zip is refused: its member .* ({why})")


def test_links_pipes_devices_and_sockets_are_refused_and_hard_links_copied(tmp_path, refused, monkeypatch, into):
    for kind, what in ((stat.S_IFLNK, "a symbolic link"), (stat.S_IFCHR, "a device"), (0o170000, "no regular")):
        link = zipfile.ZipInfo("models/doe/link")
        link.external_attr = (kind | 0o777) << 16
        with zipfile.ZipFile(zipped(tmp_path / "a.zip", GOOD), "a") as file:
            file.writestr(link, "/etc/passwd")
        refused(tmp_path / "a.zip", f"its member 'models/doe/link' is {what}")
    monkeypatch.chdir(tmp_path)  # a socket's path is short
    folder = written(tmp_path / "lab", GOOD)
    with socket.socket(socket.AF_UNIX) as made:
        for name, make in {
            "a symbolic link": lambda path: os.symlink("/etc", path),
            "a pipe": os.mkfifo,
            "a socket": made.bind,
        }.items():
            make("lab/models/odd")
            refused(folder, f"its member 'models/odd' is {name}")
            os.unlink("lab/models/odd")
    (folder / os.fsdecode(b"\xff")).write_text("")
    refused(folder, "cannot be printed")
    os.unlink(folder / os.fsdecode(b"\xff"))
    os.link(folder / "models/doe/weights.bin", folder / "models/doe/again.bin")
    received = receive(folder, into)
    assert {(received.folder / "models/doe" / name).stat().st_nlink for name in ("weights.bin", "again.bin")} == {1}


def test_what_is_encrypted_or_packed_otherwise_is_refused(tmp_path, refused):
    archive = zipped(tmp_path / "a.zip", GOOD)
    content = bytearray(archive.read_bytes())
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(mark) + place] |= 1
    archive.write_bytes(content)
    refused(archive, "its member 'models/doe/__init__.py' is encrypted")
    for how in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        refused(zipped(tmp_path / "b.zip", GOOD, how), "is packed in a way other than")


@pytest.mark.parametrize("content", [b"", b"no zip file", b"PK\x05\x06" + bytes(18), b"\x1f\x8b\x08" + bytes(100)])
def test_what_is_no_zip_file_is_refused(content, tmp_path, refused):
    (tmp_path / "a.zip").write_bytes(content)
    refused(tmp_path / "a.zip", "cannot read .*a.zip as a zip file .*pack it again|a.zip holds nothing")
    with pytest.raises(FileNotFoundError):
        receive(tmp_path / "b.zip", tmp_path / "received")


def test_a_damaged_zip_file_is_refused_and_nothing_is_left(tmp_path, refused):
    archive = zipped(tmp_path / "a.zip", GOOD, zipfile.ZIP_STORED)
    archive.write_bytes(archive.read_bytes().replace(b"w" * 100, b"w" * 99 + b"v"))
    refused(archive, "Bad CRC-32 for file 'models/doe/weights.bin'.: pack it again")


# Bombs.


def test_what_says_that_it_is_large_is_refused_at_once(tmp_path, refused):
    archive = zipped(tmp_path / "a.zip", {**GOOD, "zeros": bytes(1000)})
    content = bytearray(archive.read_bytes())
    at = content.rindex(b"PK\x01\x02")
    content[at + 24 : at + 28] = struct.pack("<L", 3_000_000_000)
    archive.write_bytes(content)
    refused(archive, "its member 'zeros' makes it 3 GB, in a zip file of 4.. B")
    refused(archive, "its member 'zeros' makes it more than 1.07 GB", Bounds(ratio=10**9))


def test_what_is_larger_than_it_says_is_not_unpacked_further(tmp_path, refused):
    with zipfile.ZipFile(zipped(tmp_path / "a.zip", GOOD), "a", zipfile.ZIP_DEFLATED) as file:
        with file.open("zeros", "w") as member:
            for _ in range(100):
                member.write(bytes(1 << 20))
    refused(tmp_path / "a.zip", "its member 'zeros' makes it 105 MB, in a zip file of 10. kB")
    content = bytearray((tmp_path / "a.zip").read_bytes())
    at = content.rindex(b"PK\x01\x02")
    content[at + 24 : at + 28] = struct.pack("<L", 1 << 20)
    (tmp_path / "a.zip").write_bytes(content)
    refused(tmp_path / "a.zip", "Bad CRC-32 for file 'zeros'")


def test_members_that_lie_over_each_other_are_refused(tmp_path, refused):
    archive = zipped(tmp_path / "a.zip", {**GOOD, "one": "x" * 5000, "two": "y"}, zipfile.ZIP_STORED)
    content = bytearray(archive.read_bytes())
    first = content.index(b"PK\x01\x02")
    one = content.index(b"PK\x01\x02", content.index(b"PK\x01\x02", first + 1) + 1)
    two = content.index(b"PK\x01\x02", one + 1)
    content[two + 42 : two + 46] = content[one + 42 : one + 46]
    archive.write_bytes(content)
    refused(archive, "its member '(one|two)' lies over '(one|two)'")


@pytest.mark.slow
def test_a_million_files_are_refused_before_their_names_are_read(tmp_path, refused):
    entry = b"PK\x01\x02" + struct.pack("<HHHHHHLLLHHHHHLL", 20, 20, 0, 0, 0, 33, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0)
    directory = b"".join(entry + b"%07d" % number for number in range(1_000_000))
    end = b"PK\x05\x06" + struct.pack("<HHHHLLH", 0, 0, 65535, 65535, len(directory), 0, 0)
    (tmp_path / "a.zip").write_bytes(directory + end)
    refused(tmp_path / "a.zip", "a.zip holds more than 10,000 files")
    refused(tmp_path / "a.zip", "a.zip has a table of contents of 53 MB", Bounds(directory=1 << 20))


def test_a_folder_is_bounded_too(tmp_path, refused, into):
    folder = written(tmp_path / "lab", {**GOOD, **{f"models/doe/{number}": "x" * 10 for number in range(20)}})
    refused(folder, "holds more than 21 files", Bounds(n_files=21))
    refused(folder, "makes it more than 250 B", Bounds(n_bytes=250))
    refused(folder, "lies more than 1 folders deep", Bounds(depth=1))
    refused(written(folder, {"models/doe/table.py": "a" * 300}), "is code of more than 256 B", Bounds(code=256))
    assert len(files_of(receive(folder, into).folder)) == 23


def test_what_a_file_says_of_its_size_is_not_believed(refused):
    source = Path("/proc/sys/kernel/random")  # whose files say that they have no bytes
    if not source.is_dir():
        pytest.skip("no such files")
    refused(source, "boot_id' makes it more than 10 B", Bounds(n_bytes=10))


def test_a_full_disk_leaves_nothing(tmp_path, into):
    folder = written(tmp_path / "lab", {**GOOD, "models/doe/large": "x" * 100_000})
    code = (
        f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))\n"
        "from bsjax.submission.receiving import receive\n"
        f"try: receive({str(folder)!r}, {str(into)!r})\n"
        "except OSError as error: print(error)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert re.match(r"cannot receive lab in .*received \(File too large\): free some room, or set BSJAX_HOME", said)
    assert list(into.iterdir()) == []


def test_what_a_killed_process_left_goes_when_it_is_old(tmp_path, into):
    for name, age in (("old", 2), ("new", 0)):
        (into / f".receiving-{name}").mkdir(parents=True)
        os.utime(into / f".receiving-{name}", (time.time() - age * 86400,) * 2)
    received = receive(written(tmp_path / "lab", GOOD), into)
    assert {path.name for path in into.iterdir()} == {".receiving-new", received.content}
