"""``bsjax leaderboard``: the folder that it writes, and what it serves."""

import os
import signal
import socket
import subprocess
import sys
import urllib.request
from functools import partial

import pytest

from bsjax import Score
from bsjax.cli.leaderboard import app
from tests.cli.conftest import invoke
from tests.support.paths import REPOSITORY

run = partial(invoke, app)

COMMAND = [sys.executable, "-m", "bsjax", "leaderboard"]


@pytest.fixture(autouse=True)
def _scores(store):
    for model in ("pixels", "hmax"):
        for benchmark in ("Doe2026.V4-pls", "Doe2026.IT-pls"):
            store.add(Score(0.5, error=0.01, provenance={"model": model, "benchmark": benchmark}))


def test_build_names_the_page_and_says_how_large_the_site_is(tmp_path):
    done = run("build", tmp_path / "site", "--title", "Our lab", "--how", "website")
    assert done.stdout == f"{tmp_path / 'site' / 'index.html'}\n"
    assert done.stderr.startswith("bsjax: 2 models, 2 benchmarks: ")
    assert "Our lab" in (tmp_path / "site" / "index.html").read_text()
    assert '"how":"website"' in (tmp_path / "site" / "data.js").read_text()


def test_build_refuses_what_is_not_its_own(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(FileExistsError, match="has other files in it"):
        run("build", tmp_path)
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_a_store_that_is_not_there_is_not_made(tmp_path):
    with pytest.raises(FileNotFoundError):
        run("build", tmp_path / "site", "--results", tmp_path / "none.db")
    assert not list(tmp_path.glob("none*")) and not (tmp_path / "site").exists()


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is sent as POSIX has it")
def test_serve_shows_the_site_until_it_is_interrupted(tmp_path):
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    command = [*COMMAND, "serve", "--port", "0"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=REPOSITORY, env=environment, **pipes) as process:
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(address) as page:
            assert b"bsjax leaderboard" in page.read()
        with urllib.request.urlopen(f"{address}data.js") as data:
            assert data.read().startswith(b"window.bsjaxData")
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 0 and said.splitlines()[-1] == "bsjax: stopped"
    assert not list(tmp_path.glob("bsjax-site-*"))


def test_serve_says_when_a_port_is_taken(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        with pytest.raises(OSError, match="give another by --port"):
            run("serve", tmp_path / "site", "--port", taken.getsockname()[1])
