"""Recordings published as histograms, expanded to one value per neuron."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bsjax.data import PropertyAssembly


def recorded(dataset: str) -> PropertyAssembly:
    """Properties of recorded neurons, each placed in the histogram bin that it was counted in.

    A value is the centre of its bin, the geometric centre if bins are spaced logarithmically. This is exact for a
    comparison of histograms with these bins. Recorded neurons without a value, such as a surround diameter without
    suppression, are NaN. The values of a row do not belong to one neuron, because the joint values of two properties
    were not published.

    Args:
        dataset: ``"Cavanaugh2002a"``, ``"DeValois1982a"``, ``"DeValois1982b"`` or ``"Schiller1976c"``.

    Returns:
        Dims ``(neuroid, neuroid_property)``, with the edges of the bins in the attributes ``<property>_bins``.

    Raises:
        KeyError: the name is unknown.

    Source: the counts are those of figures in Cavanaugh, Bair & Movshon 2002; De Valois, Yund & Hepler 1982; De Valois,
    Albrecht & Thorell 1982; Schiller, Finlay & Volman 1976, as read by Marques, Schrimpf & DiCarlo 2021.

    Example:
        >>> sizes = recorded("Cavanaugh2002a").sel(neuroid_property="grating_summation_field")
        >>> sizes.sizes["neuroid"], int(np.isnan(sizes).sum()), round(float(sizes.median()), 2)
        (190, 42, 0.71)
    """
    content = _content()[dataset]
    properties, n = content["properties"], content["neurons"]
    values = np.stack([_one_a_neuron(histogram, n) for histogram in properties.values()], axis=1)
    return PropertyAssembly(
        values,
        coords={
            "neuroid_id": ("neuroid", [f"{dataset}-{number:03d}" for number in range(n)]),
            "region": ("neuroid", ["V1"] * n),
            "neuroid_property": list(properties),
        },
        dims=["neuroid", "neuroid_property"],
        attrs={f"{name}_bins": np.array(histogram["bins"]) for name, histogram in properties.items()},
    )


def _one_a_neuron(histogram: dict[str, Any], n: int) -> NDArray[np.float64]:
    edges, counts = np.array(histogram["bins"]), histogram["counts"]
    low, high = edges[:-1], edges[1:]
    centres = np.sqrt(low * high) if histogram["scale"] == "log" else (low + high) / 2
    values = np.full(n, np.nan)
    values[: sum(counts)] = np.repeat(centres, counts)
    return values


@cache
def _content() -> dict[str, Any]:
    return json.loads(Path(__file__).with_name("histograms.json").read_bytes())
