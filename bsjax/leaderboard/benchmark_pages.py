"""Benchmark pages: paradigm, ceiling, citation, and the scores of all models."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from bsjax.benchmarks import BenchmarkRow, benchmark_registry
from bsjax.benchmarks.descriptions import about_row
from bsjax.leaderboard.encoding import shown
from bsjax.leaderboard.model_pages import provenance_rows
from bsjax.leaderboard.records import Node, Records
from bsjax.leaderboard.samples import Samples, samples

_NO_SAMPLES = Samples([], "No images are shown: this installation does not have the benchmark's stimuli.")
# Facts in the store that are shown for a benchmark that is not registered, in this order.
_STORED = ("about", "summary", "region", "modality", "species", "metric", "ceiling", "normalisation")


def render(records: Records, environment: Any) -> Iterator[tuple[str, str]]:
    """Render a page for each benchmark. Its text needs no scripts; scores are read from the shared data file."""
    template = environment.get_template("benchmark.html.j2")
    of_leaves = records.origins.benchmarks
    for node in records.leaves:
        known = _known(node)
        yield (
            f"benchmarks/{node.slug}.html",
            template.render(
                root="../",
                charts=True,
                node=node,
                above=_above(records, node),
                ceiling=_ceiling(records, node.leaf),
                provenance=provenance_rows(of_leaves[node.leaf], without="digest"),
                **known,
            ),
        )


def _known(node: Node) -> dict[str, Any]:
    """The template values that describe a benchmark, from its code, its row or the store."""
    row = node.row
    if row is None:
        stored = [(name, str(node.facts[name])) for name in _STORED if node.facts.get(name)]
        why = (
            "The bsjax installation that built this page has no benchmark of this name; these facts are from the store."
        )
        return {"paradigm": stored, "why": why, "bibtex": "", "samples": _NO_SAMPLES}
    about, why = [], ""
    if row.plugin:
        # Its description would require running its code, which may be untrusted.
        why = "The benchmark comes from a plugin, whose code is not run to build this page."
    else:
        made = benchmark_registry[node.identifier]()
        about = list(made.paradigm()._asdict().items()) if hasattr(made, "paradigm") else []
    return {
        "paradigm": [*about, *_merged(row)],
        "why": why,
        "bibtex": row.bibtex.strip(),
        "samples": samples(row),
    }


def _merged(row: BenchmarkRow) -> list[tuple[str, str]]:
    """The description of a row with duplicate headings merged, e.g. for several data sets."""
    merged: dict[str, list[str]] = {}
    for heading, words in about_row(row):
        merged.setdefault(heading, []).append(words)
    return [(heading, "; ".join(words)) for heading, words in merged.items()]


def _above(records: Records, node: Node) -> str:
    """The averages that contain a benchmark, from the root down."""
    names: list[str] = []
    while node.parent >= 0:
        node = records.nodes[node.parent]
        names.insert(0, node.identifier)
    return " › ".join(names)


def _ceiling(records: Records, leaf: int) -> str:
    """The ceiling with its error; the range of ceilings if they differ between scores."""
    values, errors = records.columns["ceiling"][leaf], records.columns["ceiling_error"][leaf]
    there = ~np.isnan(values)
    if not there.any():
        return ""
    pairs = np.unique(np.stack([values[there], np.nan_to_num(errors[there], nan=-1.0)], axis=1), axis=0)
    low, high = pairs[0, 0], pairs[-1, 0]
    largest = np.nan if (errors_max := pairs[:, 1].max()) < 0 else errors_max
    if low == high:
        return shown(low) + ("" if np.isnan(largest) else f" ± {shown(largest)}")
    within = "" if np.isnan(largest) else f", each ± {shown(largest)} at most"
    return f"{shown(low)} to {shown(high)}{within}, depending on the score"
