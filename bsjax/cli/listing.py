"""Tables of ``bsjax list``: data, and what of them is here; published models."""

from __future__ import annotations

from collections.abc import Sequence

from bsjax.cli.terminal import in_columns
from bsjax.core.messages import in_words

_DATA = ("identifier", "kind", "region", "access", "cached", "size", "about")
_PUBLISHED = ("identifier", "hub", "network", "weights", "degrees", "regions")


def data_lines() -> list[str]:
    """A header, and a line for each data set and stimulus set, in columns."""
    from bsjax.data.catalogue.registry import data_rows

    table: list[tuple[str, ...]] = [_DATA]
    for row in data_rows():
        shown = (row.identifier, row.kind, row.region, row.access, row.cached, in_words(row.size) if row.size else "")
        table.append((*shown, row.summary))
    return _in_columns(table)


def published_lines() -> list[str]:
    """A header, and a line for each published model, in columns."""
    from bsjax.models.sources.published import published_models

    table: list[tuple[str, ...]] = [_PUBLISHED]
    for model in published_models().values():
        degrees, regions = f"{model.visual_degrees:g}", " ".join(model.region_layer_map or ())
        table.append((model.identifier, model.hub, model.network, model.weights, degrees, regions))
    return _in_columns(table)


def _in_columns(table: Sequence[Sequence[str]]) -> list[str]:
    # A column is never empty, so that other programs can split the lines where there are two spaces.
    return in_columns([[cell or "-" for cell in cells] for cells in table])
