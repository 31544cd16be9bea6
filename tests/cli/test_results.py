"""``bsjax results``: what it lists, shows, compares and exchanges."""

import json
import re
from functools import partial

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

from bsjax import Score
from bsjax.cli.results import app
from bsjax.labelled.uncertainty import Uncertainty
from bsjax.results import ResultStore
from bsjax.results.leases import claim
from bsjax.results.store import Task
from tests.cli.conftest import cells_of, invoke

run = partial(invoke, app)
cells = partial(cells_of, app)

HOSTILE = ["<script>alert(1)</script>", "two\nlines", "\x1b[31mred\x1b[0m", " two  spaces ", "x" * 300, "half \ud800"]


def made(value, model="pixels", benchmark="Doe2026.V4-pls", day=1, **more):
    provenance = {"model": model, "benchmark": benchmark, "benchmark_version": 2, "dtype": "float64"}
    provenance |= {"start": f"2026-08-{day:02d}T12:00:00+00:00", "layers": {"V4": ["layer2"]}}
    return Score(value, error=0.01, formula="r²/c", ceiling=Score(0.8, error=0.1), provenance=provenance, **more)


def test_rm_removes_what_was_confirmed_and_nothing_else(store):
    first, second = store.add(made(0.25, day=1)), store.add(made(0.5, day=3))
    failed = store.add_failure("gabor-v1", "Roe", ValueError("no data"))
    declined = CliRunner().invoke(app, ["rm", second], input="n\n")
    assert declined.exit_code == 1 and "pixels on Doe2026.V4-pls: scored" in declined.stdout
    assert len(store.frame(latest=False)) == 3
    with pytest.raises(KeyError, match="begins with 'zz'"):
        run("rm", second, "zz", "--yes")
    assert len(store.frame(latest=False)) == 3
    run("rm", second[:12], failed, "--yes")
    assert store.frame()["key"].tolist() == [first] and float(store.score(first)) == 0.25


@pytest.mark.slow
def test_ls_lists_the_last_scores_the_newest_first(store, monkeypatch):
    assert run("ls").stdout == "no scores found\n"
    known = Uncertainty(("stimuli",), 0.02, "known")
    old, new = store.add(made(0.25, day=1)), store.add(made(0.5, day=3, uncertainty=known))
    store.add(made(np.nan, "hmax", day=2))
    store.add(Score(xr.DataArray([0.1, 0.2], dims=["time_bin"]), provenance={"model": "a", "benchmark": "in time"}))
    failed = store.add_failure("gabor-v1", "Roe", ValueError("no\ndata"), started="2026-08-04T12:00:00+00:00")
    header, *rows = cells("ls")
    assert header == ["key", "model", "benchmark", "score", "95 % interval", "ceiling", "when", "state"]
    ceiling = "0.8000 ± 0.1000"
    assert [row[1:] for row in rows] == [
        ["gabor-v1", "Roe", "-", "-", "-", "2026-08-04 12:00", "failed: no data"],
        ["pixels", "Doe2026.V4-pls", "0.5000 ± 0.0100", "0.4608..0.5392", ceiling, "2026-08-03 12:00", "scored"],
        ["hmax", "Doe2026.V4-pls", "-", "-", ceiling, "2026-08-02 12:00", "undefined"],
        ["a", "in time", "-", "-", "-", "-", "resolved"],
    ]
    assert [row[0] for row in rows[:2]] == [failed[:12], new[:12]] and old != new
    assert len(cells("ls", "--model", "pix*", "-m", "hmax", "--limit", 1)) == 2
    assert [row[1] for row in cells("ls", "-b", "Doe*")[1:]] == ["pixels", "hmax"]
    assert [row[1] for row in cells("ls", "--failed")[1:]] == ["gabor-v1"]
    for columns, kept in ((80, 4), (84, 5), (127, 5), (128, 8)):  # whole columns on a terminal
        monkeypatch.setattr("bsjax.cli.results.width", lambda columns=columns: columns)
        assert cells("ls")[0] == header[:kept] and all(len(line) <= columns for line in run("ls").stdout.splitlines())
    monkeypatch.setattr("bsjax.cli.results.width", lambda: 80)
    assert [row[3] for row in cells("ls")[1:]] == ["failed", "0.5000 ± 0.0100", "undefined", "resolved"]


def test_runs_and_what_is_of_one(store):
    assert run("ls", "--runs").stdout == "no runs found\n"
    one, other = store.begin_run(4), store.begin_run(2)
    for number, of in enumerate((one, one, other)):
        store.add(made(0.1, f"m{number}"), task=Task(of, None, str(number)))
    store.add_failure("m9", "Doe", "no data", task=Task(one, None, "9"))
    claim(store, ["8"], one, 60)
    store.end_run(one)
    header, *rows = cells("ls", "--runs")
    assert header == ["run", "started", "ended", "cells", "done", "failed", "in flight"]
    assert [[row[0], *row[3:]] for row in rows] == [[other[:12], "2", "1", "0", "0"], [one[:12], "4", "2", "1", "1"]]
    assert rows[0][2] == "-" and re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d", rows[1][2])
    assert sorted(row[1] for row in cells("ls", "--run", one[:8])[1:]) == ["m0", "m1", "m9"]


