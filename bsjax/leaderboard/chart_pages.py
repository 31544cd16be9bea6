"""The pages that plot: models compared, scores against scores, and scores over time, with their data files."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from bsjax.leaderboard.encoding import column, script
from bsjax.leaderboard.pairing import LEVEL, Group, groups, most_of_one
from bsjax.leaderboard.records import Records


def render(records: Records, environment: Any) -> Iterator[tuple[str, str]]:
    """Render the pages, which are filled by their scripts, and ``pairs.js`` and ``history.js``."""
    found = list(groups(records))
    yield "pairs.js", script("bsjaxPairs", {"level": LEVEL, "groups": [_plain(group) for group in found]})
    n_paired = len({group.leaf for group in found})
    most, n_models = most_of_one(len(records.leaves)), len(records.models)
    compared = {"n_paired": n_paired, "most": most if most < n_models else None}
    yield "history.js", script("bsjaxHistory", history(records))
    for name, values in {"compare": compared, "scatter": {}, "history": {}}.items():
        yield f"{name}.html", environment.get_template(f"{name}.html.j2").render(here=name, charts=True, **values)


def _plain(group: Group) -> dict[str, Any]:
    return {
        "leaf": group.leaf,
        "models": group.models.tolist(),
        "words": group.words,
        "over": group.over,
        "ofScores": group.of_scores,
        **{name: column(np.asarray(getattr(group, name), float)) for name in ("values", "low", "high")},
    }


def history(records: Records) -> dict[str, Any]:
    """Collect the start times of the shown scores, and all earlier scores.

    Returns:
        ``started``: start times of the shown scores, ``(leaves, models)``, in seconds since 1970, 0 if unknown.
        ``earlier``: columns ``leaf``, ``model``, ``version`` (0 if unknown), ``started``, ``score`` and ``error`` with
        a row for each earlier score. ``changes``: distinct descriptions of what changed from the previous score.
        ``change``: the index of its description for each shown score and then each earlier score.
    """
    shown = set(records.texts["key"][records.columns["state"] == 1])
    found: Any = records.history  # pandas' stubs have the wrong type for columns of text
    found = found[(found["state"] == "scored") & ~found["key"].isin(list(shown))]
    leaf = pd.Index([node.identifier for node in records.leaves]).get_indexer(pd.Index(found["benchmark"]))
    model = pd.Index([model.identifier for model in records.models]).get_indexer(pd.Index(found["model"]))
    earlier = {"leaf": leaf, "model": model, "version": found["version"].fillna(0).to_numpy(np.int32)}
    changes = {"": 0}
    keys = [*records.texts["key"].ravel(), *found["key"]]
    change = [changes.setdefault(records.origins.changes.get(key, ""), len(changes)) for key in keys]
    earlier = {name: column(values.astype(np.int32)) for name, values in earlier.items()}
    earlier |= {name: column(found[name].to_numpy(float)) for name in ("score", "error")}
    return {
        "changes": list(changes),
        "change": column(np.array(change, np.int32)),
        "started": column(_seconds(records.texts["started"].ravel())),
        "earlier": earlier | {"started": column(_seconds(found["started"].fillna("").to_numpy(object)))},
    }


def _seconds(moments: np.ndarray) -> np.ndarray:
    """Convert ISO 8601 times in UTC to seconds since 1970; "" gives 0."""
    there = np.array([text.partition("+")[0] or "1970-01-01" for text in moments], "datetime64[us]")
    return there.astype(np.int64) / 1e6
