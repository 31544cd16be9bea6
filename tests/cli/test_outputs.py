"""What commands write: looked at before the work, and nothing is lost with a file or a stream that fails."""

import json
import os
import stat
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from bsjax.cli import app
from tests.cli.conftest import OWN
from tests.support.forked import run_command

COMMAND = f'"{sys.executable}" -c "from bsjax.cli import main; main()"'
ASKED = "--plugins plugins score -m doe-net -b Doe2026-half"
SCORE = f"{COMMAND} {ASKED}"


@pytest.fixture
def here(tmp_path, plugin, monkeypatch):
    plugin("doe", OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BSJAX_PLUGINS", "")  # what commands in this process add goes again
    return tmp_path


def shell(command, **options):
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=120, **options)


def device(path, minor):
    """A device of the test's own, which whoever replaces it harms nobody with."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, minor))
        os.close(os.open(path, os.O_WRONLY))
    except OSError as error:
        pytest.skip(f"no devices can be made and used here: {error}")


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


def test_the_table_is_printed_if_writing_fails_later(here):
    device(here / "full", 7)
    done = run_command(*ASKED.split(), "--json", "full")
    assert done.returncode == 1 and "0.500" in done.stdout
    assert done.stderr.splitlines()[-1] == "bsjax: --json: No space left on device"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "redirection", "reason"),
    [("list models", ">&-", "Bad file descriptor"), ("cache size", "> full", "No space left on")],
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


def test_a_name_that_the_encoding_lacks_is_printed_all_the_same(here):
    init = here / "plugins" / "doe" / "__init__.py"
    init.write_text(init.read_text().replace("doe-net", "dœ-net"), encoding="utf-8")
    done = shell(f"PYTHONIOENCODING=latin-1 {COMMAND} --plugins plugins list models")
    assert done.returncode == 0 and "d\\u0153-net" in done.stdout


@pytest.mark.slow
def test_warnings_are_lines(here):
    init = here / "plugins" / "doe" / "__init__.py"
    init.write_text(init.read_text().replace('.with_name("scored")', "; import warnings; warnings.warn('odd\\ndata')#"))
    lines = run_command(*ASKED.split()).stderr.splitlines()
    assert "bsjax: odd data" in lines and not any("UserWarning" in line for line in lines)
