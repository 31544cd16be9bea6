"""The first page, with the table of models and benchmarks."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from bsjax.leaderboard.ranking import rank_bounds, ranks_over_benchmarks
from bsjax.leaderboard.records import STATES, Records


def render(records: Records, environment: Any) -> Iterator[tuple[str, str]]:
    """Render the page, whose script fills the table; without scripts it lists the models by the first average."""
    yield (
        "index.html",
        environment.get_template("table.html.j2").render(here="table", ranked=_ranked(records), first=records.nodes[0]),
    )


def _ranked(records: Records) -> list[dict[str, Any]]:
    """The models in the order of their score at the first node, with the template values of each."""
    scores, errors, state = (records.averages[name][0] for name in ("score", "error", "state"))
    bounds = rank_bounds(scores, errors, [STATES[number] for number in state])
    if not records.nodes[0].is_leaf:
        own, weights = leaf_scores(records)
        drawn = ranks_over_benchmarks(own, weights, scores)[:, :2]
        bounds[:, 1:] = np.where(drawn, drawn, bounds[:, 1:])
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


def leaf_scores(records: Records) -> tuple[np.ndarray, np.ndarray]:
    """Get the scores of all benchmarks below the first node, and their weights in its average.

    Both are ``(benchmarks, models)``. Missing scores are 0; their weight is 0 if averages omit missing scores.
    """
    scored = records.averages["state"] == STATES.index("scored")
    weights = {0: np.ones(len(records.models))}
    leaves = []
    for at, node in enumerate(records.nodes):
        if node.is_leaf and at in weights:
            leaves.append(at)
        below = [other for other, each in enumerate(records.nodes) if each.parent == at]
        if at not in weights or not below:
            continue
        counts = np.array([scored[child] | (records.how == "website") for child in below])
        total = np.maximum(counts.sum(axis=0), 1)
        weights |= {child: np.where(one, weights[at] / total, 0.0) for child, one in zip(below, counts, strict=True)}
    scores = np.where(scored[leaves], records.averages["score"][leaves], 0.0)
    return scores, np.array([weights[leaf] for leaf in leaves])
