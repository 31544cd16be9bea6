"""Tables of ``bsjax list``: registered entries, data and published models."""

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from bsjax.core.messages import in_columns, in_words

_DATA = ("identifier", "kind", "region", "access", "cached", "size", "about")
_PUBLISHED = ("identifier", "hub", "network", "weights", "degrees", "regions")

# A name that takes a larger fraction of the terminal's width gets its own line.
_WIDEST_NAME = 0.45


def matching(names: Iterable[str], patterns: Sequence[str] | None, kind: str) -> list[str]:
    """Select the names that match any of the patterns.

    Raises:
        ValueError: nothing matches.

    Example:
        >>> matching(["pixels", "gabor-v1"], ["gab*"], "models")
        ['gabor-v1']
    """
    found = list(names)
    if patterns:
        found = [name for name in found if any(fnmatchcase(name, pattern) for pattern in patterns)]
    if not found:
        raise ValueError(f"no {kind} match {', '.join(map(repr, patterns or ()))}; see `bsjax list {kind}`")
    return found


def described(words: Mapping[str, str], width: int | None) -> list[str]:
    """Format names with their descriptions, one line each, or wrapped if a width is given.

    Example:
        >>> described({"pls": "partial least squares", "neuron_to_neuron": "one to one"}, 24)
        ['pls  partial least', '     squares', 'neuron_to_neuron', '     one to one']
    """
    widest = max((len(name) for name in words if width is None or len(name) <= _WIDEST_NAME * width), default=0)
    lines = []
    for name, said in words.items():
        if width is None:
            lines.append(f"{name:{widest}}  {said}".rstrip())
            continue
        lines += [name] if len(name) > widest else []
        first = " " * (widest + 2) if len(name) > widest else f"{name:{widest}}  "
        lines += textwrap.wrap(
            said, width, initial_indent=first, subsequent_indent=" " * (widest + 2), break_on_hyphens=False
        ) or [first.rstrip()]
    return lines


def data_table() -> list[tuple[str, ...]]:
    """List all data sets and stimulus sets, the header first."""
    from bsjax.data.catalogue.registry import data_rows

    table: list[tuple[str, ...]] = [_DATA]
    for row in data_rows():
        shown = (row.identifier, row.kind, row.region, row.access, row.cached, in_words(row.size) if row.size else "")
        table.append((*shown, row.summary))
    return table


def published_table() -> list[tuple[str, ...]]:
    """List all published models, the header first."""
    from bsjax.models.sources.published import published_models

    table: list[tuple[str, ...]] = [_PUBLISHED]
    for model in published_models().values():
        degrees, regions = f"{model.visual_degrees:g}", " ".join(model.region_layer_map or ())
        table.append((model.identifier, model.hub, model.network, model.weights, degrees, regions))
    return table


def table_lines(table: Sequence[Sequence[str]], width: int | None) -> list[str]:
    """Format rows in columns; if these are wider than ``width``, each cell is named in a text beside the first.

    Example:
        >>> rows = [("identifier", "access", "about"), ("Doe2026", "public", "")]
        >>> table_lines(rows, None)[1], table_lines(rows, 24)
        ('Doe2026     public  -', ['Doe2026  access public'])
    """
    # No cell is empty, so that other programs can split the lines at two spaces.
    lines = in_columns([[cell or "-" for cell in cells] for cells in table])
    if width is None or max(map(len, lines)) <= width:
        return lines
    header, *rows = table
    words = {row[0]: [f"{what} {cell}" for what, cell in zip(header, row, strict=True) if cell][1:] for row in rows}
    return described({name: "; ".join(said) for name, said in words.items()}, width)
