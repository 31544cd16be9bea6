"""``--figure``: a picture of what was scored."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bsjax.cli.terminal import complain

if TYPE_CHECKING:
    from bsjax.scoring import Outcome

Figure = Annotated[
    Path | None,
    typer.Option(
        "--figure",
        metavar="FILE",
        help="Also draw what was compared, to a .png, .pdf or .svg: distributions of the properties of single neurons, "
        "or with --behaviour models beside people.",
    ),
]


def check_figure(path: Path | None) -> None:
    """Refuse what cannot be drawn before there is anything to draw."""
    if path is None:
        return
    from bsjax.plots import check_format

    check_format(path)


def draw(outcomes: Sequence[Outcome], path: Path) -> None:
    """Draw the scores that have a distribution; where none has, say so."""
    from bsjax.plots import plot_property_distributions

    scores = [outcome.score for outcome in outcomes if outcome.score is not None]
    if any("distribution" in score.provenance.details for score in scores):
        plot_property_distributions(scores, path)
        complain(f"the distributions that were compared are in {path}")
    else:
        complain(f"nothing to draw in {path}: no score is of a property of single neurons")
