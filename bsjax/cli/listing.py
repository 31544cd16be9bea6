"""Tables of ``bsjax list``: data, and what of them is here; published models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bsjax.core.messages import in_words

_DATA = ("identifier", "kind", "region", "access", "cached", "size", "about")
_PUBLISHED = ("identifier", "hub", "network", "weights", "degrees", "regions")


def data_lines() -> Iterator[str]:
    """A header, and a line for each data set and stimulus set, in columns."""
    from bsjax.data.catalogue.registry import data_rows

    table: list[tuple[str, ...]] = [_DATA]
    for row in data_rows():
        shown = (row.identifier, row.kind, row.region, row.access, row.cached, in_words(row.size) if row.size else "")
        table.append((*shown, row.summary))
    yield from _in_columns(table)


def published_lines() -> Iterator[str]:
    """A header, and a line for each published model, in columns."""
    from bsjax.models.sources.published import published_models

    table: list[tuple[str, ...]] = [_PUBLISHED]
    for model in published_models().values():
        degrees, regions = f"{model.visual_degrees:g}", " ".join(model.region_layer_map or ())
        table.append((model.identifier, model.hub, model.network, model.weights, degrees, regions))
    yield from _in_columns(table)


def _in_columns(table: Sequence[tuple[str, ...]]) -> Iterator[str]:
    # A column is never empty, so that other programs can split the lines where there are two spaces.
    table = [tuple(cell or "-" for cell in cells) for cells in table]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for cells in table:
        yield "  ".join(f"{cell:{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip()
