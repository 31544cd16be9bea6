"""The Python of the README and the pages, copied literally, works; their commands, links and extras are there."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import bsjax
from bsjax.data import check_assembly, read_assembly
from tests.support.paths import REPOSITORY

README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
NAMES = ("installation", "scores", "models", "benchmarks", "data", "command-line", "submission", "testing")
PAGES = {name: (REPOSITORY / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in NAMES}
TEXT = "\n".join([README, *PAGES.values()])
PYTHON = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
SHELL = "\n".join(re.findall(r"^```sh\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL))


def run(code: str, folder: Path) -> str:
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_python_that_needs_the_core_alone(tmp_path):
    core = [block for block in PYTHON if "torch" not in block]
    assert len(core) == len(PYTHON) - 2
    printed = run("\n".join(core), tmp_path).splitlines()
    scores = [line for line in printed if re.match(r"Score\(0\.\d{4}", line)]
    assert len(scores) == 10
    [table] = [number for number, line in enumerate(printed) if line.split()[:2] == ["model", "benchmark"]]
    assert ["gabor-v1", "Simulated.V1-cka"] in [line.split()[:2] for line in printed[table:]]
    assert any(line.endswith("{'V1': 'complex'}") for line in printed)
    assert "Doe2026.V1-ridge, version 1, averaged under V1" in printed
    assert sum(line.startswith("Score(0.0000") for line in printed) == 1  # two of four right, one of them shared
    recordings = read_assembly(tmp_path / "recordings.nc")  # of the page of data
    assert all(check.passed for check in check_assembly(recordings)), check_assembly(recordings)
    for name, dim in re.findall(r"`(\w+)`[^|]*\| `(\w+)` \|", PAGES["data"]):
        assert name == "subject" or recordings[name].dims == (dim,)


@pytest.mark.slow
def test_the_python_with_torch(tmp_path):
    pytest.importorskip("torch")
    of_readme, of_page = [block for block in PYTHON if "torch" in block]
    first, layers, second = run(f"import bsjax\n{of_readme}\n{of_page}", tmp_path).splitlines()
    assert first.startswith("Score(") and "'1': (8, " in layers and second.startswith("Score(")


def test_the_readme_opens_with_the_two_commands_and_fits_a_screen():
    first = SHELL.splitlines()[:2]
    assert [line.split("#")[0].strip() for line in first] == ["make score", "make test"]
    targets = (REPOSITORY / "Makefile").read_text()
    assert all(re.search(rf"^{target}:", targets, re.MULTILINE) for target in ("score", "test"))
    assert len(README.splitlines()) <= 100


def test_links_lead_somewhere():
    pages = {"README.md": README} | {f"docs/{path.name}": path.read_text() for path in REPOSITORY.glob("docs/*.md")}
    for page, text in pages.items():
        for link in re.findall(r"\]\((?!https?:|#)([^)#]+)", text):
            assert (REPOSITORY / page).parent.joinpath(link).exists(), (page, link)


def test_extras_and_variables_are_those_that_there_are():
    extras = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = re.findall(r"^\| (`.*?) \|", PAGES["installation"], re.MULTILINE)
    words = {word for cell in named for word in re.findall(r"`(\w+)`", cell)}
    assert {word for word in words if word.islower()} == set(extras) - {"dev"}
    source = "\n".join(path.read_text() for path in REPOSITORY.glob("bsjax/**/*.py"))
    assert all(word in source for word in words if word.isupper())


@pytest.mark.slow
def test_commands_name_things_that_there_are():
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
def test_the_table_of_the_readme_holds_what_is_scored():
    rows = [line.split() for line in README.splitlines() if re.match(r"[\w-]+ +Simulated\.V1-", line)]
    assert len(rows) == 4
    for model, benchmark, *numbers in rows:
        score = bsjax.score(model, benchmark)
        interval = score.interval()
        computed = [score.unceiled.value, score.ceiling.value, score.value, score.error, interval.low, interval.high]
        assert [float(number) for number in [*numbers[:4], *numbers[4].split("..")]] == pytest.approx(
            computed, abs=0.005
        )
