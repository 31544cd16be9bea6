"""The command line, as processes of its own: what it prints where, its exit codes, what it imports."""

import json
import os
import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from bsjax import Score, list_benchmarks, list_metrics, list_models
from bsjax.benchmarks import builtin_benchmarks
from bsjax.cli import app
from bsjax.data import cache_dir
from tests.support.forked import run_command

COMMAND = [sys.executable, "-m", "bsjax"]


def bsjax(*arguments, **changes):
    """Run the command with its output going to files."""
    return run_command(*arguments, env={**os.environ, **changes})


def modules_of(*arguments):
    """The modules that a command imports, which take most of its time: a clock would say how busy the machine is."""
    code = (
        "import sys; sys.argv = ['bsjax', *sys.argv[1:]]; from bsjax.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code\n"
        "print(' '.join(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1].split()


@pytest.mark.parametrize(
    "arguments",
    [["results", "ls", "--help"], ["list", "models", "--published"], ["list", "data"]],
)
def test_what_needs_no_score_is_quick(arguments):
    modules = modules_of(*arguments)
    slow = {"numpy", "scipy", "jax", "xarray", "pandas", "h5py", "PIL", "boto3", "sklearn", "torch", "rich.progress"}
    slow |= {"sqlalchemy"}
    assert slow & set(modules) == set()
    assert len(modules) < 450  # 175 to 320; numpy alone brings 150 more, jax 600


@pytest.mark.slow
def test_a_stored_score_needs_neither_jax_nor_labels(tmp_path):
    arguments = ["score", "-m", "pixels", "-b", "Simulated.V1-cka", "--results", tmp_path / "results.db"]
    assert bsjax(*arguments).returncode == 0
    modules = modules_of(*map(str, arguments))
    slow = {"jax", "optax", "xarray", "pandas", "dask", "h5py", "sklearn", "scipy.stats"}
    assert (slow | {"http.server", "sqlalchemy.dialects.postgresql"}) & set(modules) == set()
    assert len(modules) < 1000  # 850, of which SQLAlchemy 110 and the special functions of SciPy 66


@pytest.mark.parametrize(
    ("kind", "names"), [("models", list_models), ("benchmarks", list_benchmarks), ("metrics", list_metrics)]
)
def test_lists_have_a_line_on_each(kind, names):
    done = bsjax("list", kind)
    lines = done.stdout.splitlines()
    libraries = ["torchvision", "timm", "huggingface", "stored"] if kind == "models" else []
    sources = [*(f"{library}:NAME@LAYERS" for library in libraries), "brainscore:NAME"]
    listed = [line.split()[0] for line in lines]
    if kind == "benchmarks":  # those that need no download come first
        here = builtin_benchmarks()
        assert listed[: len(here)] == here and all(line.split()[1] == "*" for line in lines[: len(here)])
        listed.sort(key=[*names(), *sources].index)
    assert listed == [*names(), *sources]
    assert all(len(line.split()) > 2 for line in lines)
    assert done.stderr == ""


def test_help_and_version():
    shown = bsjax("--help").stdout
    assert "score" in shown and "list" in shown
    assert re.fullmatch(r"bsjax \d+\.\d+\.\d+\n", bsjax("--version").stdout)
    wrong = bsjax("score", "--modle", "pixels")
    assert wrong.returncode == 2 and wrong.stdout == "" and wrong.stderr and "Traceback" not in wrong.stderr


def test_an_error_is_one_line_and_exit_code_1():
    done = bsjax("score", "--model", "gabr-v1")
    assert done.returncode == 1 and done.stdout == ""
    [line] = done.stderr.splitlines()
    assert line.startswith("bsjax: unknown model 'gabr-v1'; nearest: gabor-v1; see `bsjax list models`")


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    """One run on two benchmarks of which one has no data: its process, and what it wrote."""
    file = tmp_path_factory.mktemp("cli") / "scores.json"
    asked = ["score", "--model", "pixels", "--json", str(file), "--legend", "--data", str(file.parent / "nowhere")]
    asked += ["--benchmark", "Cowley2026.V4-ridge", "--benchmark", "Simulated.V1-ri*"]
    environment = os.environ | {"BSJAX_RESULTS": str(file.with_name("results.db"))}
    return subprocess.run([*COMMAND, *asked], capture_output=True, text=True, env=environment), file


@pytest.mark.slow
def test_the_table_goes_to_stdout_and_progress_and_a_failing_pair_to_stderr(scored):
    done, _ = scored
    [error] = [line for line in done.stderr.splitlines() if line.startswith("bsjax: ")]
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert error.startswith("bsjax: pixels on Cowley2026.V4-ridge: ") and "nowhere" in error
    row = done.stdout.splitlines()[1].split()
    assert row[:2] == ["pixels", "Simulated.V1-ridge"] and row[7] == "96"
    assert "\x1b" not in done.stdout + done.stderr
    assert re.search(r"^\[2/2\] pixels on Simulated.V1-ridge: \d+\.\d s$", done.stderr, re.MULTILINE)
    for said in ("r²/c", "internal consistency", "480 stimuli, sha256:", "float64 on cpu", "10 splits"):
        assert said in done.stdout


def test_the_json_file_holds_all_scores_in_full(scored):
    done, file = scored
    assert any((cache_dir() / "jax").iterdir())  # compiled programs are kept
    failed, scored_pair = json.loads(file.read_text())
    assert failed["score"] is None and "nowhere" in failed["error"]
    assert scored_pair["error"] is None
    score = Score.from_dict(scored_pair["score"])
    assert f"{round(float(score), 3) + 0.0:.3f}" in done.stdout
    assert score.raw.sizes == {"split": 10, "neuroid": 96}
    assert score.ceiling.raw.sizes["neuroid"] == 96
    assert score.provenance["benchmark"] == "Simulated.V1-ridge"


def test_by_default_models_without_their_extras_are_left_out_and_named(capsys):
    from bsjax import model_registry
    from bsjax.cli import _installed_models

    model_registry.register("moon-model", "moon:model", summary="a model", requires=("moon",))
    try:
        assert _installed_models() == [name for name in list_models() if name != "moon-model"]
        listed = CliRunner().invoke(app, ["list", "models"]).stdout
    finally:
        del model_registry["moon-model"]
    assert capsys.readouterr().err == "bsjax: moon-model left out: it needs pip install 'bsjax[moon]'\n"
    assert "moon-model               a model [pip install 'bsjax[moon]']\n" in listed
