"""The table of behavioural benchmarks, as it is written in ``behaviours.toml``: light enough to be listed."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from bsjax.benchmarks.rows.publications import publication


@cache
def behavior_rows() -> dict[str, dict[str, Any]]:
    """Identifier -> the fields of its row.

    Example:
        >>> all("factory" in row and "summary" in row for row in behavior_rows().values())
        True
    """
    table = tomllib.loads(Path(__file__).with_name("behaviours.toml").read_text(encoding="utf-8"))
    return {row["identifier"]: row for row in table["benchmark"]}


def fields_of(row: dict[str, Any]) -> dict[str, Any]:
    """What all benchmarks take from their row: size of the stimuli, trials, version, parent and citation.

    Example:
        >>> sorted(fields_of(behavior_rows()["Hebart2023-match"]))
        ['bibtex', 'number_of_trials', 'parent', 'version', 'visual_degrees']
    """
    return {
        "visual_degrees": row.get("visual_degrees"),
        "number_of_trials": row["number_of_trials"],
        "version": row["version"],
        "parent": row["parent"],
        "bibtex": publication(row["citation"]),
    }
