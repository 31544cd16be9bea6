"""Files that are written aside: what is at their place is replaced if it is a file, and written into if it is not."""

import os
import socket
import stat
import subprocess
import sys
import threading

import pytest

from bsjax.core.files import check_writable, write_atomically


def test_a_link_stays_and_its_file_is_replaced(tmp_path):
    file, link = tmp_path / "far" / "scores.json", tmp_path / "link.json"
    file.parent.mkdir()
    file.write_bytes(b"old")
    link.symlink_to("far/scores.json")
    before = file.stat().st_ino
    write_atomically(link, b"new")
    assert link.is_symlink() and file.read_bytes() == b"new" and not file.is_symlink()
    assert file.stat().st_ino != before  # whole, as everywhere else
    file.unlink()
    write_atomically(link, b"again")  # a link to what is not there yet
    assert link.is_symlink() and file.read_bytes() == b"again"
    assert os.listdir(tmp_path / "far") == ["scores.json"] and sorted(os.listdir(tmp_path)) == ["far", "link.json"]


def test_a_pipe_gets_the_content_and_stays(tmp_path):
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()
    check_writable(pipe)
    write_atomically(pipe, b"content" * 100_000)  # more than a pipe holds
    reader.join(60)
    assert got == [b"content" * 100_000]
    assert stat.S_ISFIFO(pipe.stat().st_mode) and os.listdir(tmp_path) == ["pipe"]


def test_a_device_stays_a_device(tmp_path):
    device = tmp_path / "null"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        device.write_bytes(b"")
    except OSError as error:
        pytest.skip(f"no devices can be made and used here: {error}")
    check_writable(device)
    write_atomically(device, b"content")
    assert stat.S_ISCHR(device.stat().st_mode) and os.listdir(tmp_path) == ["null"]


def test_what_stdout_goes_to_is_written_on(tmp_path):
    # A link of the test's own, as /dev/stdout is one: whoever replaces it harms nobody.
    file, link = tmp_path / "out.txt", tmp_path / "stdout"
    link.symlink_to("/dev/fd/1")
    code = "import sys; from bsjax.core.files import write_atomically\nprint('before')\n"
    code += "for place in sys.argv[1:]:\n    write_atomically(place, b'content\\n')\nprint('after')"
    with open(file, "wb") as out:
        subprocess.run([sys.executable, "-c", code, link, file], stdout=out, check=True)
    assert file.read_bytes() == b"before\ncontent\ncontent\nafter\n"
    assert sorted(os.listdir(tmp_path)) == ["out.txt", "stdout"] and link.is_symlink()


def test_what_cannot_be_written_is_known_before(tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"old")
    with pytest.raises(NotADirectoryError, match="a.json cannot be written: Not a directory"):
        check_writable(tmp_path / "file" / "a.json")
    with pytest.raises(OSError, match="x cannot be written: File name too long"):
        check_writable(tmp_path / ("x" * 300))
    with pytest.raises(IsADirectoryError, match="is a folder"):
        check_writable(tmp_path)
    with pytest.raises(OSError, match=r"cannot be written"):
        check_writable("/proc/scores.json")
    with socket.socket(socket.AF_UNIX) as listener:
        monkeypatch.chdir(tmp_path)  # the path of a socket is short
        listener.bind("socket")
        with pytest.raises(OSError, match="it is a socket"):
            check_writable("socket")
    check_writable(tmp_path / "file")
    check_writable(tmp_path / "none" / "a.json")
    assert sorted(os.listdir(tmp_path)) == ["file", "socket"] and (tmp_path / "file").read_bytes() == b"old"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_of_others_is_known_before(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(PermissionError, match=r"a.json cannot be written: Permission denied"):
            check_writable(tmp_path / "a.json")
    finally:
        tmp_path.chmod(0o700)
