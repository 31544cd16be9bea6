"""``bsjax list data``: a table of what can be loaded, and what of it is here."""

from __future__ import annotations

from collections.abc import Iterator

from bsjax.core.messages import in_words

_HEADER = ("identifier", "kind", "region", "access", "cached", "size", "about")


def data_lines() -> Iterator[str]:
    """A header, and a line for each data set and stimulus set, in columns."""
    from bsjax.data.catalogue.registry import data_rows

    table: list[tuple[str, ...]] = [_HEADER]
    for row in data_rows():
        shown = (row.identifier, row.kind, row.region, row.access, row.cached, in_words(row.size) if row.size else "")
        # A column is never empty, so that other programs can split the lines where there are two spaces.
        table.append((*(cell or "-" for cell in shown), row.summary))
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for cells in table:
        yield "  ".join(f"{cell:{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip()
