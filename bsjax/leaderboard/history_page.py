"""The page of scores over time, and the file of those that are not the last."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from bsjax.leaderboard.encoding import column, script
from bsjax.leaderboard.records import Records


def render(records: Records, environment: Any) -> Iterator[tuple[str, str]]:
    """The page, which its script fills, and ``history.js``."""
    yield "history.js", script("bsjaxHistory", history(records))
    yield "history.html", environment.get_template("history.html.j2").render(here="history", charts=True)


def history(records: Records) -> dict[str, Any]:
    """When the scores of the site were begun, and the scores that were before them.

    Returns:
        ``started``, a column of ``(leaves, models)``, in seconds since 1970, 0 of what is not known; ``earlier``,
        columns ``leaf``, ``model``, ``version`` (0 of what is not known), ``started``, ``score``, ``error``, with a row
        for each score that the site has not; ``changes``, in words what changed from the score before, and ``change``,
        of all scores of the site and all that were before them the number of these words.
    """
    shown = set(records.texts["key"][records.columns["state"] == 1])
    found: Any = records.history  # pandas' stubs take columns of text for arrays
    found = found[(found["state"] == "scored") & ~found["key"].isin(list(shown))]
    leaf = pd.Index([node.identifier for node in records.leaves]).get_indexer(pd.Index(found["benchmark"]))
    model = pd.Index([model.identifier for model in records.models]).get_indexer(pd.Index(found["model"]))
    started = _seconds(found["started"].fillna("").to_numpy(object))
    earlier = {"leaf": leaf, "model": model, "version": found["version"].fillna(0).to_numpy(np.int32)}
    changes = {"": 0}
    keys = [*records.texts["key"].ravel(), *found["key"]]
    change = [changes.setdefault(records.origins.changes.get(key, ""), len(changes)) for key in keys]
    return {
        "changes": list(changes),
        "change": _plain(np.array(change, np.int32)),
        "started": _plain(_seconds(records.texts["started"].ravel())),
        "earlier": {name: _plain(values.astype(np.int32)) for name, values in earlier.items()}
        | {
            "started": _plain(started),
            "score": _plain(found["score"].to_numpy(float)),
            "error": _plain(found["error"].to_numpy(float)),
        },
    }


def _seconds(moments: np.ndarray) -> np.ndarray:
    """Times of ISO 8601 in UTC, in seconds since 1970, 0 of ""."""
    there = np.array([text.partition("+")[0] or "1970-01-01" for text in moments], "datetime64[us]")
    return there.astype(np.int64) / 1e6


def _plain(values: np.ndarray) -> dict[str, str]:
    return {"type": "f8" if values.dtype.kind == "f" else "i4", "base64": column(values)}
