"""Output files of commands: early checks, figures, and writing whose failure does not lose other results."""

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
        help="Also plot the scores, to a .png, .pdf or .svg. For benchmarks of single-neuron properties, plot their "
        "distributions; with --behaviour, models in comparison with people.",
    ),
]


def check_outputs(files: Mapping[str, Path | None]) -> None:
    """Check that output files can be written, before the work begins.

    Args:
        files: option -> its file, or None if the option was not given.

    Raises:
        ValueError: a file cannot be written, or two options name the same file.

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
    """Write a file; on an error, print the reason and give False, so that the command can continue."""
    try:
        write()
    except Exception as error:  # of the disk or of plotting; the scores must still be printed
        complain(f"{option}: {one_line(error)}")
        return False
    return True


def check_figure(path: Path | None) -> None:
    """Check the format of a figure before the work begins."""
    if path is None:
        return
    from bsjax.plots import check_format

    check_format(path)


def draw(outcomes: Sequence[Outcome], path: Path) -> None:
    """Plot the distributions of neuron properties if there are any, else the scores."""
    from bsjax.plots import plot_heat_map, plot_property_distributions, plot_scores
    from bsjax.scoring import Scores

    scores = Scores({(each.model, each.benchmark): each.score for each in outcomes if each.score is not None})
    if any("distribution" in score.provenance.details for score in scores.values()):
        plot_property_distributions(scores.values(), path)
        complain(f"wrote the compared distributions to {path}")
        return
    if len({benchmark for _, benchmark in scores}) > 1 or any(score.sizes for score in scores.values()):
        plot_heat_map(scores, path=path, errors=True)
    else:
        plot_scores(scores, path=path)
    complain(f"wrote a figure of the scores to {path}")
