"""The page that compares models, and its data file of paired differences."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from bsjax.leaderboard.encoding import column, script
from bsjax.leaderboard.pairing import LEVEL, Group, groups, most_of_one
from bsjax.leaderboard.records import Records


def render(records: Records, environment: Any) -> Iterator[tuple[str, str]]:
    """Render the page, which is filled by its script, and ``pairs.js``."""
    found = list(groups(records))
    yield "pairs.js", script("bsjaxPairs", {"level": LEVEL, "groups": [_plain(group) for group in found]})
    n_paired = len({group.leaf for group in found})
    most, n_models = most_of_one(len(records.leaves)), len(records.models)
    yield (
        "compare.html",
        environment.get_template("compare.html.j2").render(
            here="compare", charts=True, n_paired=n_paired, most=most if most < n_models else None
        ),
    )


def _plain(group: Group) -> dict[str, Any]:
    return {
        "leaf": group.leaf,
        "models": group.models.tolist(),
        "words": group.words,
        "over": group.over,
        "ofScores": group.of_scores,
        **{name: column(np.asarray(getattr(group, name), float)) for name in ("values", "low", "high")},
    }
