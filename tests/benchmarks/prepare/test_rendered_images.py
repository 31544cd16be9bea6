"""Images that are rendered here are stored once, and again where a file is damaged."""

import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from PIL import Image

from bsjax.benchmarks.prepare.rendered_images import rendered_images

RENDERINGS = [partial(np.full, (8, 8), 10 * number, np.uint8) for number in range(6)]
TWO_PROCESSES = """
import time
from functools import partial
import numpy as np
from bsjax.benchmarks.prepare.rendered_images import rendered_images

def render(number):
    print("rendered", flush=True)
    time.sleep(0.2)
    return np.full((8, 8), number, np.uint8)

rendered_images("some", [partial(render, number) for number in range(6)], 1)
"""


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("BSJAX_HOME", str(tmp_path))


def test_files_are_rendered_once_and_again_where_one_is_damaged():
    files = rendered_images("some", RENDERINGS, 1)
    for number, file in enumerate(files):
        np.testing.assert_array_equal(np.asarray(Image.open(file)), 10 * number)
    times = [file.stat().st_mtime_ns for file in files]
    assert rendered_images("some", RENDERINGS, 1) == files
    assert times == [file.stat().st_mtime_ns for file in files]
    content = files[5].read_bytes()
    turned = content[:-20] + bytes([content[-20] ^ 1]) + content[-19:]
    for damaged in (b"", turned, files[4].read_bytes()):  # as a power cut leaves it, a bit changed, another image
        files[5].write_bytes(damaged)
        assert rendered_images("some", RENDERINGS, 1)[5].read_bytes() == content
    assert set(rendered_images("other", RENDERINGS, 1)).isdisjoint(files)


def test_what_a_killed_process_has_left_is_finished():
    file = rendered_images("some", RENDERINGS, 1)[0]
    content = file.read_bytes()
    (file.parent / "sha256.json").unlink()  # it comes last
    file.unlink()
    (file.parent / ".0123456789abcdef.part").write_bytes(content[:10])
    assert rendered_images("some", RENDERINGS, 1)[0].read_bytes() == content


@pytest.mark.slow
def test_two_processes_at_once():
    both = [
        subprocess.Popen([sys.executable, "-c", TWO_PROCESSES], stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    assert sum(process.communicate()[0].count("rendered") for process in both) == 6
    assert [process.returncode for process in both] == [0, 0]
