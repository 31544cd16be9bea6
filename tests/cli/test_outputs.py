"""What commands write: looked at before the work, and nothing is lost with a file or a stream that fails."""

import json
import os
import stat
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from bsjax.cli import app
from tests.support.forked import run_command

COMMAND = f'"{sys.executable}" -c "from bsjax.cli import main; main()"'
PLUGIN = """
from pathlib import Path
from bsjax import Score, benchmark_registry, model_registry

class Half:
    identifier, version, parent, bibtex, ceiling = "Doe2026-half", 1, "IT", "", Score(1.0)

    def __call__(self, candidate):
        Path(__file__).with_name("scored").touch()
        return Score(0.5)

class Model:
    identifier = "doe-net"
    visual_degrees = start_recording = start_task = look_at = lambda self, *arguments: 8

benchmark_registry["Doe2026-half"] = Half
model_registry["doe-net"] = Model
"""
ASKED = "--plugins plugins score -m doe-net -b Doe2026-half"
SCORE = f"{COMMAND} {ASKED}"


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "plugins" / "doe").mkdir(parents=True)
    (tmp_path / "plugins" / "doe" / "__init__.py").write_text(PLUGIN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BSJAX_PLUGINS", "")  # what commands in this process add goes again
    return tmp_path


def shell(command, **options):
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=120, **options)


def scored_in(path):
    return [row["score"]["value"] for row in json.loads(path.read_text())]


def device(path, minor):
    """A device of the test's own, which whoever replaces it harms nobody with."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, minor))
        os.close(os.open(path, os.O_WRONLY))
    except OSError as error:
        pytest.skip(f"no devices can be made and used here: {error}")


@pytest.mark.slow
def test_a_link_and_a_device_stay(here):
    (here / "scores.json").write_text("old")
    (here / "link.json").symlink_to("scores.json")
    assert run_command(*ASKED.split(), "--json", "link.json").returncode == 0
    assert (here / "link.json").is_symlink() and scored_in(here / "scores.json") == [0.5]
    device(here / "null", 3)
    done = run_command(*ASKED.split(), "--json", "null")
    assert done.returncode == 0 and "0.500" in done.stdout
    assert stat.S_ISCHR((here / "null").stat().st_mode)


@pytest.mark.slow
def test_json_to_stdout_is_followed_by_the_table(here):
    (here / "out").symlink_to("/dev/fd/1")  # as /dev/stdout is a link
    for redirection, file in (("", None), ("> both", here / "both")):
        done = shell(f"{SCORE} --json out {redirection}")
        printed = done.stdout if file is None else file.read_text()
        scores, end = json.JSONDecoder().raw_decode(printed)
        assert scores[0]["score"]["value"] == 0.5 and "doe-net  Doe2026-half" in printed[end:]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--json", "no/such/" + "x" * 300], "--json needs a file that can be written: no/such/xxx"),
        (["--json", "plugins"], "--json needs a file that can be written: plugins is a folder"),
        (["--json", "file/a.json"], "--json needs a file that can be written: file/a.json cannot be written: Not a"),
        (["--json", "a.png", "--figure", "./a.png"], "--json and --figure both name a.png: give each a file of its"),
    ],
)
def test_what_cannot_be_written_is_said_before_the_work(here, options, message):
    (here / "file").write_text("old")
    done = CliRunner().invoke(app, [*ASKED.split(), *options])
    assert done.exit_code == 1 and str(done.exception).startswith(message)
    assert not (here / "plugins" / "doe" / "scored").exists()
    assert sorted(os.listdir(here)) == ["file", "plugins"] and (here / "file").read_text() == "old"


def test_so_do_other_commands(here):
    done = CliRunner().invoke(app, "layers pixels -b V1=Simulated.V1-ridge --save plugins".split())
    assert done.exit_code == 1
    assert str(done.exception).endswith("needs a file that can be written: plugins is a folder")


def test_the_table_is_printed_if_writing_fails_later(here):
    device(here / "full", 7)
    done = run_command(*ASKED.split(), "--json", "full")
    assert done.returncode == 1 and "0.500" in done.stdout
    assert done.stderr.splitlines()[-1] == "bsjax: --json: No space left on device"


@pytest.mark.slow
def test_files_are_written_where_stdout_is_closed(here):
    done = shell(f"{SCORE} --json scores.json >&-")
    assert done.returncode == 1 and scored_in(here / "scores.json") == [0.5]
    assert done.stderr.splitlines()[-1] == "bsjax: output to stdout was lost: Bad file descriptor"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "redirection", "reason"),
    [
        ("list models", ">&-", "Bad file descriptor"),
        ("cache size", "> full", "No space left on"),
    ],
)
def test_what_is_not_printed_is_said(here, command, redirection, reason):
    if "full" in redirection:
        device(here / "full", 7)
    done = shell(f"{COMMAND} {command} {redirection}")
    [line] = done.stderr.splitlines()
    assert done.returncode == 1 and line.startswith(f"bsjax: output to stdout was lost: {reason}")


def test_a_reader_that_has_seen_enough_ends_it_quietly(here):
    reader, pipe = os.pipe()
    os.close(reader)
    command = [sys.executable, "-c", "from bsjax.cli import main; main()", "list", "data"]
    done = subprocess.run(command, stdout=pipe, stderr=subprocess.PIPE, text=True)
    os.close(pipe)
    assert done.returncode == 1 and done.stderr == ""


@pytest.mark.slow
def test_stderr_that_nobody_reads_stops_nothing(here):
    reader, pipe = os.pipe()
    os.close(reader)
    done = subprocess.run(["bash", "-c", f"{SCORE} --json scores.json"], stdout=subprocess.PIPE, stderr=pipe, text=True)
    os.close(pipe)
    assert done.returncode == 0 and "0.500" in done.stdout
    assert scored_in(here / "scores.json") == [0.5]
    assert shell(f"{COMMAND} show no-such 2>&-").returncode == 1


def test_a_name_that_the_encoding_lacks_is_printed_all_the_same(here):
    init = here / "plugins" / "doe" / "__init__.py"
    init.write_text(init.read_text().replace("doe-net", "dœ-net"), encoding="utf-8")
    done = shell(f"PYTHONIOENCODING=latin-1 {COMMAND} --plugins plugins list models")
    assert done.returncode == 0 and "d\\u0153-net" in done.stdout


def test_warnings_are_lines(here):
    init = here / "plugins" / "doe" / "__init__.py"
    init.write_text(init.read_text().replace('.with_name("scored")', "; import warnings; warnings.warn('odd\\ndata')#"))
    lines = run_command(*ASKED.split()).stderr.splitlines()
    assert "bsjax: odd data" in lines and not any("UserWarning" in line for line in lines)


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ["--plugins", "LONG", "list", "models"],
        ["new", "model", "Doe", "--to", "afile"],
        ["data", "show", "LONG"],
    ],
)
def test_errors_of_the_system_are_names_and_words(here, arguments):
    (here / "afile").write_text("")
    arguments = ["x" * 300 if argument == "LONG" else argument for argument in arguments]
    done = run_command(*arguments)
    assert done.returncode == 1 and done.stdout == ""
    [line] = done.stderr.splitlines()
    assert line.endswith(("x: File name too long", "afile/doe/__init__.py: Not a directory")), line
