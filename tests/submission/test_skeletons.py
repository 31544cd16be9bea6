"""``bsjax new``: what it writes works as it stands, and nothing is overwritten."""

import runpy
import subprocess
import sys

import pytest

import bsjax
from bsjax.submission import KINDS, VARIANTS, write_skeleton
from bsjax.submission.checks.check_benchmarks import check_benchmark
from bsjax.submission.checks.check_data import check_data
from bsjax.submission.checks.check_metrics import check_metric
from bsjax.submission.checks.check_models import check_model
from tests.support.forked import run_command
from tests.support.paths import REPOSITORY


def names():
    """What there are skeletons of: kind, variant, and a name."""
    return [(kind, variant, f"Doe2026{kind}{variant}") for kind in KINDS for variant in VARIANTS.get(kind, [""])]


@pytest.fixture
def every_skeleton(tmp_path, search):
    for kind, variant, name in names():
        write_skeleton(kind, name, tmp_path, variant)
    search(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_every_skeleton_is_in_order(every_skeleton):
    asked = {"benchmark": check_benchmark, "model": check_model, "metric": check_metric, "data": check_data}
    checks = [
        item for kind, variant, name in names() for item in asked[kind](name + VARIANTS.get(kind, {}).get(variant, ""))
    ]
    assert [item for item in checks if not item.passed] == []
    assert [item.name for item in checks if item.skipped] == ["bibtex"] * 4 + ["records"]
    tests = sorted(every_skeleton.glob("*/test.py"))
    assert len(tests) == len(names())
    for path in tests:
        for name, test in runpy.run_path(str(path)).items():
            if name.startswith("test_"):
                test()


def test_the_guide_shows_the_metric_that_is_written(tmp_path):
    written = (write_skeleton("metric", "distances", tmp_path) / "metric.py").read_text()
    guide = (REPOSITORY / "docs" / "howto" / "own-metric.md").read_text(encoding="utf-8")
    assert written.partition('"""\n\n')[2] in guide


@pytest.mark.slow
def test_without_pytest_the_rest_is_checked(tmp_path, search):
    folder = write_skeleton("model", "doe-net", tmp_path)
    without = "import sys; sys.modules['pytest'] = None; from bsjax.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", without, "check", folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line.strip() for line in done.stdout.splitlines()]
    assert lines[-3].split()[:2] == ["skipped", "passing"] and "pip install pytest" in lines[-2]
    assert lines[-1] == "all 11 items pass; skipped: its tests pass"


@pytest.mark.slow
def test_a_benchmark_scores_at_once(tmp_path):
    done = run_command("new", "benchmark", "Doe2026", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "bsjax --plugins . score -m pixels -b 'Doe2026*'" in done.stdout
    scored = run_command("--plugins", ".", "score", "-m", "pixels", "-b", "Doe2026*", cwd=tmp_path)
    assert scored.returncode == 0, scored.stderr
    assert scored.stdout.splitlines()[1].split()[:2] == ["pixels", "Doe2026.V1-ridge"]


def test_a_benchmark_fits_its_data(tmp_path, search):
    folder = write_skeleton("data", "Doe2026", tmp_path)
    code = (folder / "data.py").read_text().replace('stimuli.drop(columns="degrees")', "stimuli")
    code = code.replace('["V1"] * N_NEUROIDS', '["V4", "IT"] * (N_NEUROIDS // 2)').replace("object_name", "category")
    code = code.replace("seed=0)", 'seed=0).rename(columns={"object_name": "category"})')
    (folder / "data.py").write_text(code)
    search(tmp_path)
    written = write_skeleton("benchmark", "Doe2026", tmp_path / "benchmarks")
    assert not (written / "data.py").exists()
    search(tmp_path, tmp_path / "benchmarks")
    benchmark = bsjax.load_benchmark("Doe2026.IT-ridge")
    assert (benchmark.parent, benchmark.visual_degrees) == ("IT", None)
    benchmark.ask(bsjax.load_model("pixels"))
    assert set(benchmark.target["region"].values) == {"IT"} and "degrees" in benchmark.stimuli
    text = "".join(path.read_text() for path in written.iterdir())
    assert "the data have other regions, too: V4" in text and "simulated" not in text and "0.87" not in text
    compile((written / "test.py").read_text(), "test.py", "exec")


def test_nothing_is_overwritten(tmp_path):
    (tmp_path / "doe2026").mkdir()
    with pytest.raises(FileExistsError, match="left as it is"):
        write_skeleton("model", "Doe2026", tmp_path)
    assert list((tmp_path / "doe2026").iterdir()) == []


@pytest.mark.parametrize(
    ("kind", "name", "variant", "message"),
    [
        ("figure", "Doe2026", "", "no skeleton of a 'figure'; there are: benchmark, model, metric, data"),
        ("model", "../doe", "", "cannot be a name"),
        ("model", "pixels", "", "model 'pixels' comes with bsjax: choose another name"),
        ("model", "doe", "fmri", "no model of the kind 'fmri'; there are: jax, torch, flax, activations"),
    ],
)
def test_what_cannot_be_written(kind, name, variant, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        write_skeleton(kind, name, tmp_path, variant)
    assert list(tmp_path.iterdir()) == []
