"""What goes in and out of a store: merged stores, exported and imported files, the leaderboard's table."""

import csv
import json
import math
import sys
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from pandas.testing import assert_frame_equal
from sqlalchemy import select

from bsjax import Score
from bsjax.core.files import as_json
from bsjax.labelled.uncertainty import Uncertainty
from bsjax.results import ResultStore, tables
from bsjax.results.exchange import Imported, export, import_scores, merge, merging
from bsjax.results.leases import claim
from bsjax.results.store import Task

HOSTILE = [
    "<script>alert('x')</script>",
    "quotes \" ' and, commas; =cmd()",
    "two\nlines\r\nand\ttabs",
    "\u202eright to left שלום",
    "🧠🐒 \u0301",
    "x" * 300,
    "%$*[a-z]?",
    "NUL \0, half \ud800, \x1a0000",
]


def made(value=0.5, model="pixels", benchmark="Doe2026.V4-pls", **more):
    """A score as benchmarks make them: with its ceiling, before normalisation, and where it comes from."""
    provenance = {"model": model, "benchmark": benchmark, "benchmark_version": 2, "parent": "V4", "dtype": "float64"}
    provenance |= {"start": "2026-08-01T12:00:00+00:00", "seconds": 1.5, "random_state": 1, "model_digest": "ab"}
    provenance |= more.pop("provenance", {})
    raw = xr.DataArray(
        np.array([[value, np.nan], [np.inf, 0.25]]),
        dims=["split", "neuroid"],
        coords={"split": [0, 1], "region": ("neuroid", ["V4", "IT"])},
    )
    fields = {"error": 0.01, "error_kind": "standard error over 2 splits", "raw": raw, "formula": "r²/c"}
    fields |= {"uncertainty": Uncertainty(("stimuli",), 0.02, "jackknife of 10 groups", dof=9)}
    fields |= {"unceiled": Score(value / 2, formula="r"), "ceiling": Score(0.8, raw=raw), "n_units": 168}
    return Score(value, provenance=provenance, **fields | more)


def in_time(**names):
    over = xr.DataArray([0.1, np.nan, 0.3], dims=["time_bin"], coords={"time_bin": [70, 90, 110]})
    known = Uncertainty(("stimuli",), over / 10, "jackknife of 10 groups", dof=9)
    return replace(made(**names), value=over, error=over / 10, uncertainty=known)


def filled(path, n=3):
    """A store with scores of all kinds in two runs, failures, and work that is going on."""
    store = ResultStore(path)
    run = store.begin_run(10, asked="everything")
    for number, model in product(range(n), ("pixels", "gabor-v1")):
        cell = f"{model}{number}"
        store.add(made(number / 10, model, f"Doe{number}-pls"), task=Task(run, cell, cell), facts={"degrees": 8})
    for name in HOSTILE:
        store.add(made(0.25, name, name))
    store.add(made(np.nan, "hmax"))
    store.add(in_time(model="hmax", benchmark="Doe2026-time"))
    store.add_failure("pixels", "Doe0-pls", ValueError("two\nlines"), task=Task(run, "x", "x"), started="2026-08-01")
    store.add_failure("<b>", "🧠", "no data", started="2026-08-02T00:00:00Z")
    store.end_run(run)
    claim(store, ["y"], store.begin_run(1), 60)
    return store


def content(store):
    """All that a store says, without the numbers of rows, and without who computes what."""
    with store.reading() as connection:
        rows = {
            name: connection.execute(select(tables.metadata.tables[name])).mappings().all()
            for name in ("models", "benchmarks", "scores", "failures", "runs", "raw_values")
        }
    named = {}
    for name in ("models", "benchmarks"):
        named[f"{name[:-1]}_id"] = {row["id"]: json.dumps({**row, "id": 0}) for row in rows.pop(name)}
    plain = {
        name: [{**row, **{column: of[row[column]] for column, of in named.items() if column in row}} for row in of_name]
        for name, of_name in rows.items()
    }
    found = {"runs": {row["id"]: row for row in plain["runs"]}}
    for name in ("scores", "failures"):
        found[name] = {row["key"]: {**row, "id": 0} for row in plain[name]}
    return found | {"raw_values": {row["digest"]: row["content"] for row in plain["raw_values"]}}


