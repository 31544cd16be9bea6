"""The store of results keeps what it is given: scores, failures, runs, in SQLite and in PostgreSQL."""

import json
import math
import os
import re
import threading
from dataclasses import replace

import numpy as np
import pytest
import sqlalchemy as sa
import xarray as xr

from bsjax import Score
from bsjax.core.files import as_json
from bsjax.results import ResultStore, tables
from bsjax.results.documents import document_of
from bsjax.results.leases import claim, release, this_process, workers_at
from bsjax.results.store import Task
from tests.support.large_store import ceiled_score
from tests.support.paths import REPOSITORY

ORIGIN = {"model": "m", "benchmark": "b"}
TIMES = xr.DataArray([0.1, math.nan], dims=["time_bin"], coords={"time_bin": [70, 170]})
EXPORTED = json.loads((REPOSITORY / "tests" / "results" / "stores" / "exported-0002.json").read_bytes())
REAL = {row["benchmark"]: row["score"] for row in EXPORTED["scores"] if row["score"]}
# Characters that databases do not take, what stands for them, and some that languages of queries and pages read.
NAMES = ["a\0b", "a\x1a0000b", "A\0B", "image_\udcff \ud800", "ä" * 300, "'; DROP TABLE scores; --\"`"]
NAMES += ["*[a-z]?%_\\", "a\nb\r\tc", "é", "e\u0301", "  a  "]


def count(store, table):
    with store.reading() as connection:
        return connection.execute(sa.select(sa.func.count()).select_from(table)).scalar()


def counts(store):
    return {table.name: count(store, table) for table in tables.metadata.sorted_tables}


SAMPLES = {
    **{name: Score.from_dict(plain) for name, plain in REAL.items() if name.startswith("Simulated")},
    "ceiled": ceiled_score("m", "b"),
    "undefined": Score(math.nan, n_units=3, n_undefined=3, provenance=ORIGIN | {"reason": "all neuroids are silent"}),
    "infinite": Score(math.inf, error=math.inf, ceiling=Score(-math.inf), provenance=ORIGIN),
    "in time": Score(TIMES, error=TIMES / 10, unceiled=Score(TIMES, raw=TIMES), provenance=ORIGIN),
}


# Scores come back.


def test_every_kind_of_score_comes_back(store):
    for name, score in SAMPLES.items():
        key = store.add(score)
        again = store.score(key)
        assert again.to_dict() == score.to_dict(), name
        assert again == score or not score.sizes and math.isnan(score) or score.sizes
    assert count(store, tables.scores) == len(SAMPLES)


def test_any_name_comes_back(store):
    for name in NAMES:
        check_name(store, name)
    assert count(store, tables.models) == len(NAMES)


def check_name(store, name):
    origin = {"model": name, "model_digest": name, "benchmark": name, "parent": name, "reason": name, "note": name}
    key = store.add(
        score := Score(math.nan, provenance=origin), facts={name: name}, task=Task(store.begin_run(1, note=name))
    )
    assert store.score(key).to_dict() == score.to_dict()
    # As it is, where a table can hold it.
    shown = name.encode("utf-8", "backslashreplace").decode()
    for asked in (name, shown):
        rows = store.frame(asked, [asked])
        [row] = rows[rows["model"] == shown].to_dict("records")
        assert [row[column] for column in ("model", "model_digest", "benchmark", "parent", "reason")] == [shown] * 5
    failed = store.add_failure(name, name, name, log=name, task=Task(cell=name), started="2030-01-01")
    [row] = store.frame()[lambda table: table["model"] == shown].to_dict("records")
    assert (row["state"], row["reason"], row["key"]) == ("failed", " ".join(shown.split()), failed)
    with store.reading() as connection:
        [facts] = connection.execute(sa.select(tables.models.c.facts).where(tables.models.c.identifier == name)).one()
        assert facts == {name: name}
        of = tables.failures.c
        [(log, cell)] = connection.execute(sa.select(of.log, of.cell).where(of.key == failed)).all()
        assert log == cell == name


def test_a_score_is_there_once_however_often_it_is_added(store):
    score = ceiled_score("m", "b")
    key = store.add(score)
    before = counts(store)
    assert store.add(score) == store.add(Score.from_dict(json.loads(as_json(score.to_dict())))) == key
    assert counts(store) == before
    assert store.add(replace(score, error=0.5)) != key
    assert count(store, tables.scores) == 2


def test_what_scores_share_is_there_once(store):
    for n in range(5):
        store.add(ceiled_score(f"model{n}", "b"))
    found = counts(store)
    assert found["models"] == 5 and found["benchmarks"] == 1
    # The labels, raw values, and those of the ceiling: here the same of each.
    assert found["raw_values"] == 3