def test_show(store):
    score = made(0.5, error_kind="standard error over 10 splits", unceiled=Score(0.4), n_units=168)
    of = store.begin_run(1)
    key = store.add(score, task=Task(of, None, "cell"))
    lines = run("show", key[:10]).stdout.splitlines()
    assert lines[:2] == ["pixels on Doe2026.V4-pls, version 2: Score(0.5000 ± 0.0100, r²/c)", ""]
    fields = dict(re.split(" {2,}", line, maxsplit=1) for line in lines[2:])
    assert fields["key"] == key and fields["run"] == of and fields["cell"] == "cell"
    assert fields["error is"] == "standard error over 10 splits" and fields["unceiled"] == "Score(0.4000)"
    assert fields["ceiling"] == "Score(0.8000 ± 0.1000)" and fields["units"].startswith("168, 0 of them with undefined")
    assert fields["dtype"] == "float64" and json.loads(fields["layers"]) == {"V4": ["layer2"]}
    assert run("show", "-m", "pixels", "-b", "Doe2026*").stdout.splitlines() == lines
    assert Score.from_dict(json.loads(run("show", key, "--json").stdout)).to_dict() == score.to_dict()


def test_show_an_empty_key(store):
    store.add(made(0.5))
    with pytest.raises(KeyError, match="no score or failure has a key that begins with ''"):
        run("show", "")


def test_show_a_failure_with_its_log(store):
    try:
        raise RuntimeError("it \x1b[31mfailed")
    except RuntimeError as error:
        key = store.add_failure("two\nlines", "Doe", error, started="2026-08-01T12:00:00+00:00", seconds=1.5)
    lines = run("show", "--model", "two\nlines", "--benchmark", "Doe").stdout.splitlines()
    assert lines[0] == r"two\nlines on Doe failed: RuntimeError: it \x1b[31mfailed" and lines[2].endswith(key)
    assert lines[6] == "Traceback (most recent call last):" and lines[-1] == r"RuntimeError: it \x1b[31mfailed"
    assert json.loads(run("show", key, "--json").stdout)["kind"] == "RuntimeError"


def test_diff(store, tmp_path):
    other, runs = ResultStore(tmp_path / "other.db"), [store.begin_run(1), store.begin_run(1)]
    store.add(made(0.5, day=1), task=Task(runs[0], None, "a"))
    assert run("diff", "--since", "2026-08-02").stdout == "no differences\n"
    store.add(made(0.25, day=2), task=Task(runs[1], None, "a"))
    store.add_failure("hmax", HOSTILE[1], "no data", started="2026-08-03T12:00:00+00:00")
    other.add(made(0.5, day=3))
    header, *rows = cells("diff", tmp_path / "other.db")
    assert header == ["model", "benchmark", "change", "one", "other", "difference", "differs"]
    assert rows == [
        ["hmax", r"two\nlines", "removed", "failed", "-", "-", "-"],
        ["pixels", "Doe2026.V4-pls", "changed", "0.2500 ± 0.0100", "0.5000 ± 0.0100", "+0.25", "-"],
    ]
    assert run("diff", tmp_path / "other.db", "-m", "p*", "--tolerance", "0.3").stdout == "no differences\n"
    assert [row[5] for row in cells("diff", "--runs", *runs)[1:]] == ["-0.25"]
    assert [row[2] for row in cells("diff", "--since", "2026-08-01T12:30+00:00")[1:]] == ["added", "changed"]


def test_export_and_import(store, tmp_path):
    for name in HOSTILE:
        store.add(made(0.5, name))
    store.add(made(0.75, HOSTILE[0], day=2))
    done = run("export", tmp_path / "scores", "--format", "json", "--model", "<*")
    assert not done.stdout and done.stderr.startswith(f"1 row in {tmp_path / 'scores'}; 1 older score")
    run("export", tmp_path / "whole.json", "--scores", "--all")
    n = len(HOSTILE) + 1
    back = ["--results", tmp_path / "back.db"]
    for expected in (f"{n} new scores, 0 that were there already", f"0 new scores, {n} that were there already"):
        done = run("import", *back, tmp_path / "whole.json")
        assert done.stdout == f"{tmp_path / 'whole.json'}: {expected}, 0 new failures\n"
    assert ResultStore(tmp_path / "back.db").frame()["key"].tolist() == store.frame()["key"].tolist()
    merged = run("merge", *back, tmp_path / "results.db", "--no-raw-values").stdout
    assert merged == f"{tmp_path / 'results.db'}: 0 new scores, {n} that were there already, 0 new failures\n"


def test_what_is_refused_is_named_and_the_rest_is_taken(store, tmp_path):
    folder = tmp_path / "scores"
    folder.mkdir()
    for number in range(25):
        (folder / f"{number:02d}.json").write_text("{")
    (folder / "right.json").write_text(json.dumps(made(0.5).to_dict()))
    done = run("import", folder)
    assert done.exit_code == 1
    assert done.stdout == f"{folder}: 1 new score, 0 that were there already, 0 new failures, 25 refused\n"
    lines = done.stderr.splitlines()
    assert lines[0].startswith(f"bsjax: {folder / '00.json'}: Expecting property name")
    assert len(lines) == 21 and lines[-1] == f"bsjax: {folder}: 5 more are refused"


# As processes.