def keys(store):
    return sorted(content(store)["scores"])


@pytest.fixture
def one(tmp_path):
    """An empty store."""
    return ResultStore(tmp_path / "one.db")


@pytest.fixture
def full(tmp_path):
    """A store with everything in it."""
    return filled(tmp_path / "full.db")


# Merging.


def test_merging_takes_everything_once(one, full):
    n = len(keys(full))
    assert merge(one, full) == Imported(new=n, known=0, failures=2)
    assert content(one) == content(full)
    assert merge(one, full) == Imported(new=0, known=n, failures=0)
    assert content(one) == content(full)
    assert merge(one, one) == Imported(new=0, known=n, failures=0)
    with one.reading() as connection:
        assert connection.execute(select(tables.leases)).all() == []


def test_what_is_merged_keeps_models_of_one_name_apart(tmp_path):
    one, other = ResultStore(tmp_path / "one.db"), ResultStore(tmp_path / "other.db")
    one.add(made(0.1, provenance={"model_digest": "a"}), facts={"degrees": 4, "region": "V4"})
    one.add(made(0.1, provenance={"model_digest": "b"}))
    for digest in ("a", "b", "c"):
        other.add(made(0.2, provenance={"model_digest": digest}), facts={"degrees": 8, "size": 1})
    assert merge(one, other).new == 3
    frame = one.frame(latest=False)
    found = sorted(zip(frame["model_digest"], frame["score"], strict=True))
    assert found == [("a", 0.1), ("a", 0.2), ("b", 0.1), ("b", 0.2), ("c", 0.2)]
    with one.reading() as connection:
        facts = dict(connection.execute(select(tables.models.c.digest, tables.models.c.facts)).all())
    # What was not known of them is known now.
    both = {"degrees": 8, "size": 1}
    assert facts == {"a": {"degrees": 4, "region": "V4", "size": 1}, "b": both, "c": both}


def test_scores_have_the_names_that_they_were_kept_by(tmp_path):
    one, other = ResultStore(tmp_path / "one.db"), ResultStore(tmp_path / "other.db")
    one.add(made(0.1, "pixels"), model="one", benchmark="Doe")
    other.add(made(0.1, "pixels"))
    other.add(made(0.2, "pixels"), model="other", benchmark="Doe")
    assert merge(one, other) == Imported(new=1, known=1)
    # Of scores that are there already, not even the name comes.
    assert sorted(one.frame()["model"]) == ["one", "other"] and set(one.frame()["benchmark"]) == {"Doe"}
    export(one, tmp_path / "whole.json", scores=True)
    third = ResultStore(tmp_path / "third.db")
    assert import_scores(third, tmp_path / "whole.json") == Imported(new=2)
    assert sorted(third.frame()["model"]) == ["one", "other"] and keys(third) == keys(one)


def test_a_run_has_a_cell_once(tmp_path):
    one, other = ResultStore(tmp_path / "one.db"), ResultStore(tmp_path / "other.db")
    run = one.begin_run(2)
    merge(other, one)
    kept = one.add(made(0.1), task=Task(run, "a", "a"))
    other.add(made(0.2), task=Task(run, "a", "a"))
    other.add(made(0.3), task=Task(run, "b", "b"))
    other.end_run(run)
    assert merge(one, other) == Imported(new=1, known=1)
    assert one.scored(["a", "b"])["a"] == [(kept, None)] and len(keys(one)) == 2
    assert content(one)["runs"] == content(other)["runs"]  # it is known now that it is over


