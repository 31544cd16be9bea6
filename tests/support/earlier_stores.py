"""Stores of results as each version of the tables had them: ``tests/results/stores/NNNN.sql``, and what is in them.

    python -m tests.support.earlier_stores

writes those of the version that the package has now. They are kept when the tables change: whoever has such a store
opens it with a later bsjax.
"""

import json
import math
import re
import sqlite3
import sys
import tempfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import sqlalchemy as sa
import xarray as xr

from bsjax import Score
from bsjax.core.files import as_json
from bsjax.labelled.uncertainty import Uncertainty
from bsjax.results import ResultStore
from bsjax.results.migrations import HEAD, upgrade
from bsjax.results.queries import COLUMNS
from tests.support.paths import REPOSITORY

STORES = REPOSITORY / "tests" / "results" / "stores"
VERSIONS = sorted(path.stem for path in STORES.glob("[0-9]*.sql"))
HOSTILE = "a\0b \ud800 \U0001f98a \u202eלוא <script>'\"\\%_"


def as_file(version: str, path: Path) -> None:
    """Write a store of a version as a SQLite file."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((STORES / f"{version}.sql").read_text())


def as_tables(version: str, engine: sa.Engine) -> None:
    """Write a store of a version into an empty database on a server."""
    upgrade(engine, version)
    tables = sa.MetaData()
    tables.reflect(engine)
    with tempfile.TemporaryDirectory() as folder:
        as_file(version, Path(folder, "results.db"))
        rows = rows_of(sa.create_engine(f"sqlite:///{folder}/results.db"))
    with engine.begin() as connection:
        for table in tables.sorted_tables:
            if table.name != "alembic_version" and rows[table.name]:
                connection.execute(table.insert(), rows[table.name])
            if "id" in table.c and isinstance(table.c.id.type, sa.Integer):
                greatest = f"(SELECT max(id) FROM {table.name})"
                connection.execute(sa.text(f"SELECT setval(pg_get_serial_sequence('{table.name}', 'id'), {greatest})"))


def rows_of(engine: sa.Engine) -> dict[str, list[dict]]:
    """All that is in a database, by tables."""
    tables = sa.MetaData()
    tables.reflect(engine)
    with engine.connect() as connection:
        found = {
            table.name: [
                dict(row) for row in connection.execute(table.select().order_by(*table.primary_key)).mappings()
            ]
            for table in tables.sorted_tables
        }
    engine.dispose()
    return found


def expected(version: str) -> dict:
    """What is in a store of a version, as it was when it was written: ``scores`` by their keys, and the ``frame``.

    What the table and the scores have come to say since then is empty.
    """
    found = json.loads((STORES / f"{version}.json").read_text())
    empty = dict.fromkeys(COLUMNS)
    scores = {key: Score.from_dict(plain).to_dict() for key, plain in found["scores"].items()}
    return {"scores": scores, "frame": [empty | row for row in found["frame"]]}


def kept(store: ResultStore) -> dict:
    """What is in a store, to be compared with what is expected."""
    frame = store.frame(latest=False)
    rows = [
        {name: None if value != value else value for name, value in row.items()} for row in frame.to_dict("records")
    ]
    keys = [row["key"] for row in rows if row["state"] != "failed"]
    return {"scores": {key: store.score(key).to_dict() for key in keys}, "frame": json.loads(as_json(_finite(rows)))}


def _finite(rows: list[dict]) -> list[dict]:
    return [
        {name: str(value) if value in (math.inf, -math.inf) else value for name, value in row.items()} for row in rows
    ]


def write() -> None:
    """Write a store of the version that the package has now: scores of real benchmarks, and whatever else there is."""
    import bsjax

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "results.db")
        with ResultStore(path) as store:
            run = store.begin_run(4, asked_for={"models": ["pixels"], "threshold": 0.5})
            facts = {"visual_degrees": 8.0, "region_layer_map": {"V1": ["pixels"]}}
            store.begin_task(run, "0" * 32, "lab7 4711")
            store.add(bsjax.score("pixels", "Simulated.V1-ridge"), run=run, task="0" * 32, cell="0" * 32, facts=facts)
            for benchmark in ("Simulated.V1-cka", "Simulated.V1-rdm"):
                store.add(bsjax.score("gabor-v1", benchmark), run=run, task=benchmark, cell=benchmark, raw_values=False)
            store.add_failure(
                "hmax", "Simulated.V1-pls", ValueError("no\nlayer"), run=run, task="1" * 32, cell="1" * 32, seconds=0.5
            )
            store.begin_task(run, "2" * 32, "lab7 4711")
            store.end_run(run)
            store.begin_run(1)
            times = xr.DataArray([0.1, math.nan], dims=["time_bin"], coords={"time_bin": [70, 170]})
            origin = {"model": "pixels", "benchmark": "Doe2026-pls", "model_digest": "abc", "benchmark_version": 2}
            in_time = Uncertainty(("subjects",), times / 10, "standard error over 9 subjects", dof=8)
            at = origin | {"start": "2026-01-02T03:04:05+02:00"}
            store.add(Score(times, error=times / 10, uncertainty=in_time, provenance=at))
            plan = bsjax.Resampling("stimuli", draws=20)
            store.add(drawn := bsjax.score("pixels", "Simulated.V1-cka", resampling=plan))
            store.add(replace(drawn, error=0.5), raw_values=False)
            store.add(Score(math.nan, provenance=origin | {"reason": "all neuroids are silent"}))
            store.add(Score(math.inf, raw=xr.DataArray(np.arange(4.0), dims=["x"]), provenance=origin))
            store.add(Score(-0.0, provenance={"model": HOSTILE, "benchmark": HOSTILE}))
            store.add(Score(0.25, provenance={"model": "old", "benchmark": "Doe2026-pls"}))
            store.rename("model", "old", "new")
            store.note_digest("model", "3" * 32, "4" * 32)
            found = kept(store)
        with closing(sqlite3.connect(path)) as connection:
            # SQLite writes infinities as words that it does not read.
            dump = re.sub(r",(-?)Inf(?=[,)])", r",\g<1>9e999", "\n".join(connection.iterdump()))
    STORES.mkdir(exist_ok=True)
    (STORES / f"{HEAD}.sql").write_text(f"{dump}\n")
    (STORES / f"{HEAD}.json").write_bytes(as_json(found) + b"\n")


if __name__ == "__main__":
    sys.exit(write())
