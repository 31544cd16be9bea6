"""The first page: the table of models and benchmarks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bsjax.leaderboard.ranking import rank_bounds
from bsjax.leaderboard.records import STATES, Records


def render(records: Records, environment: Any) -> Iterator[tuple[str, str]]:
    """The page, whose script fills the table; without scripts it lists the models by the first average."""
    yield (
        "index.html",
        environment.get_template("table.html.j2").render(here="table", ranked=_ranked(records), first=records.nodes[0]),
    )


def _ranked(records: Records) -> list[dict[str, Any]]:
    """The models by their score at the first node, with what is to be said of each."""
    scores, errors, state = (records.averages[name][0] for name in ("score", "error", "state"))
    bounds = rank_bounds(scores, errors, [STATES[number] for number in state])
    order = np.lexsort([np.arange(len(scores)), bounds[:, 0], bounds[:, 0] == 0])
    return [
        {
            "model": records.models[at],
            "score": scores[at],
            "error": errors[at],
            "state": STATES[state[at]],
            "rank": bounds[at, 0],
            "best": bounds[at, 1],
            "worst": bounds[at, 2],
            "n_there": records.averages["n_there"][0, at],
            "n_leaves": records.averages["n_leaves"][0, at],
        }
        for at in order
    ]