def test_a_grid_finds_what_was_there_without_its_cell(tmp_path):
    one, other = ResultStore(tmp_path / "one.db"), ResultStore(tmp_path / "other.db")
    run, key = other.begin_run(1), one.add(made())
    other.add(made(), task=Task(run, "a", "a"))
    assert one.scored(["a"]) == {}
    for _ in range(2):
        assert merge(one, other) == Imported(known=1)
        assert one.scored(["a"]) == {"a": [(key, None)]}


def test_raw_values_can_be_left_out_and_come_later(one, full):
    found = merge(one, full, raw_values=False)
    key = full.frame("pixels", "Doe1-pls")["key"].iloc[0]
    assert one.score(key).raw is None and one.score(key) == full.score(key)
    assert merge(one, full) == Imported(known=found.new)
    assert one.score(key).to_dict() == full.score(key).to_dict()


@pytest.mark.slow
def test_a_merge_that_is_stopped_loses_nothing_and_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(merging, "_COPIED", {table: (name, 2) for table, (name, _) in merging._COPIED.items()})
    other = filled(tmp_path / "other.db")
    whole, parts = content(other), []
    merge(ResultStore(tmp_path / "counted.db"), other, progress=lambda *said: parts.append(said))
    assert len(parts) > 10 and all(done <= total for _, done, total in parts)
    for last in (1, len(parts) // 2, len(parts) - 1):
        one, told = ResultStore(tmp_path / f"{last}.db"), []

        def stop(*said, told=told, last=last):
            told.append(said)
            if len(told) == last:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            merge(one, other, progress=stop)
        there = content(one)
        assert all(rows.items() <= whole[name].items() for name, rows in there.items())
        found = merge(one, other)
        assert (found.new, found.known) == (len(whole["scores"]) - len(there["scores"]), len(there["scores"]))
        assert content(one) == whole
        one.close()


@pytest.mark.slow
def test_stores_are_merged_between_databases(tmp_path, new_database):
    url = new_database()
    other, back = filled(tmp_path / "other.db"), ResultStore(tmp_path / "back.db")
    one = ResultStore(url)
    n = len(keys(other))
    assert import_scores(one, tmp_path / "other.db") == Imported(new=n, failures=2)
    assert import_scores(one, tmp_path / "other.db") == Imported(known=n)
    assert import_scores(back, url) == Imported(new=n, failures=2)
    assert content(back) == content(one) == content(other)
    export(one, tmp_path / "whole.json", scores=True, latest=False)
    assert import_scores(one, tmp_path / "whole.json") == Imported(known=n)
    one.close()


# Tables.


@pytest.mark.parametrize("format", ["csv", "json", "parquet"])
def test_tables_say_what_the_store_says(tmp_path, format):
    store, path = filled(tmp_path / "results.db"), tmp_path / f"scores.{format}"
    if format == "parquet":
        pytest.importorskip("pyarrow")
    store.add(made(np.inf, benchmark="infinite"))
    latest = format == "csv"
    expected = store.frame(latest=latest)
    n_rows = export(store, path, latest=latest)
    if format == "csv":
        with open(path, encoding="utf-8", newline="") as file:
            found = pd.DataFrame(csv.DictReader(file)).replace("", None)
        assert set(found["version"].dropna()) == {"2"} and set(found["n_units"].dropna()) == {"168"}
    else:
        found = pd.DataFrame(json.loads(path.read_bytes())) if format == "json" else pd.read_parquet(path)
    assert list(found) == list(expected) and len(found) == n_rows == len(expected)
    found, expected = (frame.sort_values("key").reset_index(drop=True) for frame in (found, expected))
    for name in ("model", "benchmark", "state", "key", "reason", "started", "run"):
        assert found[name].fillna("").tolist() == expected[name].fillna("").tolist(), name
    for name in ("version", "score", "error", "ceiling", "n_units", "seconds"):
        numbers = pd.to_numeric(found[name]).to_numpy(float, na_value=np.nan)
        np.testing.assert_array_equal(numbers, expected[name].to_numpy(float))


def test_a_table_goes_into_another_store(tmp_path):
    store, path = filled(tmp_path / "results.db"), tmp_path / "scores.csv"
    other = ResultStore(tmp_path / "other.db")
    export(store, path, latest=False)
    found = import_scores(other, path)
    assert len(found.refused) == 1 and "'resolved' is no single number" in found.refused[0]
    told = ["model", "benchmark", "version", "parent", "state", "score", "error", "raw", "ceiling", "low", "high"]
    frames = [each.frame(latest=False)[told].sort_values(told, ignore_index=True) for each in (store, other)]
    assert_frame_equal(frames[0][frames[0]["state"] != "resolved"].reset_index(drop=True), frames[1])
    again = import_scores(other, path)
    assert (again.new, again.failures) == (0, 0)
    assert import_scores(store, path).new == 0  # they are there whole
    path.write_text("model,benchmark,state,score\npixels,Doe2026-pls,scored,high\n")
    with pytest.raises(ValueError, match="row 2: expected a number in the column 'score', got 'high'"):
        import_scores(other, path)


def test_a_table_without_versions_has_those_of_the_benchmarks_here(tmp_path):
    path, store = tmp_path / "scores.csv", ResultStore(tmp_path / "results.db")
    header, ours = "model,benchmark,state,score", "MajajHong2015public.IT-pls"
    path.write_text(f"{header}\npixels,{ours},scored,.5\npixels,Doe2026-pls,scored,.25\n")
    assert import_scores(store, path).new == 2
    assert store.frame().set_index("benchmark")["version"].to_dict() == {ours: 4, "Doe2026-pls": 0}
    path.write_text(f"{header},version\npixels,{ours},scored,.5,2\nhmax,{ours},blocked,,\nhmax,{ours},missing,,\n")
    assert import_scores(store, path) == Imported(new=1)
    assert sorted(store.frame(benchmarks=ours, latest=False)["version"]) == [2, 4]


def test_tables_of_some_and_of_nothing(tmp_path, full, one):
    for format in ("csv", "json", "parquet"):
        assert export(full, tmp_path / "out", format, models=["gabor*", "hmax"], benchmarks="Doe[01]*") == 2
        assert export(full, tmp_path / "out", format, models="nobody") == 0
        assert export(one, tmp_path / "out", format) == 0
    assert export(full, tmp_path / "out", "json", models="nobody", scores=True) == 0
    assert import_scores(full, tmp_path / "out") == Imported()


def test_what_cannot_be_written_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    store, path = filled(tmp_path / "results.db"), tmp_path / "scores.csv"
    path.write_text("before")
    with pytest.raises(ValueError, match="whole scores can be written as json alone, got csv"):
        export(store, path, scores=True)
    with pytest.raises(ValueError, match="the ending of '"):
        export(store, tmp_path / "scores.xlsx")
    with pytest.raises(ValueError, match="the format 'xml' is none of these"):
        export(store, path, "xml")
    with monkeypatch.context() as without, pytest.raises(ImportError, match=r"pip install 'bsjax\[parquet\]'"):
        without.setitem(sys.modules, "pyarrow", None)
        export(store, path, "parquet")
    with store.writing() as connection:
        connection.execute(tables.scores.update().values(document={"value": "high"}))
    with pytest.raises(ValueError, match="the store is damaged"):
        export(store, path, "json", scores=True)
    assert path.read_text() == "before"
    assert not [each for each in tmp_path.glob("*scores*") if each.suffix != ".lock" and each != path]


# Whole scores.


def test_what_is_exported_whole_comes_back_as_it_was(tmp_path):
    store = filled(tmp_path / "results.db")
    store.add(made(0.75), model="by another name", benchmark=HOSTILE[2] + "!")
    n = export(store, tmp_path / "whole.json", scores=True, latest=False)
    back = ResultStore(tmp_path / "back.db")
    assert import_scores(back, tmp_path / "whole.json") == Imported(new=n - 2, failures=2)
    there, here = content(store), content(back)
    # A run without a score or a failure is not there.
    assert here["runs"].items() <= there["runs"].items() and len(here["runs"]) == 1
    for name in ("scores", "failures", "raw_values"):
        assert here[name] == there[name]
    assert import_scores(back, tmp_path / "whole.json") == Imported(known=n - 2)
    assert import_scores(store, tmp_path / "whole.json") == Imported(known=n - 2)
    assert content(back) == here and content(store) == there
    # A row is a line.
    lines = (tmp_path / "whole.json").read_text().split("\n")
    assert sum(line.startswith('{"model": ') for line in lines) == n


def test_raw_values_can_be_left_out_of_a_file_and_come_later(tmp_path, one, full):
    export(full, tmp_path / "whole.json", scores=True)
    new = import_scores(one, tmp_path / "whole.json", raw_values=False).new
    assert not content(one)["raw_values"]
    assert import_scores(one, tmp_path / "whole.json", raw_values=False) == Imported(known=new)
    assert not content(one)["raw_values"]
    assert import_scores(one, tmp_path / "whole.json") == Imported(known=new)
    assert content(one)["raw_values"] == content(full)["raw_values"]


def test_scores_without_their_raw_values_are_not_doubled(tmp_path, one):
    back = ResultStore(tmp_path / "back.db")
    one.add(made(), raw_values=False)
    export(one, tmp_path / "whole.json", scores=True)
    assert import_scores(one, tmp_path / "whole.json") == Imported(known=1)
    assert import_scores(back, tmp_path / "whole.json").new == 1
    assert import_scores(back, tmp_path / "whole.json") == Imported(known=1)
    assert back.frame()["score"].tolist() == [0.5]


INTERVAL = ["low", "high", "interval"]


@pytest.mark.parametrize("raw_values", [True, False])
def test_intervals_of_draws_go_along(tmp_path, raw_values):
    store, merged, back = (ResultStore(tmp_path / f"{name}.db") for name in ("results", "merged", "back"))
    draws = xr.DataArray(np.linspace(0, 1, 41), dims=["draw"])
    known = Uncertainty(("stimuli", "subjects"), 0.3, "41 draws", draws=draws, plan="2:ab", kind="percentile")
    key = store.add(made(uncertainty=known), raw_values=raw_values)
    expected = store.frame()[INTERVAL].values.tolist()
    assert expected[0][2] == "percentile over stimuli and subjects"
    merge(merged, store, raw_values=raw_values)
    assert merged.frame()[INTERVAL].values.tolist() == expected
    assert (merged.score(key).uncertainty.draws is not None) == raw_values
    export(store, tmp_path / "whole.json", scores=True)
    assert import_scores(back, tmp_path / "whole.json").new == 1
    assert back.frame()[INTERVAL].values.tolist() == expected


def test_files_of_scores_are_read(tmp_path):
    folder, store = tmp_path / "scores", ResultStore(tmp_path / "results.db")
    (folder / "deeper").mkdir(parents=True)
    scores = [made(0.1, HOSTILE[0]), made(math.nan, HOSTILE[2]), in_time(), made(0.4, provenance={"start": None})]
    (folder / "one.json").write_bytes(as_json(scores[0].to_dict()))
    (folder / "deeper" / "list.json").write_bytes(b"\xef\xbb\xbf" + as_json([score.to_dict() for score in scores[1:3]]))
    # As `bsjax score --json` writes them.
    row = {"model": "gabor-v1", "benchmark": "Doe", "score": scores[3].to_dict(), "error": None, "seconds": 2.0}
    failed = {"model": "hmax", "benchmark": "Doe", "score": None, "error": "a b", "seconds": 1.0}
    (folder / "written.json").write_bytes(as_json([row, failed], indent=1))
    (folder / "notes.txt").write_text("no scores")
    assert import_scores(store, folder) == Imported(new=4, failures=1)
    assert import_scores(store, str(folder)) == Imported(known=4)
    assert import_scores(store, folder / "one.json") == Imported(known=1)
    frame = store.frame("hmax", "Doe")
    assert frame[["state", "reason", "seconds"]].values.tolist() == [["failed", "a b", 1.0]]
    read = {as_json(store.score(key).to_dict()) for key in keys(store)}
    assert read == {as_json(score.to_dict()) for score in scores}


def test_a_score_without_names_has_those_of_its_row(tmp_path, one):
    path = tmp_path / "scores.json"
    path.write_bytes(as_json([{"model": "mine", "benchmark": "theirs", "score": Score(0.5).to_dict()}]))
    assert import_scores(one, path).new == 1
    assert one.frame()[["model", "benchmark", "score"]].values.tolist() == [["mine", "theirs", 0.5]]


NAMES = {"model": "a", "benchmark": "b"}


@pytest.mark.parametrize(
    "content, message",
    [
        (b"\x89PNG\r\n\x1a\n\xff\xfe", "neither a store of results nor text"),
        (b"[" * 100_000, "recursion|nested"),
        (as_json({"value": 0.5, "colour": "red"}), "Object contains unknown field `colour`"),
        (as_json([{**NAMES, "error": 3}]), r"row 1: .* got `int` - at `\$.error`"),
        (as_json([{**NAMES, "error": "x", "run_id": "r"}]), "it is of the run 'r', which the file does not have"),
    ],
)
def test_what_is_no_score_is_refused_and_the_rest_goes_on(tmp_path, content, message):
    store, path = ResultStore(tmp_path / "results.db"), tmp_path / "scores" / "wrong.json"
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"{path}: .*{message}") as caught:
        import_scores(store, path)
    assert "\n" not in str(caught.value)
    (path.parent / "right.json").write_bytes(as_json(made().to_dict()))
    found = import_scores(store, path.parent)
    assert (found.new, len(found.refused)) == (1, 1) and found.refused[0].startswith(f"{path}: ")
    assert "\n" not in found.refused[0] and str(found).endswith(", 1 refused")