def test_a_score_needs_a_model_and_a_benchmark(store):
    for origin, missing in (
        ({"benchmark": "b"}, "model"),
        ({"model": "m"}, "benchmark"),
        (ORIGIN | {"model": ""}, "model"),
    ):
        with pytest.raises(ValueError, match=f"does not say of which {missing} it is: give {missing}=..."):
            store.add(Score(0.5, provenance=origin))
    assert counts(store)["models"] == 0


def test_facts_of_a_model_add_up(store):
    store.add(Score(0.5, provenance=ORIGIN))
    store.add(Score(0.6, provenance=ORIGIN), facts={"degrees": 8.0, "threshold": math.nan})
    store.add(Score(0.7, provenance=ORIGIN), facts={"degrees": 8, "layers": {"V1": ["pixels"]}})
    with store.reading() as connection:
        [facts] = connection.execute(sa.select(tables.models.c.facts)).scalars()
    assert facts == {"degrees": 8, "threshold": {"$float": "nan"}, "layers": {"V1": ["pixels"]}}


# Raw values.


def without_raw(score):
    parts = {name: getattr(score, name) for name in ("unceiled", "ceiling") if getattr(score, name) is not None}
    return replace(score, raw=None, **{name: without_raw(part) for name, part in parts.items()})


def test_raw_values_can_be_left_out_and_brought_later(store):
    score = ceiled_score("m", "b")
    key = store.add(score, raw_values=False)
    assert count(store, tables.raw_values) == 0
    assert store.score(key).to_dict() == without_raw(score).to_dict()
    assert store.add(score) == key
    assert store.score(key).to_dict() == score.to_dict()
    assert store.score(key, raw_values=False).to_dict() == without_raw(score).to_dict()
    assert count(store, tables.scores) == 1


# Keys.


def test_a_score_is_found_by_the_beginning_of_its_key(store):
    keys = [store.add(Score(n / 40, provenance=ORIGIN)) for n in range(40)]
    for n, key in enumerate(keys):
        length = next(k for k in range(1, 33) if sum(other.startswith(key[:k]) for other in keys) == 1)
        assert store.score(key[:length]) == n / 40 == store.score(key)
    shared = next(key[0] for key in keys if sum(other[0] == key[0] for other in keys) > 1)
    with pytest.raises(KeyError, match=f"^more than one score has a key that begins with '{shared}' in .*; see `bsj"):
        store.score(shared)
    for unknown in ("0" * 32, keys[0] + "0", "%", "", "g", "\0", "\udcff"):
        with pytest.raises(KeyError, match="^no score has a key that begins with"):
            store.score(unknown)


@pytest.mark.parametrize("what", ["document", "raw values"])
def test_a_damaged_score_says_so_and_the_others_are_read(store, what):
    key, other = (store.add(ceiled_score("m", name, seed)) for seed, name in enumerate("bc"))
    made, of = document_of(ceiled_score("m", "b")), tables.scores.c
    own = [digest for digest, part in made.raw.items() if len(part) > 1000]
    raw = tables.raw_values.c
    changed = {
        "document": sa.update(tables.scores).where(of.key == key).values(document={"value": "high"}),
        "raw values": sa.update(tables.raw_values).where(raw.digest == own[0]).values(content=bytes(2000)),
    }[what]
    with store.writing() as connection:
        assert connection.execute(changed).rowcount == 1
    with pytest.raises(ValueError, match=f"the score {key} in .* cannot be read, as the store is damaged: "):
        store.score(key)
    assert store.score(other).to_dict() == ceiled_score("m", "c", 1).to_dict()
    assert len(store.frame()) == 2


# Runs and cells.


def test_a_run_has_a_task_once_and_says_which_score_it_has(store):
    run, other = store.begin_run(2), store.begin_run(2)
    first = store.add(Score(0.5, provenance=ORIGIN), task=Task(run, "c", "c"))
    assert store.add(Score(0.6, provenance=ORIGIN), task=Task(run, "c", "c")) == first
    assert store.score(first) == 0.5 and count(store, tables.scores) == 1
    later = store.add(Score(0.6, provenance=ORIGIN), task=Task(other, "c", "c"))
    assert later != first and store.scored(["c", "d"]) == {"c": [(later, None), (first, None)]}
    # Outside of runs a cell may be there several times.
    read = {"file /a": ["1 2", "3"]}
    last = [store.add(Score(value, provenance=ORIGIN), task=Task(cell="c"), opened=read) for value in (0.7, 0.8)][-1]
    assert store.scored(["c"])["c"][0] == (last, read) and len(store.scored(["c"])["c"]) == 4


