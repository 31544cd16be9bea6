"""``--plugins`` before and after commands, ``bsjax show``, and what is said of broken plugins."""

import os

import pytest
from typer.testing import CliRunner

from bsjax.cli import app
from tests.cli.conftest import OWN
from tests.support.forked import run_command

_FROM_SECONDS = "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"


@pytest.fixture
def bsjax(plugin, monkeypatch):
    """Run a command in this process; what it does to the environment goes again."""
    for variable in ("XLA_PYTHON_CLIENT_PREALLOCATE", "JAX_COMPILATION_CACHE_DIR", _FROM_SECONDS):
        monkeypatch.setenv(variable, os.environ.get(variable, ""))

    def run(*arguments):
        monkeypatch.delenv("BSJAX_PLUGINS", raising=False)
        return CliRunner().invoke(app, list(map(str, arguments)))

    return run


def test_plugins_before_and_after_the_command(plugin, bsjax):
    plugin("own", OWN)
    here = ["--plugins", plugin.root]
    for arguments in ([*here, "list", "benchmarks"], ["list", "benchmarks", *here]):
        done = bsjax(*arguments)
        assert done.stdout.splitlines()[-2].split(maxsplit=1) == ["Doe2026-half", "A study of nothing."]
        assert done.stderr == ""
    scored = bsjax("score", "-m", "doe-net", "-b", "Doe*", *here)
    assert scored.stdout.splitlines()[1].split()[:2] == ["doe-net", "Doe2026-half"], scored.stderr
    assert "Doe2026" not in bsjax("list", "benchmarks").stdout


def test_a_folder_that_is_not_there():
    done = run_command("--plugins", "/no/such", "list", "models")
    assert done.returncode == 1 and done.stderr == "bsjax: there is no folder /no/such to find plugins in\n"


def test_broken_plugins_are_noted_and_the_others_score(plugin, bsjax):
    plugin("own", OWN)
    broken = plugin(
        "broken", "from bsjax import benchmark_registry\nimport no_such\nbenchmark_registry['Doe2026-no'] = 1"
    )
    worse = plugin("worse", "from bsjax import benchmark_registry\nbenchmark_registry['Doe2026-x' = 1")
    listed = bsjax("list", "benchmarks", "--plugins", plugin.root)
    assert [line.split()[0] for line in listed.stdout.splitlines()[-3:-1]] == ["Doe2026-no", "Doe2026-half"]
    [note] = listed.stderr.splitlines()
    assert str(worse) in note
    scored = bsjax("score", "-m", "doe-net", "-b", "Doe2026*", "--plugins", plugin.root)
    assert scored.exit_code == 1 and "Doe2026-half" in scored.stdout
    assert f"benchmark 'Doe2026-no' of the plugin {broken} needs no_such, which is not installed" in scored.stderr


def test_show_a_benchmark_that_does_not_describe_itself(plugin, bsjax):
    folder = plugin("own", OWN)
    lines = bsjax("show", "Doe2026-half", "--plugins", plugin.root).stdout.splitlines()
    assert lines[0] == "Doe2026-half, version 3, averaged under IT"
    assert lines[3:] == [
        "about       It gives one half to everybody.",
        f"plugin      {folder}",
        "",
        "no BibTeX entry: no publication is stated",
    ]


def test_show_a_metric_a_model_and_a_data_set(bsjax):
    metric = bsjax("show", "cka").stdout.splitlines()
    assert metric[0] == "cka, a metric" and metric[2].startswith("summary     centred kernel alignment")
    assert "            error = None, one of 'jackknife', 'bootstrap', 'influence'" in metric
    bands = bsjax("show", "banded_ridge").stdout
    assert "\n                number of features of each space, in the order of the features.\n" in bands
    for name, coordinates in {"i1": ("sample_obj", "dist_obj"), "ridge": ()}.items():
        taken = bsjax("show", name).stdout.partition("\ntakes ")[2]
        assert all(each in taken for each in ("target: ", *coordinates))
    needs = bsjax("show", "baker_accuracy_delta").stdout.partition("\nneeds ")[2]
    assert "subject: identifier of the subject" in needs and "of the model's answers: animal" in needs
    for name, kind in {"gabor-v1": "model", "MajajHong2015.public": "data set", "hvm-public": "stimulus set"}.items():
        assert bsjax("show", name).stdout.startswith(f"{name}, a {kind}\n")
    assert "no benchmark, metric, model or data set 'nopls'; nearest: pls" in str(bsjax("show", "nopls").exception)


def test_features_are_recorded_for_tests(plugin, bsjax):
    folder = plugin("doe", SEEING)
    done = bsjax("check", "--record", "pixels", "--allow", "tests", "--allow", "bibtex", folder)
    file = folder / "pixels-Doe2026.V1-first.nc"
    assert done.stdout.startswith(f"{file}: PrecomputedTests().run_test(..., expected=") and file.is_file()


SEEING = """
    from bsjax import Score, benchmark_registry, load_benchmark
    from bsjax.benchmarks import BenchmarkBase

    class First(BenchmarkBase):
        def observe(self, candidate, stimuli):
            candidate.start_recording("V1", [(70, 170)])
            return candidate.look_at(load_benchmark("Simulated.V1-ridge").stimuli[:3])

        def compare(self, observed):
            return Score(float(observed.values.mean()))

    benchmark_registry["Doe2026.V1-first"] = lambda: First("Doe2026.V1-first", lambda: 1, parent="V1")
"""
