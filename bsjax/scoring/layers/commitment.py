"""Automatic choice of a region's layer, when a model is first asked to record there."""

import json
import warnings
from pathlib import Path
from typing import Any

from bsjax.benchmarks import load_benchmark
from bsjax.core.files import as_json, cache_dir, optional, write_atomically
from bsjax.core.identity.source import OF_SCORES, own_source
from bsjax.core.identity.values import identity_of
from bsjax.core.version import __version__
from bsjax.models import ModelCommitment
from bsjax.scoring.layers.choice import PUBLIC, choose_layers


def committed_layers(model: ModelCommitment, region: str) -> list[str]:
    """The layer of a model that represents a region, chosen among its ``layers`` on the region's public benchmark.

    The choice is stored in ``$BSJAX_HOME/region_layers``, under a digest of the network, the candidates and the
    benchmark, and reused by other processes.

    Args:
        model: a commitment with candidate ``layers``.
        region: "V1", "V2", "V4" or "IT".

    Returns:
        A list of one layer.

    Raises:
        ValueError: no layer has a score.
        FileNotFoundError, PermissionError, ConnectionError: the data of the benchmark are not available.

    Source: as Brain-Score's ``LayerSelection``, which chooses by ceiled score on the same benchmarks.
    """
    benchmark: Any = load_benchmark(PUBLIC[region])
    place = _place(model, benchmark)
    kept = None if place is None else _kept(place, model)
    if kept is not None:
        return kept
    warnings.warn(
        f"model {model.identifier!r} has no region_layer_map: choosing its layer for {region} among "
        f"{len(model.layers)} by {benchmark.identifier}; give region_layer_map= to go without",
        stacklevel=4,
    )
    try:
        choice = choose_layers(model, benchmarks={region: benchmark}, nested=False, n_bootstrap=0)
    except (FileNotFoundError, PermissionError, ConnectionError) as error:
        raise type(error)(
            f"{error}. Model {model.identifier!r} has no region_layer_map, and its layer for {region} is chosen by "
            "these data: give region_layer_map=, or choose by a benchmark whose data are here, e.g. "
            "`bsjax layers MODEL -b V1=Simulated.V1-cka --save layers.json`"
        ) from error
    layers = [choice.regions[region].layer]
    if place is not None:
        note = {"bsjax": __version__, "model": model.identifier, "benchmark": benchmark.identifier}
        with optional("keep the choice of a layer", place):
            write_atomically(place, as_json({region: layers, "_made_by": note}, indent=1) + b"\n")
    return layers


def _place(model: ModelCommitment, benchmark: Any) -> Path | None:
    """Where the choice is stored; None if a change of the model would go unnoticed."""
    digest = getattr(model.activations_model, "recipe_digest", None)
    network = digest() if callable(digest) else None
    if network is None:
        return None
    made_of = network, tuple(model.layers), model.visual_degrees(), benchmark.identifier, benchmark.version
    return cache_dir() / "region_layers" / f"{identity_of((*made_of, own_source(*OF_SCORES)))}.json"


def _kept(place: Path, model: ModelCommitment) -> list[str] | None:
    try:
        read = json.loads(place.read_bytes())
        [layers] = (layers for region, layers in read.items() if not region.startswith("_"))
    except (OSError, ValueError, AttributeError, RecursionError):
        return None  # unreadable: choose again
    named = isinstance(layers, list) and layers and all(isinstance(layer, str) for layer in layers)
    return layers if named and set(layers) <= set(model.layers) else None