def test_a_score_that_was_kept_outside_of_a_grid_is_found_by_its_cell(store):
    score, run = Score(0.5, provenance=ORIGIN), store.begin_run(1)
    key = store.add(score)
    assert store.scored(["c"]) == {}
    assert store.add(score, task=Task(run, "c", "c")) == key and store.scored(["c"]) == {"c": [(key, None)]}
    # Computed anew, as its code or its files have changed: the next grid looks for that.
    assert store.add(score, task=Task(run, "d", "d"), opened={"a": "b"}) == key
    assert store.scored(["c", "d"]) == {"d": [(key, {"a": "b"})]}


def test_a_score_that_is_found_is_the_latest_of_its_pair_again(store):
    pair = ORIGIN["model"], ORIGIN["benchmark"]
    at = {"start": "2026-01-01T00:00:00+00:00"}
    key = store.add(Score(0.5, provenance=ORIGIN | at), task=Task(name="plain", cell="c"))
    store.confirm([key])
    in_draws = store.add(
        Score(0.6, provenance=ORIGIN | {"start": "2026-01-02T00:00:00+00:00"}), task=Task(name="draws")
    )
    store.confirm([key, in_draws])
    assert len(store.frame(latest=False)) == 2
    store.remove(in_draws)
    store.add_failure(*pair, "the disk is not mounted")
    assert store.frame()["state"].tolist() == ["failed"]
    for _ in range(2):
        store.confirm([store.scored(["c"])["c"][0][0]])
        assert store.frame()["score"].tolist() == [0.5] and len(store.frame(latest=False)) == 3


def test_what_is_in_flight_is_taken_back_by_a_score_a_failure_or_by_hand(store):
    run, other = store.begin_run(3), store.begin_run(1)
    for task in ("a", "b", "c"):
        claim(store, [task], run, 60)
    claim(store, ["d"], other, 60)
    assert workers_at(store, run) == dict.fromkeys("abc", this_process())
    store.add(Score(0.5, provenance=ORIGIN), task=Task(run, "a", "a"))
    assert set(workers_at(store, run)) == {"b", "c"}
    store.add_failure("m", "b", "no data", task=Task(run, "b", "b"))
    release(store, ["c", "never begun"], run)
    assert workers_at(store, run) == {} and set(workers_at(store, other)) == {"d"}
    # Also where the score is there already; the lease of another run stays.
    claim(store, ["a"], run, 60)
    store.add(Score(0.6, provenance=ORIGIN), task=Task(run, "a", "a"))
    store.add(Score(0.6, provenance=ORIGIN), task=Task(run, "d", "d"))
    assert workers_at(store, run) == {} and set(workers_at(store, other)) == {"d"}


def test_a_run_says_what_it_was(store):
    run = store.begin_run(7, models=["pixels"], bins=(70, 170))
    assert re.fullmatch("[0-9a-f]{16}", run) and run != store.begin_run(7)
    store.end_run(run)
    with store.reading() as connection:
        rows = {row["id"]: row for row in connection.execute(sa.select(tables.runs)).mappings()}
    row = rows.pop(run)
    assert (
        row["n_cells"] == 7 and row["started"] <= row["ended"] and [other["ended"] for other in rows.values()] == [None]
    )
    facts = dict(row["facts"])
    assert facts.pop("machine") == os.uname().nodename and facts.pop("python").startswith("3.")
    assert facts == {"models": ["pixels"], "bins": {"$tuple": [70, 170]}}


def test_a_run_that_was_never_begun_is_an_error(store):
    with pytest.raises(ValueError, match=r"has no such run: its name is what begin_run gave"):
        store.add(Score(0.5, provenance=ORIGIN), task=Task("0123", "c", "c"))
    assert not any(counts(store).values())


def test_what_came_of_the_tasks_of_a_run(store):
    run, other = store.begin_run(3), store.begin_run(1)
    kept = store.add(Score(0.5, provenance=ORIGIN | {"seconds": 1.5}), task=Task(run, "a"))
    failed = store.add_failure("m", "b", ValueError("no data"), task=Task(run, "b"), seconds=2.0)
    assert store.add_failure("m", "b", "killed", task=Task(run, "b")) == failed
    store.add_failure("m", "b", "no data", task=Task(other, "c"))
    # Of one that failed and was scored after all, the score counts.
    store.add_failure("m", "b", "no data", task=Task(run, "a"))
    wanted = {"a": ("a", kept, "", 1.5), "b": ("b", failed, "no data", 2.0)}
    assert store.tasks_done(run, ["a", "b", "c", "d"]) == wanted
    assert store.tasks_done(run, ["d"]) == {} == store.tasks_done(run, [])
    assert not store.has_ended(run)
    store.end_run(run)
    assert store.has_ended(run) and not store.has_ended(other)


