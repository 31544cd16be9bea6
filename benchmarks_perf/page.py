"""Renders ``docs/performance.md`` and its pictures from the newest result of every row in ``results/``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import figures
from .ahead import section
from .report import RESULTS
from .rows import TABLE

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"

Result = Mapping[str, Any]

_HEADINGS = (
    *("row", "by", "first call", "first, warm cache", "later calls", "at 50 stimuli", "bsjax is faster"),
    *("above the floor", "peak memory", "error"),
)
_OPENING = """\
---
html_theme.sidebar_secondary.remove: true
---

# Performance

This page is rendered from the JSON in `benchmarks_perf/results/`; `make perf` measures and renders it anew.
{machine} A call of bsjax or brainscore-vision goes from labelled arrays to a score; the other libraries get bare \
arrays and give correlations.

![Times of every row](performance.png)"""
_READING = """\
- *first call*: with compilation, in a new process; *first, warm cache*: the same in another process that finds the \
compiled programs on disk. *later calls*: the median; *at 50 stimuli*: the same with 50 stimuli (images, training \
stimuli).
- *bsjax is faster*: the contestant's median by that of bsjax, in {dtypes}. {verdict}
- *above the floor*: the median by the least time that the algorithm can take on this machine: its operations by the \
rate of matrix products, or its bytes by the rate of memory, both measured in the same run. \
`benchmarks_perf/floors.py` has the counts.
- *peak memory*: by how much a call raises the memory of its process; for bsjax beside three times its inputs plus one \
matrix of stimuli by stimuli.
- *error*: the score's difference to the exact answer in float64."""
_DRAWS = """\
## Draws and permutations

`python -m benchmarks_perf.calibration.cost` measured these on {date}: the best of four calls of a compiled kernel in \
float64, in turns with the peer, whose few draws are scaled to as many.

{table}"""
_STUDY = """\
## A study of fMRI

`python -m benchmarks_perf.study` measured {title} on {date}: a penalty for each voxel by folds within folds in \
float32, its noise ceiling, and the values of all voxels in the store; in a new process, compilation included.{peer}

{table}"""


def render(results: Path = RESULTS, page: Path = PAGE) -> None:
    """Writes the page and, beside it, ``performance.png``.

    Args:
        results: folder of the JSON files of `report.write`.
        page: the Markdown file.

    Raises:
        FileNotFoundError: no result of a row that is measured beside peers.
    """
    rows, accelerated = newest(results, on_cpu=True), newest(results, on_cpu=False)
    if not rows:
        raise FileNotFoundError(f"no results of rows in {results}: run make perf first")
    others = {result.get("row"): result for result in kept(results)}
    page.parent.mkdir(parents=True, exist_ok=True)
    figures.times(rows, page.with_name("performance.png"))
    parts = [_OPENING.format(machine=_machine(rows)), table(rows), _reading(rows)]
    parts += [_draws(others["draws"])] if "draws" in others else []
    parts += [_study(others["study"])] if "study" in others else []
    if accelerated:
        parts += [f"## On an accelerator\n\n{_machine(accelerated)}", table(accelerated)]
    parts += [section.rendered(results), _measured(rows)]
    page.write_text("\n\n".join(part for part in parts if part) + "\n")


def kept(results: Path) -> list[Result]:
    """All results, the oldest first."""
    found = (json.loads(path.read_text()) for path in results.glob("*.json"))
    return sorted((one for one in found if "environment" in one), key=lambda one: one["environment"]["when"])


def newest(results: Path, on_cpu: bool) -> dict[str, Result]:
    """The newest full result of each row that is measured beside peers."""
    full = [result for result in kept(results) if "times_faster" in result and not result["fast"]]
    found = {one["row"]: one for one in full if on_cpu == (one["environment"]["machine"]["jax_devices"] == ["cpu"])}
    return {row: found[row] for row in TABLE if row in found}


def _draws(found: Result) -> str:
    rows = [
        [one["title"], _seconds(one["seconds"]), f"{one.get('peer', '')} {_seconds(one.get('peer_seconds'))}".strip()]
        for one in found["draws"]
    ]
    return _DRAWS.format(date=_date(found), table=_lines(["what", "bsjax", "peer"], rows))


def _study(found: Result) -> str:
    run, plan, peer = found["run"], found["plan"], found.get("peer")
    rows = [
        ["from the files to the store", _seconds(run["seconds"]), f"{run['peak_bytes'] / 1e9:.2f} GB"],
        ["as planned, without the ceiling", _seconds(plan["seconds"]), f"{plan['peak_bytes'] / 1e9:.2f} GB"],
        ["its arithmetic at the rate of products", _seconds(found["floor_s"]), ""],
        *([["himalaya, the regression alone", _seconds(peer["seconds"]), ""]] if peer else []),
    ]
    apart = (
        f" Correlations differ from those of himalaya by {peer['apart']['median']:.0e} in the median." if peer else ""
    )
    shown = _lines(["run", "seconds", "peak memory"], rows)
    return _STUDY.format(title=found["title"], date=_date(found), peer=apart, table=shown)


