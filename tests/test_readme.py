"""The README's Python, copied literally, works; its commands are those that there are."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import bsjax

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
SHELL = "\n".join(re.findall(r"^```sh\n(.*?)^```", README, re.MULTILINE | re.DOTALL))


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_python_that_needs_the_core_alone():
    core = [block for block in PYTHON if "torch" not in block]
    assert len(core) == len(PYTHON) - 1
    printed = run("\n".join(core)).splitlines()
    assert len(printed) == 26
    assert all(re.match(r"Score\(0\.\d{4}", line) for line in printed[:5])
    assert printed[5].split()[:2] == ["model", "benchmark"]
    assert ["gabor-v1", "Simulated.V1-cka"] in [line.split()[:2] for line in printed[6:8]]
    assert printed[8].endswith("{'V1': 'complex'}")
    assert printed[9].startswith("{'V1': ") and "Score(" in printed[9]
    assert printed[10] == "Doe2026.V1-ridge, version 1, averaged under V1"
    assert re.match(r"Score\(0\.\d{4}", printed[-8])
    assert printed[-6].endswith("95 % t over stimuli") and printed[-5].split() == ["score", "low", "high", "rank"]
    assert re.match(r"Score\(0\.\d{4} ± ", printed[-1])
    assert printed[-7].startswith("Score(0.0000")  # two of four right on each side, one of them shared


@pytest.mark.slow
def test_the_python_with_torch():
    pytest.importorskip("torch")
    [block] = [block for block in PYTHON if "torch" in block]
    layers, score = run("import bsjax\n" + block).splitlines()
    assert "'1': (8, " in layers
    assert score.startswith("Score(")


def test_it_opens_with_the_two_commands():
    first = SHELL.splitlines()[:2]
    assert [line.split("#")[0].strip() for line in first] == ["make score", "make test"]
    targets = (Path(__file__).parents[1] / "Makefile").read_text()
    assert all(re.search(rf"^{target}:", targets, re.MULTILINE) for target in ("score", "test"))


def test_its_commands_name_things_that_there_are():
    from typer.testing import CliRunner

    from bsjax.cli import app

    for command in re.findall(r"^bsjax (\w+)", SHELL, re.MULTILINE):
        assert CliRunner().invoke(app, [command, "--help"]).exit_code == 0
    for command, options in re.findall(r"^bsjax (data \w+|score)(.*)$", SHELL, re.MULTILINE):
        output = CliRunner().invoke(app, [*command.split(), "--help"]).output
        assert all(option in output for option in re.findall(r"--\w+", options))
    for model in re.findall(r"--model '?([^'\s]+)", SHELL):
        assert bsjax.model_registry.match(model)
    for benchmark in re.findall(r"--benchmark '(\S+)'", SHELL):
        assert benchmark == "Doe2026*" or bsjax.benchmark_registry.match(benchmark)
    for benchmark in re.findall(r"^bsjax show (\S+)", SHELL, re.MULTILINE):
        assert benchmark in bsjax.benchmark_registry


@pytest.mark.slow
def test_its_table_holds_what_is_scored():
    rows = [line.split() for line in README.splitlines() if re.match(r"[\w-]+ +Simulated\.V1-", line)]
    assert len(rows) == 4
    for model, benchmark, *numbers in rows:
        score = bsjax.score(model, benchmark)
        interval = score.interval()
        computed = [score.unceiled.value, score.ceiling.value, score.value, score.error, interval.low, interval.high]
        assert [float(number) for number in [*numbers[:4], *numbers[4].split("..")]] == pytest.approx(
            computed, abs=0.005
        )