def test_rows_that_are_wrong_are_named_and_the_others_taken(tmp_path):
    store, path = filled(tmp_path / "results.db", 1), tmp_path / "whole.json"
    export(store, path, scores=True, latest=False)
    plain = json.loads(path.read_bytes())
    plain["runs"][0]["n_cells"] = "many"
    plain["models"].append(["pixels"])
    plain["benchmarks"] = {"a": 1}
    plain["scores"][-1]["log"] = {"a": 1}
    path.write_bytes(as_json(plain))
    found = import_scores(ResultStore(tmp_path / "back.db"), path)
    # Scores of the run that is refused are, too.
    expected = ["row 1 of runs: "]
    expected += [f"row {len(plain['models'])} of models: "]
    expected += ["row 1 of benchmarks: ", "it is of the run"]
    for words in expected:
        assert any(words in line for line in found.refused), words
    assert found.new == len(keys(store)) - 2 and found.failures == 0


def test_places_without_scores(tmp_path, one):
    with pytest.raises(FileNotFoundError, match="nothing at .*nowhere: expected a store of results, a file of scores"):
        import_scores(one, tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="no scores in .*empty: expected files that end in .json"):
        import_scores(one, tmp_path / "empty")


# The leaderboard.

LAYERS = '{"V4": "layer2.0", "IT": ["layer3", "layer4"]}'
HEADER = "model_name layers average_vision_v0 neural_vision_v0 Doe2026.V4-pls_v3 Doe_v1_v2 Hebart_v1".split()


