"""Containment: what the self-test finds holds, as root and as an ordinary user, and costs little."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.request
from pathlib import Path

import pytest

import bsjax
from bsjax.core.identity.opened import following
from bsjax.submission.environments import install
from bsjax.submission.sandbox import Limits, Sandbox
from bsjax.submission.sandbox.index import Index, reachable
from bsjax.submission.sandbox.limits import Watch
from bsjax.submission.sandbox.self_test import self_test

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
ORDINARY = """
from bsjax.submission.sandbox.self_test import self_test
print([tried for tried in self_test() if tried.problem])
"""


@pytest.mark.slow
def test_all_holds_here():
    assert [tried for tried in self_test() if tried.problem] == []


@pytest.fixture
def in_container(monkeypatch):
    """Contained by podman in the place of bubblewrap, in an image without a file."""
    if shutil.which("podman") is None:
        pytest.skip("podman is not installed")
    empty = subprocess.run(["tar", "--create", "--files-from", os.devnull], capture_output=True, check=True).stdout
    runtime = "--runtime runc " if shutil.which("runc") else ""
    subprocess.run(["podman", "import", "-", "localhost/bsjax-empty"], input=empty, capture_output=True, check=False)
    monkeypatch.setenv("BSJAX_CONTAINER", f"podman {runtime}localhost/bsjax-empty")
    with Sandbox().start(["/bin/true"]) as process:
        if process.wait():
            pytest.skip(f"podman runs no container here: {process.log}")


def test_what_the_watchdog_measures_is_no_input_of_a_score():
    with following() as followed, Sandbox().start(["/bin/sh", "-c", "sleep 1"]) as process:
        process.wait()
    assert followed.notes() == {}


def test_a_folder_that_is_taken_away_ends_the_process(tmp_path):
    process, watch = subprocess.Popen(["sleep", "60"]), Watch()
    watch.follow(lambda: process.pid, Limits(), [tmp_path / "gone"], process.kill, threading.Event())
    assert process.wait() and watch.kind == "disk" and "was taken away" in watch.reason


@pytest.mark.slow
def test_all_holds_in_a_container(in_container):
    assert [tried for tried in self_test() if tried.problem] == []


@pytest.mark.slow
def test_a_process_in_a_container_ends_with_its_status_and_leaves_nothing(in_container):
    with Sandbox().start(["/bin/sh", "-c", "echo said; echo logged >&2; exit 3"]) as process:
        assert process.stdout.read() == b"said\n" and process.wait() == 3
    assert process.log == "logged\n" and process.reason == "it ended with status 3"
    there = subprocess.run(["podman", "ps", "--all", "--format", "{{.Names}}"], capture_output=True, text=True)
    assert "bsjax-" not in there.stdout


@pytest.fixture(scope="module")
def ordinary():
    """``ordinary(*arguments)`` runs Python as a user who may do little, with copies of bsjax and these tests.

    It is the system's Python, as that of the tests may lie where others cannot look.
    """
    if os.geteuid() != 0:
        pytest.skip("only root becomes another user")
    system, packages = "/usr/bin/python3", Path(pytest.__file__).parents[1]
    version = subprocess.run([system, "-c", "import sys; print(sys.version_info[:2])"], capture_output=True, text=True)
    if version.stdout.strip() != str(sys.version_info[:2]) or shutil.which("setpriv") is None:
        pytest.skip("there is no Python of the system that can read these packages")
    place = Path(tempfile.mkdtemp(prefix="bsjax-ordinary-", dir="/var/tmp"))
    python = str(place / "venv" / "bin" / "python")

    def run(*arguments):
        variables = {"PATH": "/usr/bin:/bin", "HOME": str(place / "home")}
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", python, *arguments]
        done = subprocess.run(command, env=variables, cwd=place, capture_output=True, text=True)
        if "Permission denied" in done.stderr or "No module named" in done.stderr:
            pytest.skip("an ordinary user cannot read these packages")
        return done

    try:
        subprocess.run([system, "-m", "venv", "--without-pip", place / "venv"], check=True)
        [found] = (place / "venv" / "lib").glob("python*/site-packages")
        (found / "shared.pth").write_text(f"{place}\n{packages}\n")
        for folder in (Path(bsjax.__file__).parent, Path(__file__).parents[1]):
            shutil.copytree(folder, place / folder.name, ignore=shutil.ignore_patterns("__pycache__"))
        for made in ("home", "scratch"):
            (place / made).mkdir()
            (place / made).chmod(0o777)
        place.chmod(0o755)
        yield run
    finally:
        shutil.rmtree(place, ignore_errors=True)


@pytest.mark.slow
def test_all_holds_for_an_ordinary_user(ordinary):
    done = ordinary("-c", ORDINARY)
    assert done.stdout == "[]\n", done.stderr


@pytest.mark.slow
def test_models_of_an_ordinary_user_do_no_harm_either(ordinary):
    chosen = ["tests/submission/test_model_side.py", "-k", "forks or takes or fills or sees", "-m", ""]
    done = ordinary("-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp=scratch/of-tests", *chosen)
    assert done.returncode == 0 and "5 passed" in done.stdout, done.stdout[-3000:] + done.stderr


def test_the_first_and_the_last_of_a_log_are_kept():
    code = "import sys; [print(number, file=sys.stderr) for number in range(100_000)]"
    with Sandbox(limits=Limits(log=1000)).start([sys.executable, "-c", code]) as process:
        assert process.wait() == 0
    assert process.log.startswith("0\n1\n") and process.log.endswith("99998\n99999\n") and len(process.log) < 1100


@pytest.fixture
def served():
    """A server on this machine that answers with the path that it is asked for."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer():
            while True:
                try:
                    one, _ = listening.accept()
                except OSError:
                    return
                with one:
                    asked = one.recv(65536).split(b"\r\n")[0].split(b" ")[1]
                    one.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(asked), asked))

        threading.Thread(target=answer, daemon=True).start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)


