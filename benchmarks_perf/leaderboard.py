"""The site of a large store: how long it takes to write, to load, to sort and to filter, and how large it is.

    python -m benchmarks_perf.leaderboard [MODELS BENCHMARKS] [--store PLACE]

makes a store of 1,000 models on 300 benchmarks, writes its site, opens the table in Chromium and prints what it takes.
A time in the page is from the event to the frame in which the table shows what follows from it.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from sqlalchemy import text

from bsjax.leaderboard import Site, build
from bsjax.results import ResultStore
from tests.support.browser import Browser, browser
from tests.support.large_store import fill

_PARENTS = ("V1", "V2", "V4", "IT", "behavior", "engineering")
_ROUNDS = 11
_TIMED = """
const [script, done] = arguments, began = performance.now();
new Function(script)();
requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)));
"""
_INPUT = "const each = document.getElementById({!r}); each.value = {!r}; each.dispatchEvent(new Event('input'));"
_SORT = "const all = document.querySelectorAll('#table thead .sort'); all[{} % all.length].click();"
# What is done to the table, and what in each round; nothing of it is the same twice in a row.
_ACTIONS = {
    "sort by a column": lambda turn: _SORT.format(turn + 1),
    "sort by name": lambda turn: _SORT.format(0),
    "filter models": lambda turn: _INPUT.format("model", ("7", "")[turn % 2]),
    "filter benchmarks, average anew": lambda turn: _INPUT.format("benchmark", ("1", "")[turn % 2]),
    "missing scores as zero, average anew": lambda turn: _INPUT.format("how", ("website", "available")[turn % 2]),
}
_VIEWS = {"at first": "", "all columns, with intervals": "cells=interval"}
_READY = "document.getElementById('table').dataset.ready !== undefined"


def store_of(place: Path, n_models: int, n_benchmarks: int) -> ResultStore:
    """A store with scores between 0 and 1, under all nodes of the website's tree; some are missing or undefined."""
    store = ResultStore(place)
    fill(store, n_models, n_benchmarks)
    changes = [
        "update scores set score = min(abs(score) / 2.5, 1.2), error = abs(error) / 20",
        "update scores set low = score - 2 * error, high = score + 2 * error, ceiling = 0.8, ceiling_error = 0.01",
        "delete from scores where id % 17 = 0",
        "update scores set state = 'undefined', reason = 'no unit of the model responds', score = NULL, error = NULL,"
        " low = NULL, high = NULL where id % 23 = 0",
    ]
    for number, parent in enumerate(_PARENTS):
        changes.append(
            f"update benchmarks set parent = '{parent}', identifier = replace(identifier, 'IT', '{parent}') "
            f"where id % {len(_PARENTS)} = {number}"
        )
    with store.writing() as connection:
        for change in changes:
            connection.execute(text(change))
    return store


def measured(store: ResultStore, folder: Path) -> tuple[Site, dict[str, float], dict[str, dict[str, list[float]]]]:
    """The site, the seconds that it takes to write and to load, and the milliseconds of each action in each view."""
    began = time.perf_counter()
    site = build(store, folder / "site")
    seconds = {"write": time.perf_counter() - began}
    actions: dict[str, dict[str, list[float]]] = {}
    with browser(folder) as page:
        for name, view in _VIEWS.items():
            page.show(site.folder / "index.html", view)
            page.wait(_READY, 60)
            seconds[f"load, {name}"] = page.execute_script("return performance.now()") / 1e3
            if view:
                page.execute_script("document.getElementById('expand').click()")
            actions[name] = {what: _times(page, script) for what, script in _ACTIONS.items()}
    return site, seconds, actions


def _times(page: Browser, script) -> list[float]:
    return [page.execute_async_script(_TIMED, script(turn)) for turn in range(_ROUNDS)]


def main() -> None:
    """Read the options, measure, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks_perf.leaderboard", description=__doc__)
    parser.add_argument("n_models", nargs="?", type=int, default=1000)
    parser.add_argument("n_benchmarks", nargs="?", type=int, default=300)
    parser.add_argument("--store", type=Path, help="one that was made so before, or the place for it")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        place = chosen.store or Path(scratch, "results.db")
        there = place.exists()
        store = ResultStore(place) if there else store_of(place, chosen.n_models, chosen.n_benchmarks)
        with store:
            site, seconds, actions = measured(store, Path(scratch))
    table = Table("", "median", "most", title=f"{site.n_models} models x {site.n_benchmarks} benchmarks")
    table.add_row("size", f"{site.n_bytes / 1e6:.1f} MB", f"{site.n_files} files")
    for what, spent in seconds.items():
        table.add_row(what, f"{spent:.2f} s", "")
    for view, times in actions.items():
        for what, spent in times.items():
            table.add_row(f"{what} ({view})", f"{np.median(spent):.0f} ms", f"{max(spent):.0f} ms")
    Console().print(table)


if __name__ == "__main__":
    main()