def leaderboard(path, rows):
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([HEADER, *rows])
    return path


def test_the_leaderboard_is_read(tmp_path, one):
    rows = [
        ["resnet50", LAYERS, ".413", ".3", ".123", "1.0", "X"],
        ['alex,net "1"', '{"V4": 3}', "X", "", "", "1.234", "0"],
        [HOSTILE[2], "{}", "", "", "nan", " .500 ", "-.012"],
    ]
    path = leaderboard(tmp_path / "scores.csv", rows)
    found = import_scores(one, path)
    assert (found.new, found.failures) == (6, 2)
    # Layers that are none do not lose the scores.
    assert "line 3: layers must be a JSON object of regions and layers" in found.refused[0] and len(found.refused) == 1
    assert import_scores(one, path).known == 6
    frame, columns = one.frame(), ["model", "benchmark", "version", "score"]
    assert {*frame[frame["state"] == "scored"][columns].itertuples(index=False, name=None)} == {
        ("resnet50", "Doe2026.V4-pls", 3, 0.123),
        ("resnet50", "Doe_v1", 2, 1.0),
        ('alex,net "1"', "Doe_v1", 2, 1.234),
        ('alex,net "1"', "Hebart", 1, 0.0),
        (HOSTILE[2], "Doe_v1", 2, 0.5),
        (HOSTILE[2], "Hebart", 1, -0.012),
    }
    failed = frame[frame["state"] == "failed"]
    assert failed[["model", "benchmark", "reason"]].values.tolist() == [
        ["resnet50", "Hebart", "shown as X on the leaderboard"],
        [HOSTILE[2], "Doe2026.V4-pls", "shown as X on the leaderboard"],
    ]
    score = one.score(frame.query("model == 'resnet50' and benchmark == 'Doe_v1'")["key"].item())
    assert score.formula == "as on the leaderboard" and score.error is None
    assert score.provenance.details == {"source": "leaderboard", "decimals": 3}
    assert score.provenance.layers == {"V4": ["layer2.0"], "IT": ["layer3", "layer4"]}
    assert len(frame) == 8 and not frame["benchmark"].str.contains("vision").any()


