"""The README's Python, copied literally, works; its commands are those that there are."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import bsjax

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
SHELL = "\n".join(re.findall(r"^```sh\n(.*?)^```", README, re.MULTILINE | re.DOTALL))


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_python_that_needs_the_core_alone():
    core = [block for block in PYTHON if "torch" not in block]
    assert len(core) == len(PYTHON) - 1
    printed = run("\n".join(core)).splitlines()
    assert len(printed) == 9
    assert all(re.match(r"Score\(0\.\d{4}", line) for line in printed[:5])
    assert "('gabor-v1', 'Simulated.V1-cka')" in printed[5]
    assert printed[6].endswith("{'V1': 'complex'}")
    assert printed[7].startswith("{'V1': ") and "Score(" in printed[7]
    assert printed[8].startswith("Score(0.0000")  # two of four right on each side, one of them shared


def test_its_table_of_a_model_and_people(shared_data):
    [block] = [block for block in PYTHON if "model_vs_human" in block]
    code = f"import bsjax\n{block}\nprint(against_people({str(shared_data / 'geirhos2021')!r}, 'resnet50').to_string())"
    assert re.search(r"mean +0\.5588\d* +0\.087\d* +0\.6649\d* +0\.2083", run(code))


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
        assert bsjax.benchmark_registry.match(benchmark)


def test_its_table_holds_what_is_scored():
    from bsjax.benchmarks import simulated

    rows = [line.split() for line in README.splitlines() if re.match(r"(pixels|gabor-v1) +Simulated", line)]
    assert len(rows) == 3
    for model, benchmark, *numbers in rows:
        score = bsjax.score(model, benchmark)
        computed = [score.unceiled.value, score.ceiling.value, score.value, score.error]
        stated = [float(number.rstrip("*")) for number in numbers[:4]]
        assert stated == pytest.approx(computed, abs=0.005)
        assert numbers[2].endswith("*") == score.exceeds_ceiling
    [truth] = re.findall(r"the true one\s+\((0\.\d+)\)", README)
    assert float(truth) == pytest.approx(np.median(simulated.true_reliability()), abs=0.005)
