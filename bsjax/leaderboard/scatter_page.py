"""The page that plots scores against scores."""

from collections.abc import Iterator
from typing import Any

from bsjax.leaderboard.records import Records


def render(records: Records, environment: Any) -> Iterator[tuple[str, str]]:
    """Render the page, which is filled by its script."""
    yield "scatter.html", environment.get_template("scatter.html.j2").render(here="scatter", charts=True)
