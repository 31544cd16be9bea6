"""Renders ``docs/performance.md`` and its pictures from the newest result of every row in ``results/``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import figures, floors
from .ahead import section
from .report import RESULTS

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"

Result = Mapping[str, Any]

_HEADINGS = (
    "row",
    "by",
    "first call",
    "first, warm cache",
    "later calls",
    "at 50 stimuli",
    "bsjax is faster",
    "above the floor",
    "peak memory",
    "error",
)


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
    page.parent.mkdir(parents=True, exist_ok=True)
    figures.times(rows, page.with_name("performance.png"))
    parts = [_opening(rows), "![Times of every row](performance.png)", _table(rows), _reading(rows)]
    parts += [_draws(results), _study(results)]
    if accelerated:
        parts += [f"## On an accelerator\n\n{_machine(accelerated)}", _table(accelerated)]
    parts.append(section.rendered(results))
    parts.append(_measured(rows))
    page.write_text("\n\n".join(part for part in parts if part) + "\n")


def newest(results: Path, on_cpu: bool) -> dict[str, Result]:
    """The newest full result of each row that is measured beside peers."""
    rows: dict[str, Result] = {}
    for path in sorted(results.glob("*.json")):
        result = json.loads(path.read_text())
        if result.get("fast") or "times_faster" not in result:
            continue
        if (result["environment"]["machine"]["jax_devices"] == ["cpu"]) != on_cpu:
            continue
        known = rows.get(result["row"])
        if known is None or known["environment"]["when"] < result["environment"]["when"]:
            rows[result["row"]] = result
    return {row: rows[row] for row in floors.COUNTS if row in rows}


def _draws(results: Path) -> str:
    """The newest times of draws and permutations; "" without any."""
    kept = [json.loads(path.read_text()) for path in results.glob("*.json")]
    found = max((one for one in kept if "draws" in one), key=lambda one: one["environment"]["when"], default=None)
    if found is None:
        return ""
    rows = [
        [
            row["title"],
            _seconds(row["seconds"]),
            f"{row['peer']} {_seconds(row['peer_seconds'])}" if "peer" in row else "",
        ]
        for row in found["draws"]
    ]
    text = (
        "`python -m benchmarks_perf.calibration.cost` measured these on "
        f"{found['environment']['when'][:10]}: the best of "
        "four calls of a compiled kernel in float64, in turns with the peer, whose few draws are scaled to as many."
    )
    return "## Draws and permutations\n\n" + text + "\n\n" + _lines(["what", "bsjax", "peer"], rows)


def _study(results: Path) -> str:
    """The newest study of fMRI; "" without any."""
    kept = [json.loads(path.read_text()) for path in results.glob("study-*.json")]
    found = max(kept, key=lambda one: one["environment"]["when"], default=None)
    if found is None:
        return ""
    run, plan, peer = found["run"], found["plan"], found.get("peer")
    rows = [
        ["from the files to the store", _seconds(run["seconds"]), f"{run['peak_bytes'] / 1e9:.2f} GB"],
        ["as planned, without the ceiling", _seconds(plan["seconds"]), f"{plan['peak_bytes'] / 1e9:.2f} GB"],
        ["its arithmetic at the rate of products", _seconds(found["floor_s"]), ""],
        *([["himalaya, the regression alone", _seconds(peer["seconds"]), ""]] if peer else []),
    ]
    text = (
        f"`python -m benchmarks_perf.study` measured {found['title']} on {found['environment']['when'][:10]}: a "
        "penalty for each voxel by folds within folds in float32, its noise ceiling, and the values of all voxels in "
        "the store; in a new process, compilation included."
    )
    if peer:
        text += f" Correlations differ from those of himalaya by {peer['apart']['median']:.0e} in the median."
    return "## A study of fMRI\n\n" + text + "\n\n" + _lines(["run", "seconds", "peak memory"], rows)


def _opening(rows: Mapping[str, Result]) -> str:
    return (
        "---\nhtml_theme.sidebar_secondary.remove: true\n---\n\n# Performance\n\n"
        "This page is rendered from the JSON in `benchmarks_perf/results/`; `make perf` measures and renders it anew.\n"
        f"{_machine(rows)} A call of bsjax or brainscore-vision goes from "
        "labelled arrays to a score; the other libraries get bare arrays and give correlations."
    )


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


def _table(rows: Mapping[str, Result]) -> str:
    shown = []
    for result in rows.values():
        titles = [f"**{result['row']}**: {result['title']}", *[""] * (len(result["contestants"]) - 1)]
        each = zip(titles, result["contestants"].items(), strict=True)
        shown += [[title, *_cells(result, name, line)] for title, (name, line) in each]
    return _lines(_HEADINGS, shown, 2)


def _cells(result: Result, name: str, line: Mapping[str, Any]) -> list[str]:
    faster = result["times_faster"].get(name, {})
    floor = (result.get("floor") or {}).get("ratio", {})
    ours = line["kind"] == "bsjax"
    return [
        name,
        _seconds(line.get("first_s")),
        _seconds(line.get("warm_first_s")),
        _seconds(line["median_s"]),
        _seconds((result.get("smallest") or {}).get("contestants", {}).get(name, {}).get("median_s")),
        "" if ours else " / ".join(map(figures.times_as_text, faster.values())),
        figures.times_as_text(floor[name]) if name in floor else "",
        _memory(result, line),
        "" if line.get("score_error") is None else f"{line['score_error']:.0e}",
    ]


def _memory(result: Result, line: Mapping[str, Any]) -> str:
    if line.get("peak_bytes") is None:
        return ""
    allowed = 3 * result["input_bytes"] + result["stimuli_matrix_bytes"]
    shown = f"{line['peak_bytes'] / 1e6:.0f} MB"
    return f"{shown} of {allowed / 1e6:.0f}" if line["kind"] == "bsjax" else shown


def _reading(rows: Mapping[str, Result]) -> str:
    dtypes = sorted(
        {line["dtype"] for result in rows.values() for line in result["contestants"].values()}, reverse=True
    )
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
    return "\n".join(
        [
            "- *first call*: with compilation, in a new process; *first, warm cache*: the same in another process that "
            "finds the compiled programs on disk. *later calls*: the median; *at 50 stimuli*: the same with 50 stimuli "
            "(images, training stimuli).",
            f"- *bsjax is faster*: the contestant's median by that of bsjax, in {' / '.join(dtypes)}. {verdict}",
            "- *above the floor*: the median by the least time that the algorithm can take on this machine: its "
            "operations by the rate of matrix products, or its bytes by the rate of memory, both measured in the same "
            "run. `benchmarks_perf/floors.py` has the counts.",
            "- *peak memory*: by how much a call raises the memory of its process; for bsjax beside three times its "
            "inputs plus one matrix of stimuli by stimuli.",
            "- *error*: the score's difference to the exact answer in float64.",
        ]
    )


def _measured(rows: Mapping[str, Result]) -> str:
    one = next(iter(rows.values()))
    rates = one.get("rates")
    lines = [
        "## How it was measured",
        "",
        "- Contestants take turns over the run, each in a process of its own, on the same arrays. Loading and "
        "labelling stand off the clock.",
        f"- bsjax and what it runs on: {_versions(one['environment'].get('versions', {}))}.",
    ]
    peers = {
        name: versions
        for result in rows.values()
        for name, versions in result["environment"].get("peer_versions", {}).items()
    }
    lines += [f"- {name}: {_versions(versions)}." for name, versions in peers.items()]
    if rates:
        gemm = ", ".join(
            f"{max(by.values()) / 1e9:.0f} GFLOP/s in {dtype}" for dtype, by in rates["gemm_flops_s"].items()
        )
        memory = max(rates["memory_bytes_s"].values()) / 1e9
        lines.append(f"- Rates of the machine: {gemm}; memory {memory:.0f} GB/s.")
    dates = sorted({result["environment"]["when"][:10] for result in rows.values()})
    lines.append(
        f"- Measured {' to '.join(dict.fromkeys([dates[0], dates[-1]]))}; Python {one['environment']['python']}."
    )
    return "\n".join(lines)


def _versions(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{package} {version}" for package, version in versions.items())


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
