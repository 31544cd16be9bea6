"""The workflow of ``bsjax new workflow``: what it gives to strangers, and its steps, run on a repository."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from bsjax.cli import app
from bsjax.submission import write_workflow

# A name that would run a command if it became part of one.
HOSTILE = "doe `touch ran` $(touch ran) ; touch ran"


@pytest.fixture(scope="module")
def workflow(tmp_path_factory):
    return yaml.safe_load(write_workflow(tmp_path_factory.mktemp("repository")).read_text())


def steps(workflow, job):
    return workflow["jobs"][job]["steps"]


def step(workflow, job, name):
    [found] = [step["run"] for step in steps(workflow, job) if step.get("name") == name]
    return found


def test_strangers_get_nothing(workflow):
    # YAML reads the key "on" as true.
    assert workflow[True].keys() == {"pull_request", "push"} and workflow["permissions"] == {"contents": "read"}
    check, submit = workflow["jobs"]["check"], workflow["jobs"]["submit"]
    assert "permissions" not in check and submit["permissions"] == {}
    assert "secrets." not in yaml.dump(check) and submit["environment"] == "bsjax"
    assert "github.event_name == 'push'" in submit["if"] and not any(
        "checkout" in str(each) for each in submit["steps"]
    )
    for each in (*check["steps"], *submit["steps"]):
        subprocess.run(["bash", "-n"], input=each.get("run", ""), text=True, check=True)
        assert "${{" not in each.get("run", "") and re.fullmatch(
            r"[\w/-]+@[0-9a-f]{40}", each.get("uses", "a@" + "0" * 40)
        )
    assert check["steps"][0]["with"]["persist-credentials"] is False


def test_what_is_there_is_left(tmp_path):
    def new(*arguments):
        return CliRunner().invoke(app, ["new", *arguments, "--to", str(tmp_path)])

    assert new("workflow").stdout.split() == [str(tmp_path / ".github/workflows/bsjax.yml")]
    assert "is there already, and is left as it is" in str(new("workflow").exception)
    assert new("workflow", "doe").exit_code == new("model").exit_code == 2


@pytest.fixture
def runner(tmp_path, workflow):
    """A repository of plugins, and what runs a step in it as GitHub does."""
    repository, temporary = tmp_path / "repository", tmp_path / "runner"
    (repository / HOSTILE / "code").mkdir(parents=True)
    (repository / HOSTILE / "__init__.py").write_text("from bsjax import model_registry\nmodel_registry['x'] = 1\n")
    for name in ("first", "metrics/second"):
        (repository / name).mkdir(parents=True)
        made = f"metric_registry[{Path(name).name!r}] = lambda: lambda source, target: Score(1.0)\n"
        (repository / name / "__init__.py").write_text(f"from bsjax import Score, metric_registry\n\n{made}")
        (repository / name / "test.py").write_text("def test_nothing():\n    pass\n")
    temporary.mkdir()
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "bsjax").write_text(f'#!/bin/sh\nexec {sys.executable} -m bsjax "$@"\n')
    (programs / "curl").write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {temporary}/asked; cat > {temporary}/header\n')
    for program in programs.iterdir():
        program.chmod(0o755)
    variables = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "BSJAX_PLUGINS": str(repository)}
    variables |= {"RUNNER_TEMP": str(temporary), "GITHUB_OUTPUT": str(temporary / "output")}

    def run(name, folder=repository, job="check", **more):
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step(workflow, job, name)]
        return subprocess.run(command, cwd=folder, env=variables | more, capture_output=True, text=True)

    def commit():
        git = ["git", "-C", str(repository), "-c", "user.name=doe", "-c", "user.email=doe@example.org"]
        for arguments in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "a change"]):
            subprocess.run([*git, *arguments], check=True)

    commit()
    return repository, temporary, run, commit


def changed(temporary):
    return (temporary / "changed").read_text().split("\0")[:-1]


def test_plugins_that_changed_are_found(runner):
    repository, temporary, run, commit = runner
    done = run("Find the plugins that changed", BEFORE="0" * 40)
    assert done.returncode == 0, done.stderr
    assert changed(temporary) == sorted(["./first", "./metrics/second", f"./{HOSTILE}"])
    assert (temporary / "output").read_text() == "changed=true\n"
    (temporary / "output").unlink()
    (repository / "README.md").write_text("Plugins.")
    commit()
    assert run("Find the plugins that changed", BEFORE="HEAD^1").returncode == 0
    assert changed(temporary) == [] and not (temporary / "output").exists()
    (repository / HOSTILE / "code" / "a\nnew.py").write_text("")
    (repository / "first" / "test.py").unlink()
    commit()
    assert run("Find the plugins that changed", BEFORE="HEAD^1").returncode == 0
    assert changed(temporary) == sorted(["./first", f"./{HOSTILE}"])
    assert run("Zip them").returncode == 0
    zips = {path.name for path in (temporary / "zips").iterdir()}
    assert zips == {"first.zip", f"{HOSTILE}.zip"} and not list(repository.rglob("ran"))


@pytest.mark.slow
def test_plugins_that_changed_are_checked(runner):
    repository, temporary, run, commit = runner
    run("Find the plugins that changed", BEFORE="0" * 40)
    bad = run("Check them")
    assert bad.returncode == 1 and "all 6 items" in bad.stdout and "model x" in bad.stdout, bad.stdout + bad.stderr
    assert not list(repository.rglob("ran"))
    (repository / "metrics" / "second" / "notes.txt").write_text("More.")
    commit()
    run("Find the plugins that changed", BEFORE="HEAD^1")
    good = run("Check them")
    assert good.returncode == 0 and "metric second" in good.stdout and "first" not in good.stdout, good.stderr


def test_zips_are_submitted_with_a_token_that_no_argument_holds(runner):
    _, temporary, run, commit = runner
    zips = temporary / "zips"
    zips.mkdir()
    Path(zips, "metrics-second.zip").write_bytes(b"zip")
    done = run("Submit them", temporary, "submit", SERVICE="https://example.org", TOKEN="a-token")
    assert done.returncode == 0 and (temporary / "header").read_text() == "Authorization: Bearer a-token\n"
    asked = (temporary / "asked").read_text().splitlines()
    assert asked[-3:] == ["--url-query", "name=metrics-second", "https://example.org/api/submissions"]
    assert "@zips/metrics-second.zip" in asked and "a-token" not in "".join(asked)
