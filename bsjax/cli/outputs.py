"""Files that commands write: checks before the work, figures, and writing that loses nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bsjax.cli.terminal import complain
from bsjax.core.discovery import one_line

if TYPE_CHECKING:
    from bsjax.scoring import Outcome

Figure = Annotated[
    Path | None,
    typer.Option(
        "--figure",
        metavar="FILE",
        help="Also draw the scores, to a .png, .pdf or .svg; of properties of single neurons their distributions, and "
        "with --behaviour models beside people.",
    ),
]


def check_outputs(files: Mapping[str, Path | None]) -> None:
    """Refuse files that cannot be written, before there is anything to write.

    Args:
        files: option -> the file that it names, if it was given.

    Raises:
        ValueError: one of them cannot be written, or two options name the same file.

    Example:
        >>> check_outputs({"--json": Path("/"), "--figure": None})
        Traceback (most recent call last):
        ...
        ValueError: --json needs a file that can be written: / is a folder
    """
    from bsjax.core.files import check_writable

    options: dict[Path, str] = {}
    for option, path in files.items():
        if path is None:
            continue
        try:
            check_writable(path)
        except OSError as error:
            raise ValueError(f"{option} needs a file that can be written: {one_line(error)}") from error
        if path.resolve() in options and (path.is_file() or not path.exists()):
            raise ValueError(f"{options[path.resolve()]} and {option} both name {path}: give each a file of its own")
        options[path.resolve()] = option


def written(option: str, write: Callable[[], object]) -> bool:
    """Whether a file could be written; if not, it is said why, and what is left to do is done all the same."""
    try:
        write()
    except Exception as error:  # of the disk or of drawing: the numbers are still to be printed
        complain(f"{option}: {one_line(error)}")
        return False
    return True


def check_figure(path: Path | None) -> None:
    """Refuse what cannot be drawn before there is anything to draw."""
    if path is None:
        return
    from bsjax.plots import check_format

    check_format(path)


def draw(outcomes: Sequence[Outcome], path: Path) -> None:
    """Draw the properties of neurons that were compared; where none were, the scores."""
    from bsjax.plots import plot_heat_map, plot_property_distributions, plot_scores
    from bsjax.scoring import Scores

    scores = Scores({(each.model, each.benchmark): each.score for each in outcomes if each.score is not None})
    if any("distribution" in score.provenance.details for score in scores.values()):
        plot_property_distributions(scores.values(), path)
        complain(f"the distributions that were compared are in {path}")
        return
    if len({benchmark for _, benchmark in scores}) > 1 or any(score.sizes for score in scores.values()):
        plot_heat_map(scores, path=path, errors=True)
    else:
        plot_scores(scores, path=path)
    complain(f"the scores are drawn in {path}")