def test_an_installation_reaches_the_index_and_nobody_else(served):
    index = Index.of(f"http://127.0.0.1:{served}/simple")
    assert urllib.request.urlopen(f"http://127.0.0.1:{served}/here").read() == b"/here"
    with socket.create_server(("127.0.0.1", 0)) as other:
        places = [f"http://127.0.0.1:{served}/simple/a/", f"http://127.0.0.1:{other.getsockname()[1]}/"]
        code = f"""
import urllib.request, urllib.error
for place in {places}:
    try:
        print(urllib.request.urlopen(place, timeout=5).read())
    except urllib.error.URLError as error:
        print(error)
try:
    urllib.request.build_opener(urllib.request.ProxyHandler({{}})).open({places[0]!r}, timeout=5)
except OSError as error:
    print("refused" in str(error))
"""
        with reachable(index) as place:
            command = [sys.executable, "-m", "bsjax.submission.sandbox.index", str(place), sys.executable, "-c", code]
            with Sandbox((place,), variables=index.variables("{proxy}")).start(command) as process:
                said = process.stdout.read().decode().splitlines()
                assert process.wait() == 0, process.log
    assert said == ["b'/simple/a/'", "HTTP Error 403: Forbidden", "True"]


BACKEND = """
import os, socket, sys

reached = []

def found(what, value):
    reached.append((what, repr(value)[:20]))

def build_wheel(directory, settings=None, metadata=None):
    for path in {paths}:
        try:
            found("file", open(path).read())
        except OSError:
            pass
    for name, value in os.environ.items():
        if "SECRET" in name + value:
            found("variable", name)
    try:
        found("network", socket.create_connection(("127.0.0.1", {port}), 2))
    except OSError:
        pass
    for place in ("/", "/usr", sys.base_prefix, {plugin!r}):
        try:
            open(os.path.join(place, "written"), "w")
            found("written", place)
        except OSError:
            pass
    raise SystemExit(f"the backend ran and reached {{reached}}")
"""


@pytest.mark.slow
def test_code_that_runs_while_it_is_installed_reaches_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_SECRET", "SECRET")
    secret = tmp_path / "home" / "results.db"
    plugin = tmp_path / "handed in"
    (plugin / "evil").mkdir(parents=True)
    secret.parent.mkdir()
    secret.write_text("SECRET")
    (plugin / "__init__.py").write_text("from bsjax import model_registry\nmodel_registry['doe'] = lambda: 1\n")
    (plugin / "requirements.txt").write_text("./evil\n-r ../home/results.db\n")
    (plugin / "evil" / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        '[project]\nname = "evil"\nversion = "1"\n'
    )
    with socket.create_server(("127.0.0.1", 0)) as listening:
        code = BACKEND.format(paths=[str(secret)], port=listening.getsockname()[1], plugin=str(plugin))
        (plugin / "evil" / "backend.py").write_text(code)
        # A file beside the plugin is not there for it.
        index = Index(folders=(tmp_path / "wheels",))
        index.folders[0].mkdir()
        first = install(plugin, tmp_path / "first", Limits(seconds=120), index)
        (plugin / "requirements.txt").write_text("./evil\n")
        second = install(plugin, tmp_path / "second", Limits(seconds=120), index)
    assert first.environment is None and "results.db" in first.reason and "SECRET" not in first.reason
    assert second.environment is None and "evil" in second.reason
    assert "the backend ran and reached []" in second.reason, second.reason
