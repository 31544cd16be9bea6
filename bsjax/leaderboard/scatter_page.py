"""The page of score against score."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bsjax.leaderboard.records import Records


def render(records: Records, environment: Any) -> Iterator[tuple[str, str]]:
    """The page, which its script fills."""
    yield "scatter.html", environment.get_template("scatter.html.j2").render(here="scatter", charts=True)