def test_a_leaderboard_with_quirks(tmp_path):
    path, registered = tmp_path / "scores.csv", "MajajHong2015public.IT-pls"
    rows = [
        "# Generated on 2026-08-01",
        "# Date from 2020",
        f"rank,model,Model ID,average_vision_v0,Doe_v1,{registered},filtered_score",
    ]
    rows += ['"1","a","42","0.8",".7",".2",".1"', "", '"2","b","7","0.3","","X",""', "3,c,8,,.3x,.4,"]
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join([*rows, "4,d,9", '5," ",9,,.1,.2,']).encode())
    store = ResultStore(tmp_path / "results.db")
    found = import_scores(store, path)
    assert (found.new, found.failures) == (3, 1)
    assert found.refused == (
        f"{path}: line 7, column 'Doe_v1': expected a score, 'X' or nothing, got '.3x'",
        f"{path}: line 8: expected 7 cells, got 3",
        f"{path}: line 9: no name of a model",
    )
    frame = store.frame(latest=False)
    assert set(frame[frame["state"] == "scored"][["benchmark", "version"]].itertuples(index=False, name=None)) == {
        ("Doe", 1),
        (registered, 0),
    }


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "expected a column 'model_name', got nothing"),
        (b"model_name,layers,average_vision_v0\na,,.1\n", "a column for each benchmark"),
        (b"model_name,Doe_v1,Doe_v1\na,.1,.2\n", "columns of the same benchmark: Doe_v1"),
        ("model_name,Doe_v1\nä,.1\n".encode("latin-1"), r"no table in CSV \('utf-8' codec can't decode"),
    ],
)
def test_what_is_no_table_of_a_leaderboard(tmp_path, content, message):
    path, store = tmp_path / "scores.csv", ResultStore(tmp_path / "results.db")
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"{path}: .*{message}"):
        import_scores(store, path)
    assert keys(store) == []


def test_a_cell_of_a_table_cannot_be_a_formula(tmp_path):
    with ResultStore(tmp_path / "a.db") as store:
        for model in ("=HYPERLINK(1)", "+1-1", "@sum", "-2", "pixels"):
            store.add(made(-0.5, model))
        export(store, tmp_path / "a.csv")
    rows = list(csv.DictReader((tmp_path / "a.csv").read_text(encoding="utf-8").splitlines()))
    assert {row["model"] for row in rows} == {"'=HYPERLINK(1)", "'+1-1", "'@sum", "-2", "pixels"}
    assert {row["score"] for row in rows} == {"-0.5"}
