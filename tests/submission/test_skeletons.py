"""``bsjax new``: what it writes works as it stands, and nothing is overwritten."""

import pytest

import bsjax
from bsjax.submission import KINDS, check_plugins, write_skeleton
from tests.support.forked import run_command


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name"), [("benchmark", "Doe2026"), ("model", "doe-net"), ("metric", "distances")])
def test_a_skeleton_is_in_order(kind, name, tmp_path, search):
    folder = write_skeleton(kind, name, tmp_path)
    search(tmp_path)
    failed = [(section.title, item) for section in check_plugins(folder) for item in section.checks if not item.passed]
    assert failed == []


@pytest.mark.slow
def test_a_benchmark_scores_at_once(tmp_path):
    done = run_command("new", "benchmark", "Doe2026", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "doe2026").iterdir()) == [
        "__init__.py",
        "benchmark.py",
        "data.py",
        "test.py",
    ]
    assert "bsjax --plugins . score -m pixels -b 'Doe2026*'" in done.stdout
    scored = run_command("--plugins", ".", "score", "-m", "pixels", "-b", "Doe2026*", cwd=tmp_path)
    assert scored.returncode == 0, scored.stderr
    assert scored.stdout.splitlines()[1].split()[:2] == ["pixels", "Doe2026.V1-ridge"]


def test_a_benchmark_takes_data_that_are_there(tmp_path, search):
    write_skeleton("data", "Doe2026", tmp_path / "data")
    search(tmp_path)
    folder = write_skeleton("benchmark", "Doe2026", tmp_path / "benchmarks")
    assert not (folder / "data.py").exists()
    search(tmp_path / "benchmarks", tmp_path / "data")
    assert bsjax.load_dataset("Doe2026").sizes["neuroid"] == 12
    benchmark = bsjax.load_benchmark("Doe2026.V1-ridge")
    assert benchmark.target.sizes["presentation"] == 96


def test_every_kind_is_registered_under_its_name(tmp_path, search):
    registries = dict(zip(KINDS, ("benchmark", "model", "metric", "data"), strict=True))
    for kind in KINDS:
        write_skeleton(kind, f"Name2026.{kind}", tmp_path)
    search(tmp_path)
    for kind, registry in registries.items():
        names = list(getattr(bsjax, f"{registry}_registry"))
        assert f"Name2026.{kind}" + (".V1-ridge" if kind == "benchmark" else "") in names


def test_nothing_is_overwritten(tmp_path):
    (tmp_path / "doe2026").mkdir()
    with pytest.raises(FileExistsError, match="left as it is"):
        write_skeleton("model", "Doe2026", tmp_path)
    assert list((tmp_path / "doe2026").iterdir()) == []


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        ("figure", "Doe2026", "no skeleton of a 'figure'; there are: benchmark, model, metric, data"),
        ("model", "../doe", "cannot be a name"),
        ("model", "pixels", "model 'pixels' comes with bsjax: choose another name"),
        ("data", "MajajHong2015.public", "data set 'MajajHong2015.public' comes with bsjax"),
    ],
)
def test_what_cannot_be_written(kind, name, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        write_skeleton(kind, name, tmp_path)
    assert list(tmp_path.iterdir()) == []