def _machine(rows: Mapping[str, Result]) -> str:
    """The machine of the rows; where they were measured on several, which rows on which."""
    measured: dict[str, list[str]] = {}
    for name, result in rows.items():
        machine = result["environment"]["machine"]
        devices = [device for device in machine["jax_devices"] if device != "cpu"]
        called = f"{', '.join([*devices, machine['processor']])}, {machine['cores']} cores"
        measured.setdefault(called, []).append(name)
    if len(measured) == 1:
        return f"Machine: {next(iter(measured))}."
    each = (f"{called} ({', '.join(names)})" for called, names in measured.items())
    return f"Machines: {'; '.join(each)}."


def table(rows: Mapping[str, Result]) -> str:
    """A line for each contestant of each row."""
    shown = []
    for result in rows.values():
        titles = [f"**{result['row']}**: {result['title']}", *[""] * (len(result["contestants"]) - 1)]
        each = zip(titles, result["contestants"].items(), strict=True)
        shown += [[title, *_cells(result, name, line)] for title, (name, line) in each]
    return _lines(_HEADINGS, shown, 2)


def _cells(result: Result, name: str, line: Mapping[str, Any]) -> list[str]:
    floor = (result.get("floor") or {}).get("ratio", {})
    smallest = (result.get("smallest") or {}).get("contestants", {}).get(name, {})
    ours = line["kind"] == "bsjax"
    allowed = f" of {(3 * result['input_bytes'] + result['stimuli_matrix_bytes']) / 1e6:.0f}" if ours else ""
    return [
        name,
        *map(_seconds, (line.get("first_s"), line.get("warm_first_s"), line["median_s"], smallest.get("median_s"))),
        " / ".join(map(figures.times_as_text, result["times_faster"].get(name, {}).values())),
        figures.times_as_text(floor[name]) if name in floor else "",
        "" if line.get("peak_bytes") is None else f"{line['peak_bytes'] / 1e6:.0f} MB{allowed}",
        "" if line.get("score_error") is None else f"{line['score_error']:.0e}",
    ]


def _reading(rows: Mapping[str, Result]) -> str:
    dtypes = {line["dtype"] for result in rows.values() for line in result["contestants"].values()}
    runs = list(rows.items())
    runs += [(f"{row} at 50 stimuli", result["smallest"]) for row, result in rows.items() if result.get("smallest")]
    slower = [
        f"{row}, {ours} beside {peer} ({times:.2f}×)"
        for row, result in runs
        for peer, all_times in result["times_faster"].items()
        for ours, times in all_times.items()
        if times < 1 and result["contestants"][peer]["kind"] == "peer"
    ]
    verdict = (
        f"bsjax is slower than a peer in: {'; '.join(slower)}." if slower else "No peer is faster than bsjax here."
    )
    return _READING.format(dtypes=" / ".join(sorted(dtypes, reverse=True)), verdict=verdict)


def _measured(rows: Mapping[str, Result]) -> str:
    environments = [result["environment"] for result in rows.values()]
    one, dates = environments[0], sorted(map(_date, rows.values()))
    used = {"bsjax and what it runs on": one.get("versions", {})}
    for environment in environments:
        used |= environment.get("peer_versions", {})
    lines = [
        "## How it was measured\n\n- Contestants take turns over the run, each in a process of its own, on the same "
        "arrays. Loading and labelling stand off the clock."
    ]
    for name, versions in used.items():
        lines.append(f"- {name}: {', '.join(f'{package} {version}' for package, version in versions.items())}.")
    if rates := next(iter(rows.values())).get("rates"):
        each = rates["gemm_flops_s"].items()
        gemm = ", ".join(f"{max(by.values()) / 1e9:.0f} GFLOP/s in {dtype}" for dtype, by in each)
        memory = max(rates["memory_bytes_s"].values()) / 1e9
        lines.append(f"- Rates of the machine: {gemm}; memory {memory:.0f} GB/s.")
    period = " to ".join(dict.fromkeys([dates[0], dates[-1]]))
    return "\n".join([*lines, f"- Measured {period}; Python {one['python']}."])


def _date(result: Result) -> str:
    return result["environment"]["when"][:10]


def _seconds(value: float | None) -> str:
    """Three digits with a unit.

    Examples:
        >>> _seconds(0.00234), _seconds(0.234), _seconds(23.4), _seconds(None)
        ('2.34 ms', '234 ms', '23.4 s', '')
    """
    if value is None:
        return ""
    return f"{value:.3g} s" if value >= 1 else f"{value * 1e3:.3g} ms"


def _lines(headings: Sequence[str], rows: Sequence[Sequence[str]], n_left: int = 1) -> str:
    """A table, whose first ``n_left`` columns stand to the left."""
    sides = ["---"] * n_left + ["---:"] * (len(headings) - n_left)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (headings, sides, *rows))


if __name__ == "__main__":
    render()
