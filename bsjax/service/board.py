"""The public leaderboard of submissions.

It is built from a copy of the store without private submissions. For a protected benchmark, the copy contains only the
scores that may be shown, with their rounded errors: no values of units and no failures.
"""

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bsjax.labelled import Provenance, Score
from bsjax.leaderboard import Site, build
from bsjax.results import ResultStore
from bsjax.results.exchange import merge
from bsjax.submission import protection, queue


def build_board(store: ResultStore, out: str | Path, **options: Any) -> Site:
    """Build the public leaderboard.

    Args:
        store: the store of results, which contains the submissions.
        out: the output folder, see :func:`bsjax.leaderboard.build`.
        **options: further arguments of :func:`bsjax.leaderboard.build`.

    Raises:
        ValueError: there is nothing to show.
        FileExistsError: the output folder exists and is not a leaderboard.
        ImportError: the extra ``leaderboard`` is not installed.
        OSError: the store cannot be read, or the folder cannot be written.
    """
    with tempfile.TemporaryDirectory(prefix="bsjax-board-") as folder:
        with ResultStore(Path(folder) / "shown.db") as seen:
            merge(seen, store)
            _leave_out(seen, store)
            return build(seen, out, **options)


def _leave_out(seen: ResultStore, store: ResultStore) -> None:
    submitted = queue.submissions(store)
    public = {name for one in submitted if one.visibility == "public" for name in queue.models_of(one)}
    hidden = {name for one in submitted for name in queue.models_of(one)} - public
    of_private = _benchmarks(submitted, "private") - _benchmarks(submitted, "public")
    frame = seen.frame(latest=False, columns=["key", "model", "benchmark", "version", "score", "state"])
    found = {name: protection.protection_of(store, name) for name in frame["benchmark"].unique()}
    protected = {name: how for name, how in found.items() if how is not None}
    seen.remove(*frame.loc[frame["benchmark"].isin([*of_private]), "key"])
    frame = frame.loc[~frame["benchmark"].isin([*of_private])]
    is_hidden = frame["model"].isin([*hidden]) | frame["benchmark"].isin([*protected])
    seen.remove(*frame.loc[is_hidden, "key"])
    told = dict(_told(submitted))
    last = frame.loc[is_hidden & ~frame["model"].isin([*hidden]) & (frame["state"] == "scored")]
    for row in last.drop_duplicates(["model", "benchmark"], keep="last").itertuples():
        value = told.get((str(row.model), str(row.benchmark)))
        if value is None and row.model not in public:  # scored by an operator
            value = round(float(row.score), protected[row.benchmark].decimals)
        if value is not None:
            score = store.score(str(row.key), raw_values=False)
            columns = protection.public_columns(score, protected[row.benchmark], value)
            seen.add(_as_shown(columns, score.provenance.parent))


def _as_shown(columns: Mapping[str, Any], parent: str | None) -> Score:
    """A score with the public columns only."""
    made = {"model": columns["model"], "benchmark": columns["benchmark"], "parent": parent}
    made["benchmark_version"] = columns["version"]
    return Score(columns["score"], error=columns["error"], provenance=Provenance.of(made))


def _benchmarks(submitted: list[queue.Submission], visibility: str) -> set[str]:
    found = [one.facts.get("registers", {}) for one in submitted if one.visibility == visibility]
    return {name for registers in found for name in registers.get("benchmark", ())}


def _told(submitted: list[queue.Submission]) -> Iterator[tuple[tuple[str, str], float]]:
    """(Model, benchmark) and the shown value of the score, from the earliest submission to the latest."""
    for one in reversed(submitted):
        for benchmark, values in one.facts.get("shown", {}).items():
            for model, value in values.items():
                yield (model, benchmark), value