def test_names_that_are_given_are_those_of_the_score(store):
    known = store.add(Score(0.5, provenance=ORIGIN), model="mine", benchmark="Mine-pls")
    assert store.score(known).provenance.model == ORIGIN["model"]
    unnamed = [store.add(Score(0.5), model=name, benchmark="Mine-pls") for name in ("mine", "yours")]
    assert len({known, *unnamed}) == 3
    assert [store.score(key).provenance.model for key in unnamed] == ["mine", "yours"]
    frame = store.frame(latest=False)
    assert frame["model"].tolist() == ["mine", "mine", "yours"] and set(frame["benchmark"]) == {"Mine-pls"}


# Failures.


def test_a_failure_says_what_went_wrong_in_one_line_and_where_in_many(store):
    try:
        raise KeyError("V1")
    except KeyError as error:
        key = store.add_failure("m", "b", error, seconds=math.nan)
    with store.reading() as connection:
        [row] = connection.execute(sa.select(tables.failures)).mappings()
    assert (row["key"], row["kind"], row["error"], row["seconds"]) == (key, "KeyError", "KeyError: 'V1'", None)
    assert row["log"].startswith("Traceback") and "raise KeyError" in row["log"]
    assert abs(np.datetime64(row["started"][:26]) - np.datetime64("now", "us")) < np.timedelta64(60, "s")


# Times.


MOMENTS = {
    "2026-01-02T03:04:05.25Z": "2026-01-02T03:04:05.250000+00:00",
    "2026-01-02T03:04:05+02:00": "2026-01-02T01:04:05+00:00",
    "2026-01-02": "2026-01-02T00:00:00+00:00",
    "0001-01-01T00:00:00+14:00": None,
    None: None,
}


def test_times_of_any_zone_are_kept_in_one(store):
    for said, kept in MOMENTS.items():
        model = f"of {said}"
        key = store.add(Score(0.5, provenance={"model": model, "benchmark": "b"} | ({"start": said} if said else {})))
        assert store.score(key).provenance.start == said
        [row] = store.frame(model).to_dict("records")
        assert row["started"] == kept or (kept is None and math.isnan(row["started"]))
        store.add_failure(f"failed {said}", "b", "no data", started=said)
        [failed] = store.frame(f"failed {said}")["started"]
        assert failed == kept if kept else failed > "2026-01"


# Whole or not at all.


def refuse_scores(store):
    """Let the database refuse every further score."""
    with store.writing() as connection:
        if connection.dialect.name == "sqlite":
            refusal = "CREATE TRIGGER no BEFORE INSERT ON scores BEGIN SELECT RAISE(ABORT, 'refused'); END"
        else:
            refusal = "ALTER TABLE scores ADD CONSTRAINT refused CHECK (false) NOT VALID"
        connection.exec_driver_sql(refusal)


def test_of_a_score_that_could_not_be_written_nothing_is_there_and_the_next_is_whole(store):
    kept = store.add(ceiled_score("m", "b"))
    before = counts(store)
    refuse_scores(store)
    with pytest.raises(OSError, match=r"the store of results at .* cannot be used \(.*refused.*\): set BSJAX_RESULTS"):
        store.add(ceiled_score("new", "c", seed=1), facts={"degrees": 8})
    assert counts(store) == before
    with store.writing() as connection:
        is_file = connection.dialect.name == "sqlite"
        connection.exec_driver_sql("DROP TRIGGER no" if is_file else "ALTER TABLE scores DROP CONSTRAINT refused")
    key = store.add(ceiled_score("new", "c", seed=1))
    assert store.score(key).to_dict() == ceiled_score("new", "c", seed=1).to_dict()
    assert store.frame().set_index("key")["model"].to_dict() == {kept: "m", key: "new"}


# Connections.


def test_several_threads_may_use_one_store(store):
    wrong = []

    def use(number):
        try:
            for n in range(8):
                score = ceiled_score(f"model{n}", f"benchmark{number % 2}", seed=number)
                assert store.score(store.add(score)).to_dict() == score.to_dict()
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=use, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and count(store, tables.scores) == 32 and count(store, tables.models) == 8


@pytest.mark.parametrize("name", ["results.db", "ä?b#c%41&mode=ro", "a://b"])
def test_the_place_of_a_store_opens_it_again(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "new" / "folder" / name
    with ResultStore(path) as store:
        key = store.add(Score(0.5, provenance=ORIGIN))
        monkeypatch.chdir("/")
        for place in (store.place, path):
            for read_only in (False, True):
                with ResultStore(place, read_only=read_only) as again:
                    assert again.score(key) == 0.5
    assert path.is_file()
