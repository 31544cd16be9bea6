"""Ceilings that are kept on disk, and ceilings that are known."""

import json

import numpy as np
import pytest

from bsjax import Score
from bsjax.benchmarks import Ceiling, constant_ceiling
from bsjax.benchmarks.lazy_loading import loader
from bsjax.core.files import cache_dir
from bsjax.testing.data import trials


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("BSJAX_HOME", str(tmp_path / "home"))


def recording(seed=0):
    return trials(np.random.default_rng(seed), repetitions=2)


class Counted:
    """A ceiling that writes a line when it is computed."""

    def __init__(self, lines, value=0.5):
        self.lines = lines
        self.value = value

    def __call__(self, data):
        with self.lines.open("a") as file:
            file.write(f"{self.value}\n")
        return Score(float(self.value), error=0.1, raw=data.mean("neuroid"))


@pytest.fixture
def lines(tmp_path):
    path = tmp_path / "computed"
    path.touch()
    return path


def test_a_ceiling_is_computed_once_whatever_process_or_object_asks(lines):
    first = Ceiling(Counted(lines), recording())()
    again = Ceiling(Counted(lines), lambda: recording())()
    assert lines.read_text().split() == ["0.5"]
    assert again == first and again.error == 0.1
    np.testing.assert_array_equal(again.raw, first.raw)


def test_other_data_settings_or_version_are_other_ceilings(lines):
    others = [
        Ceiling(Counted(lines), recording()),
        Ceiling(Counted(lines), recording(seed=1)),
        Ceiling(Counted(lines), recording().assign_coords(repetition=("presentation", [1] * 12 + [0] * 12))),
        Ceiling(Counted(lines, 0.6), recording()),
        Ceiling(Counted(lines), recording(), version=2),
    ]
    assert [float(ceiling()) for ceiling in others] == [0.5, 0.5, 0.5, 0.6, 0.5]
    assert len(lines.read_text().split()) == 5
    assert len(list((cache_dir() / "ceilings").iterdir())) == 5


def test_a_damaged_file_is_computed_again_with_a_warning(lines):
    Ceiling(Counted(lines), recording())()
    [path] = (cache_dir() / "ceilings").iterdir()
    path.write_bytes(path.read_bytes()[:40])
    with pytest.warns(UserWarning, match="cannot be read .* computed again"):
        assert float(Ceiling(Counted(lines), recording())()) == 0.5
    assert lines.read_text().split() == ["0.5", "0.5"]
    assert json.loads(path.read_bytes())["score"]["value"] == 0.5


@pytest.mark.parametrize(
    "change",
    [
        lambda kept: kept["score"].update(value=-1.0),
        lambda kept: kept["score"]["raw"]["values"].__setitem__(3, 0.25),
        lambda kept: kept["score"]["provenance"].update(seed=5),
        lambda kept: kept.update(kept.pop("score")),  # as a file without a digest has it
        lambda kept: kept.update(sha256=None),
        lambda kept: kept.update(score=[]),
    ],
)
def test_a_file_that_was_changed_is_computed_again_with_a_warning(lines, change):
    Ceiling(Counted(lines), recording())()
    [path] = (cache_dir() / "ceilings").iterdir()
    written = path.read_bytes()
    kept = json.loads(written)
    change(kept)
    path.write_text(json.dumps(kept))
    with pytest.warns(UserWarning, match=r"the ceiling in .*\.json cannot be read \(it (was changed|must have)"):
        assert float(Ceiling(Counted(lines), recording())()) == 0.5
    assert path.read_bytes() == written
    assert lines.read_text().split() == ["0.5", "0.5"]


def test_no_file_stands_for_another_ceiling(lines):
    ceilings = [Ceiling(Counted(lines, value), recording()) for value in (0.5, 0.6)]
    assert [float(ceiling()) for ceiling in ceilings] == [0.5, 0.6]
    paths = sorted((cache_dir() / "ceilings").iterdir())
    contents = [path.read_bytes() for path in paths]
    for path, content in zip(paths, reversed(contents), strict=True):
        path.write_bytes(content)
    with pytest.warns(UserWarning, match="its SHA-256 differs"):
        assert [float(ceiling()) for ceiling in ceilings] == [0.5, 0.6]


def test_whatever_a_score_holds_is_found_again_as_it_was():
    def method(data):
        return Score(np.float32(0.5), provenance={"bins": (70, 170), "least": np.nan, "image": "\udcff.png"})

    first, again = (Ceiling(method, recording())() for _ in range(2))
    assert again.provenance["bins"] == (70, 170) and np.isnan(again.provenance["least"])
    assert first.value == again.value == 0.5 and again.provenance["image"] == "\udcff.png"


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        *((value, None, f"must be a positive number, got {value} from me") for value in (-1.0, 0.0, np.nan, np.inf)),
        (0.5, -0.1, "the error of a ceiling must be a number from 0, got -0.1 from me"),
    ],
)
def test_a_known_ceiling_is_a_positive_number(value, error, message):
    with pytest.raises(ValueError, match=message):
        constant_ceiling(value, "me", error)


def test_where_nothing_can_be_kept_it_is_computed_each_time_with_one_warning(lines, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("BSJAX_HOME", str(tmp_path / "file" / "home"))
    with pytest.warns(RuntimeWarning, match=r"cannot keep ceilings in .*Not a directory.*set BSJAX_HOME to") as said:
        assert [float(Ceiling(Counted(lines), recording())()) for _ in range(2)] == [0.5, 0.5]
    assert len(said) == 1 and len(lines.read_text().split()) == 2


def test_a_method_without_a_digest_is_computed_every_time(lines):
    method = Counted(lines)
    method.handle = (number for number in range(3))
    assert float(Ceiling(method, recording())()) == float(Ceiling(method, recording())()) == 0.5
    assert lines.read_text().split() == ["0.5", "0.5"]
    assert not (cache_dir() / "ceilings").exists()


def test_a_benchmark_and_its_ceiling_share_what_one_function_loads():
    calls = []

    def load():
        calls.append(len(calls))
        return object()

    of_benchmark, of_ceiling = loader(load), loader(load)
    assert of_benchmark() is of_ceiling() and calls == [0]
    del of_benchmark, of_ceiling
    assert loader(load)() is not None and calls == [0, 1]
